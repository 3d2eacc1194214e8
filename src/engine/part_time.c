#include "part_time.h"

#include "configuration.h"

#include <kprof/base/clock.h>
#include <stdlib.h>

#define EVERY_NS    UINT64_C(1000000000)
#define SOON_NS     UINT64_C(100000000) /* while too few requests have ended */
#define LEAST_CALLS 100
#define ALMOST_ALL  0.999
#define LEAST_NOW   100
#define NOW         0.99 /* of the running second */
#define COST_PPM    20000
#define ASSUMED_MS  20

/* Twice the time that almost all requests need, rounded up; 0: they need too long. Inner calls of a
 * request that lasts longer are missing, so this is only done with short requests. *known: enough
 * requests have ended; otherwise the time is an assumption. */
static uint64_t followed_ms(const struct engine *g, bool *known)
{
    static const uint16_t step_ms[] = {1, 2, 5, 10, 20, 50, 100};
    uint64_t ns, now_ns;

    *known = true;
    if (g->run.all_the_time)
        return 0;
    if (g->configuration.wanted.entry == TRACE_CONFIG_NO_ENTRY)
        return step_ms[0]; /* a traced call reports its end, whatever is set by then */
    *known = core_request_quantile(g->core, ALMOST_ALL, false, LEAST_CALLS, &ns);
    if (!*known)
        return ASSUMED_MS;
    /* In a long run, requests that have just become slow are few. */
    if (core_request_quantile(g->core, NOW, true, LEAST_NOW, &now_ns) && now_ns > ns)
        ns = now_ns;
    for (size_t i = 0; i < sizeof step_ms / sizeof *step_ms; i++)
        if (2 * ns <= step_ms[i] * UINT64_C(1000000))
            return step_ms[i];
    return 0;
}

/* A test makes any cost too high. */
void part_time_begin(struct engine *g)
{
    const char *test = getenv("KPROF_TEST_PART_COST");

    g->configuration.wanted.part_cost_ppm = test ? strtoull(test, NULL, 10) : COST_PPM;
    g->configuration.wanted.part_ms = g->run.all_the_time ? 0 : ASSUMED_MS;
    g->configuration.wanted.part_assumed = true;
}

void part_time_poll(struct engine *g)
{
    struct trace_config *w = &g->configuration.wanted;
    uint64_t now = clock_mono_ns();

    if (!g->control || g->state != ENGINE_UP || now < g->part_time.next_ns ||
        g->configuration.configured_gen == 0)
        return;
    bool known;
    uint64_t ms = followed_ms(g, &known);
    g->part_time.next_ns = now + (known ? EVERY_NS : SOON_NS);
    /* A shorter time is taken only if it is much shorter, so that it does not change all the time.
     */
    if (w->part_assumed == !known &&
        (ms == w->part_ms || (ms && ms < w->part_ms && ms * 4 > w->part_ms)))
        return;
    w->part_ms = ms;
    w->part_assumed = !known;
    configuration_push(g);
}
