/* --trigger: waits until a condition holds; and the files that are written then. Main thread. */
#ifndef KPROF_APP_TRIGGER_H
#define KPROF_APP_TRIGGER_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <stdbool.h>

/* Runs the engine until the time (clock_mono_ns). False: the run ends now. */
typedef bool trigger_pump(void *arg, uint64_t until_ns);

struct trigger_run {
    struct engine *g;
    const struct options *o;
    trigger_pump *pump;
    void *arg; /* of pump */
};

/* Called when a condition holds; time_ns: --duration, or its default. 0: go on; 1: the run ends;
 * -1 with err. */
typedef int trigger_action(void *arg, uint64_t time_ns, struct err *e);

/* Carries out the action at each trigger, with a pause after it, until the run ends. Says on stderr
 * which condition held. 0, or -1 with err. */
int trigger_loop(const struct trigger_run *t, trigger_action *action, void *arg, struct err *e);

#endif
