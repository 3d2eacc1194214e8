#include <kprof/core/guard.h>

#include <string.h>

/* If checks are further apart than this, kprof-top did not run (^Z), and old events are not the
 * node's fault. */
#define AWAY_NS UINT64_C(1500000000)

void guard_init(struct guard *g, uint64_t max_lag_ns)
{
    memset(g, 0, sizeof *g);
    g->max_lag_ns = max_lag_ns;
}

void guard_limit(struct guard *g, uint64_t max_lag_ns)
{
    if (g->max_lag_ns != max_lag_ns)
        g->late_ns = 0;
    g->max_lag_ns = max_lag_ns;
}

static void anew(struct guard *g, const struct guard_sample *l)
{
    g->lost = l->ring_lost;
    g->batches = l->batches;
    g->late_ns = 0;
    g->cpu_at_ns = l->now_ns;
    g->cpu_ns = l->cpu_ns;
}

static bool late(struct guard *g, const struct guard_sample *l)
{
    if (l->batches == g->batches) /* the age is still that of the last batch */
        return false;
    g->batches = l->batches;
    if (g->max_lag_ns == 0 || l->lag_ns <= g->max_lag_ns) {
        g->late_ns = 0;
        return false;
    }
    if (g->late_ns == 0)
        g->late_ns = l->now_ns;
    return l->now_ns - g->late_ns >= GUARD_LAG_HOLD_NS;
}

static bool busy(struct guard *g, const struct guard_sample *l)
{
    uint64_t over_ns = l->now_ns - g->cpu_at_ns, used_ns = l->cpu_ns - g->cpu_ns;

    if (over_ns < GUARD_CPU_HOLD_NS)
        return false;
    g->cpu_at_ns = l->now_ns;
    g->cpu_ns = l->cpu_ns;
    return used_ns / GUARD_CPU_PERCENT > over_ns / 100;
}

static enum guard_verdict verdict(struct guard *g, const struct guard_sample *l)
{
    bool was_late = late(g, l), was_busy = busy(g, l);

    if (l->ring_lost > g->lost)
        return GUARD_RING;
    return was_late ? GUARD_LAG : was_busy ? GUARD_CPU : GUARD_FINE;
}

enum guard_verdict guard_sample(struct guard *g, const struct guard_sample *l)
{
    bool away = !g->begun || l->now_ns - g->sampled_ns > AWAY_NS;

    g->begun = true;
    g->sampled_ns = l->now_ns;
    g->opened |= g->asked && l->breaker_open;
    if (g->asked && !l->breaker_open && (g->opened || l->now_ns - g->asked_ns >= GUARD_AGAIN_NS)) {
        g->asked = g->opened = false;
        away = true;
    }
    if (away || g->asked || l->breaker_open) {
        anew(g, l);
        return GUARD_FINE;
    }
    enum guard_verdict v = verdict(g, l);
    if (v != GUARD_FINE) {
        anew(g, l);
        g->asked = true;
        g->asked_ns = l->now_ns;
    }
    return v;
}
