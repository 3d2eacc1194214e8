#include "why_load.h"

#define LAST_S     10  /* seconds at the end of the window, */
#define LAST_LEAST 5   /* of which this many must be known, */
#define MOST       0.7 /* ... and this part of them have a long run queue */
#define SHORT_MOST 3   /* up to this many seconds with a short run queue do not end the period */

static double per_scheduler(const struct snapshot *s, enum why_queue of, size_t i)
{
    const struct snap_load *l = &s->load[i];
    uint32_t dirty = l->dirty_queue > 0 ? (uint32_t)l->dirty_queue : 0;
    uint32_t n = of == WHY_DIRTY ? dirty : l->run_queue > dirty ? l->run_queue - dirty : 0;

    return (double)n / s->node.schedulers;
}

static bool is_long(const struct snapshot *s, enum why_queue of, size_t i)
{
    return per_scheduler(s, of, i) >= (of == WHY_DIRTY ? WHY_DIRTY_LONG : WHY_LONG);
}

/* The first second of the period with a long run queue that ends now. */
static size_t long_since(const struct snapshot *s, enum why_queue of)
{
    size_t from = s->n_load, at_short = 0;

    for (size_t i = s->n_load; i-- > 0 && at_short <= SHORT_MOST;) {
        bool now = is_long(s, of, i);
        at_short = now ? 0 : at_short + 1;
        from = now ? i : from;
    }
    return from;
}

static double mean_use(const struct snapshot *s, size_t from)
{
    double sum = 0;
    unsigned n = 0;

    for (size_t i = from; i < s->n_load; i++)
        if (s->load[i].scheduler_use >= 0) {
            sum += s->load[i].scheduler_use;
            n++;
        }
    return n ? sum / n : -1;
}

struct why_run_queue why_run_queue(const struct snapshot *s, enum why_queue of)
{
    struct why_run_queue q = {.use = -1};
    size_t last = s->n_load < LAST_S ? s->n_load : LAST_S, n = 0;

    if (last < LAST_LEAST || !s->node.schedulers ||
        (of == WHY_DIRTY && s->load[s->n_load - 1].dirty_queue < 0))
        return q;
    q.known = true;
    for (size_t i = s->n_load - last; i < s->n_load; i++)
        n += is_long(s, of, i);
    q.is_long = (double)n >= MOST * (double)last;
    q.from = q.is_long ? long_since(s, of) : s->n_load - last;
    q.use = mean_use(s, q.from);
    for (size_t i = q.from; i < s->n_load; i++)
        q.mean += per_scheduler(s, of, i) / (double)(s->n_load - q.from);
    return q;
}
