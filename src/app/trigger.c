#include "trigger.h"

#include <kprof/base/clock.h>
#include <kprof/cli/optval.h>
#include <stdio.h>

#define TIME_NS 30000000000u

static enum window window_for(uint64_t ns)
{
    enum window w = WINDOW_1S;

    while (w < WINDOW_3H && window_ns(w) < ns)
        w++;
    return w;
}

/* The condition that holds now; NULL: none. */
static const struct assertion *holds(const struct trigger_run *t)
{
    struct snapshot *s = engine_snapshot(t->g, window_for(t->o->delay_ns), false);
    const struct assertion *a = NULL;
    char why[400];

    for (size_t i = 0; i < t->o->n_triggers && !a; i++)
        if (assertion_holds(&t->o->trigger[i], s, NULL, why, sizeof why))
            a = &t->o->trigger[i];
    snapshot_free(s);
    return a;
}

/* NULL: the run ends. */
static const struct assertion *wait_for_one(const struct trigger_run *t)
{
    const struct assertion *a = NULL;

    while (!a && t->pump(t->arg, clock_mono_ns() + t->o->delay_ns))
        a = holds(t);
    return a;
}

/* A trigger on a tier that is not traced would never fire: the options of a preset and of the
 * sample node are known only now. */
static int check(const struct trigger_run *t, struct err *e)
{
    const struct tierset *tiers = engine_tiers(t->g);

    for (size_t i = 0; i < t->o->n_triggers; i++) {
        const struct assertion *a = &t->o->trigger[i];
        bool known = a->node || assertion_of_tier(a, "_total");
        for (uint16_t k = 0; k < tiers->n && !known; k++)
            known = tiers->tier[k].active && assertion_of_tier(a, tiers->tier[k].name);
        if (!known)
            return err_set(e, "--trigger %s: no tier has this name", optval_show(a->text).s);
    }
    return 0;
}

int trigger_loop(const struct trigger_run *t, trigger_action *action, void *arg, struct err *e)
{
    uint64_t time = t->o->duration_ns ? t->o->duration_ns : TIME_NS, n = 0;
    const struct assertion *a;
    int rc = check(t, e);

    if (rc == 0)
        fprintf(stderr, "kprof-top: waiting for a trigger; Ctrl-C ends the run\n");
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
