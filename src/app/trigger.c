#include "trigger.h"

#include <kprof/base/clock.h>
#include <kprof/cli/optval.h>
#include <stdio.h>

static enum window window_for(uint64_t ns)
{
    enum window w = WINDOW_1S;

    while (w < WINDOW_3H && window_ns(w) < ns)
        w++;
    return w;
}

const struct assertion *trigger_holds(struct engine *g, const struct assertion *a, size_t n,
                                      uint64_t span_ns)
{
    struct snapshot *s = engine_snapshot(g, window_for(span_ns), false);
    const struct assertion *held = NULL;
    char why[400];

    for (size_t i = 0; i < n && !held; i++)
        if (assertion_holds(&a[i], s, NULL, why, sizeof why))
            held = &a[i];
    snapshot_free(s);
    return held;
}

/* NULL: the run ends. */
static const struct assertion *wait_for_one(const struct trigger_run *t)
{
    const struct assertion *a = NULL;

    while (!a && t->pump(t->arg, clock_mono_ns() + t->o->delay_ns))
        a = trigger_holds(t->g, t->o->trigger, t->o->n_triggers, t->o->delay_ns);
    return a;
}

/* A trigger on a tier that is not traced would never fire. Checked here, because the tiers of a
 * preset and of the sample node are known only now. */
int trigger_check(struct engine *g, const struct assertion *a, size_t n, struct err *e)
{
    const struct tierset *tiers = engine_tiers(g);

    for (size_t i = 0; i < n; i++) {
        bool known = a[i].node || assertion_of_tier(&a[i], "_total");
        for (uint16_t k = 0; k < tiers->n && !known; k++)
            known = tiers->tier[k].active && assertion_of_tier(&a[i], tiers->tier[k].name);
        if (!known)
            return err_set(e, "--trigger %s: no tier has this name", optval_show(a[i].text).s);
    }
    return 0;
}

void trigger_watch(struct engine *g, const struct assertion *a, size_t n)
{
    const char *queue[OPTIONS_TRIGGERS_MAX];
    size_t n_queues = 0;

    for (size_t i = 0; i < n; i++)
        if (a[i].node == ASSERTION_QUEUE && n_queues < OPTIONS_TRIGGERS_MAX)
            queue[n_queues++] = a[i].row;
    engine_watch_queues(g, queue, n_queues);
}

int trigger_loop(const struct trigger_run *t, trigger_action *action, void *arg, struct err *e)
{
    uint64_t time = t->o->duration_ns ? t->o->duration_ns : TRIGGER_TIME_NS, n = 0;
    const struct assertion *a;
    int rc = trigger_check(t->g, t->o->trigger, t->o->n_triggers, e);

    if (rc == 0) {
        trigger_watch(t->g, t->o->trigger, t->o->n_triggers);
        fprintf(stderr, "kprof-top: waiting for a trigger; Ctrl-C ends the run\n");
    }
    while (rc == 0 && (a = wait_for_one(t))) {
        fprintf(stderr, "kprof-top: trigger %s fired: writing data of the next %.0f s\n",
                optval_show(a->text).s, (double)time / 1e9);
        rc = action(arg, time, e);
        if (rc == 0 && t->o->iterations && ++n == t->o->iterations)
            break;
        if (rc == 0 && !t->pump(t->arg, clock_mono_ns() + t->o->rearm_ns))
            rc = 1;
    }
    return rc < 0 ? -1 : 0;
}
