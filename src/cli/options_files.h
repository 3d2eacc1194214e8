/* Files of the command line: each that is written must be another one than all others. */
#ifndef KPROF_CLI_OPTIONS_FILES_H
#define KPROF_CLI_OPTIONS_FILES_H

#include <kprof/cli/options.h>

/* Looks at the file system, so that other names of the same file are found. -1 with err. */
int options_files_check(const struct options *o, struct err *e);

#endif
