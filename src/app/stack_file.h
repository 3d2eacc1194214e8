/* Stack samples of a file: folded stacks, perf script output, or a recording.
 *
 * Invariant: lines and messages that cannot be read are counted on stderr and ignored; memory is
 * bounded, so of a very large file only a part is shown. Main thread. It does not write files. */
#ifndef KPROF_APP_STACK_FILE_H
#define KPROF_APP_STACK_FILE_H

#include <kprof/base/err.h>
#include <kprof/core/stack_profile.h>

struct stack_file;

/* path: "-" is standard input, which cannot be a recording. NULL with err: the file cannot be read,
 * or has no stacks. */
struct stack_file *stack_file_open(const char *path, struct err *e);
/* All samples. The receiver releases the view before stack_file_close. */
struct stack_view *stack_file_view(const struct stack_file *f);
void stack_file_close(struct stack_file *f); /* NULL is allowed */

#endif
