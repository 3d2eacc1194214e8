/* Checks of the engine: a silent node, a lost connection, and a kprof-top that is too slow. */
#include "liveness.h"

#include "session_log.h"

#include <kprof/base/clock.h>
#include <stdio.h>

/* If nothing arrives for this long, the node counts as silent; heartbeats come twice a second. */
#define ENGINE_SILENCE_NS 3000000000u

uint64_t liveness_heard_ns(struct engine *g)
{
    struct stream_figures f;
    struct heartbeat b;

    stream_figures(g->stream, &f);
    return stream_heartbeat(g->stream, &b) && b.ts_ns > f.last_event_ns ? b.ts_ns : f.last_event_ns;
}

void liveness_gap(struct engine *g, enum gap_reason reason)
{
    struct event ev = {.ts_ns = liveness_heard_ns(g),
                       .pid = UINT64_MAX,
                       .kind = EVENT_GAP,
                       .ident = (uint32_t)reason};

    core_gap(g->core, ev.ts_ns, reason);
    recorder_write(g->recorder, RECORD_EXITS, clock_mono_ns(), &ev, sizeof ev);
}

/* Local time of the last heartbeat, or now if a batch has arrived since the last call; 0: none. */
static uint64_t data_ns(struct engine *g, uint64_t now_ns)
{
    struct stream_figures f;
    struct heartbeat b;

    stream_figures(g->stream, &f);
    bool batch = f.batches != g->liveness.heard_batches;
    g->liveness.heard_batches = f.batches;
    if (batch)
        return now_ns;
    return stream_heartbeat(g->stream, &b) ? b.received_ns : 0;
}

static void heard(struct engine *g, uint64_t at_ns)
{
    char line[400];

    if (g->liveness.silent) {
        snprintf(line, sizeof line, "%.255s sends data again, after %.0f s", g->connection.node,
                 (double)(at_ns - g->liveness.heard_ns) / 1e9);
        session_log_add(g, line);
    }
    g->liveness.silent = false;
    g->liveness.heard_ns = at_ns;
}

static void fell_silent(struct engine *g, uint64_t now_ns)
{
    struct heartbeat b;
    char line[400];

    g->liveness.silent = true;
    core_gap(g->core, stream_heartbeat(g->stream, &b) ? b.ts_ns : core_now(g->core), GAP_SILENT);
    snprintf(line, sizeof line, "no data from %.255s for %.0f s", g->connection.node,
             (double)(now_ns - g->liveness.heard_ns) / 1e9);
    session_log_add(g, line);
}

void liveness_listen(struct engine *g, uint64_t now_ns)
{
    struct liveness *l = &g->liveness;
    uint64_t at_ns = data_ns(g, now_ns);
    /* kprof-top itself did not run (^Z): the data that arrived meanwhile has not been read yet. */
    bool away = l->polled_ns && now_ns - l->polled_ns > ENGINE_SILENCE_NS / 2;

    if (!l->polled_ns) /* the link may be up already */
        l->heard_ns = now_ns;
    l->polled_ns = now_ns;
    if (g->state != ENGINE_UP) {
        l->heard_ns = now_ns;
        l->silent = false;
        return;
    }
    if (at_ns > l->heard_ns)
        heard(g, at_ns);
    if (l->silent)
        return;
    if (away)
        l->heard_ns = now_ns;
    if (now_ns >= l->heard_ns + ENGINE_SILENCE_NS)
        fell_silent(g, now_ns);
}

#define GUARD_EVERY_NS 100000000u

static void look_now(struct engine *g, uint64_t now_ns, struct guard_sample *l)
{
    struct stream_figures f;
    struct heartbeat b;

    stream_figures(g->stream, &f);
    *l = (struct guard_sample){.now_ns = now_ns,
                               .ring_lost = ring_lost(g->ring),
                               .batches = f.batches,
                               .lag_ns = f.lag_ns > 0 ? (uint64_t)f.lag_ns : 0,
                               .cpu_ns = clock_cpu_ns(),
                               .breaker_open = stream_heartbeat(g->stream, &b) && b.breaker == 1};
}

void liveness_guard(struct engine *g)
{
    uint64_t now = clock_mono_ns(), lost = g->liveness.guard.lost;
    struct guard_sample l;
    char why[160] = "";

    if (g->state != ENGINE_UP || !g->tracing || now < g->liveness.guard_next_ns)
        return;
    g->liveness.guard_next_ns = now + GUARD_EVERY_NS;
    look_now(g, now, &l);
    switch (guard_sample(&g->liveness.guard, &l)) {
    case GUARD_FINE:
        return;
    case GUARD_RING:
        snprintf(why, sizeof why, "kprof-top is too slow: it dropped %llu events",
                 (unsigned long long)(l.ring_lost - lost));
        break;
    case GUARD_LAG:
        snprintf(why, sizeof why, "events are %llu ms old when they reach kprof-top",
                 (unsigned long long)(l.lag_ns / 1000000u));
        break;
    case GUARD_CPU:
        snprintf(why, sizeof why, "kprof-top uses more than %d %% of a core", GUARD_CPU_PERCENT);
        break;
    }
    control_ask(g->control, CONTROL_TRIP, 0, why, NULL, 0);
}
