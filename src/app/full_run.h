/* --full-trace: all calls of a request or a process, as a call tree on standard output, or as a
 * file.
 *
 * Returns the exit status: 0 done, 1 failed, or no call was traced (reported on stderr). Main
 * thread. */
#ifndef KPROF_APP_FULL_RUN_H
#define KPROF_APP_FULL_RUN_H

#include "run.h"

int full_run(const struct options *o, const struct conn_target *t);

#endif
