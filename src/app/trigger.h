/* Triggers: conditions on the snapshot of the last seconds. --trigger waits until one holds; the
 * live screen has its own trigger (live_trigger). Main thread. */
#ifndef KPROF_APP_TRIGGER_H
#define KPROF_APP_TRIGGER_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <stdbool.h>

#define TRIGGER_TIME_NS    30000000000u        /* of an action, without --duration */
#define TRIGGER_BEFORE_NS  60000000000u        /* recorded before it, without --before */
#define TRIGGER_RING_BYTES ((size_t)128 << 20) /* events before it that are kept in memory */

/* -1 with err: one of the conditions is about a tier that is not traced, so that it would never
 * hold. */
int trigger_check(struct engine *g, const struct assertion *a, size_t n, struct err *e);
/* Watches the values of these conditions, and no others. */
void trigger_watch(struct engine *g, const struct assertion *a, size_t n);
/* The first of these conditions that holds over the last span_ns; NULL: none. */
const struct assertion *trigger_holds(struct engine *g, const struct assertion *a, size_t n,
                                      uint64_t span_ns);

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
