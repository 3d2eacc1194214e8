/* --flame: stack samples of a file, shown as a flame graph or written as another file; and the
 * export of the flame graph screen. Main thread. */
#ifndef KPROF_APP_FLAME_FILE_H
#define KPROF_APP_FLAME_FILE_H

#include <kprof/cli/options.h>
#include <kprof/cli/output.h>
#include <kprof/export/stacks.h>
#include <kprof/ui/ui.h>

int flame_file_run(const struct options *o); /* exit status; failures are on stderr */
/* Carries out INTENT_EXPORT_STACKS, and passes the result to the ui. title, note: as in struct
 * stacks_options. */
void flame_file_export(struct ui *u, const struct intent *in, const char *title, const char *note);
/* Writes samples in the format of the file name extension of path. -1 with err; errno is set if the
 * file could not be opened, else 0. */
int flame_file_write(const struct stack_view *v, const char *path, enum output_mode mode,
                     const struct stacks_options *how, struct err *e);

#endif
