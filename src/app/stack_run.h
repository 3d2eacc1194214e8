/* --profile: samples stacks of a node for a time, and writes them to a file.
 *
 * Returns the exit status: 0 done, 1 failed (reported on stderr). If the connection is lost, the
 * samples so far are written. Main thread. */
#ifndef KPROF_APP_STACK_RUN_H
#define KPROF_APP_STACK_RUN_H

#include "run.h"

int stack_run(const struct options *o, const struct target *t);

#endif
