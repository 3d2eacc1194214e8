/* --profile: samples stacks of a node into files, without a screen: at once, or each time a trigger
 * fires. Main thread. */
#ifndef KPROF_APP_STACK_RUN_H
#define KPROF_APP_STACK_RUN_H

#include "trigger.h"

/* g: attached to `node`. Returns when the run has ended, and all files are written. -1 with err.
 * Reports on stderr what was sampled. */
int stack_run(struct engine *g, const struct options *o, const char *node, trigger_pump *pump,
              void *arg, struct err *e);

#endif
