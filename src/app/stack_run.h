/* --profile: samples stacks of a node into files, without a screen: at once, or each time a trigger
 * fires. Main thread. */
#ifndef KPROF_APP_STACK_RUN_H
#define KPROF_APP_STACK_RUN_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <stdbool.h>

/* Runs the engine until the time (clock_mono_ns). False: the run ends now. */
typedef bool stack_run_pump(void *arg, uint64_t until_ns);

/* g: attached to `node`. Returns when the run has ended, and all files are written. -1 with err.
 * Reports on stderr what was sampled. */
int stack_run(struct engine *g, const struct options *o, const char *node, stack_run_pump *pump,
              void *arg, struct err *e);

#endif
