/* What the engine adds to core's snapshot: node, breaker, loss, lag, log. */
#include "engine_impl.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

static void fill_rate(struct engine *g, const struct stream_figures *f)
{
    uint64_t now = clock_mono_ns();

    if (g->rate_ns && now - g->rate_ns < 1000000000u)
        return;
    if (g->rate_ns)
        g->events_per_s = (double)(f->events - g->rate_events) * 1e9 / (double)(now - g->rate_ns);
    g->rate_ns = now;
    g->rate_events = f->events;
}

static void fill_node(struct engine *g, struct snap_node *n)
{
    struct heartbeat b;
    const char *name = g->replay ? g->meta.node : g->info.node[0] ? g->info.node : g->node;

    snprintf(n->name, sizeof n->name, "%s", name);
    snprintf(n->otp, sizeof n->otp, "%s", g->replay ? g->meta.otp : g->info.otp);
    snprintf(n->transport, sizeof n->transport, "%s", g->replay ? "replay" : "dist");
    n->connected = g->state == ENGINE_UP || g->state == ENGINE_REPLAYED;
    n->tracing = g->tracing;
    n->scheduler_use = -1;
    if (stream_heartbeat(g->stream, &b)) {
        n->uptime_s = b.uptime_ms / 1000;
        n->run_queue = b.run_queue;
        n->scheduler_use = b.sched_permille < 0 ? -1.0 : b.sched_permille / 1000.0;
        n->memory_bytes = b.memory_bytes;
        n->processes = b.processes;
        n->relay_queue = b.relay_queue;
        n->relay_bytes = b.relay_bytes;
    }
    if (g->state == ENGINE_LOST) {
        uint64_t now = clock_mono_ns();
        double in_s = g->retry_at_ns > now ? (double)(g->retry_at_ns - now) / 1e9 : 0;
        snprintf(n->state, sizeof n->state, "NODE LOST, next try in %.0f s: %.140s", in_s,
                 g->state_line);
    } else if (g->state == ENGINE_REPLAYED) {
        err_copy(n->state, sizeof n->state, "end of the recording");
    } else if (g->state == ENGINE_CONNECTING) {
        snprintf(n->state, sizeof n->state, "connecting to %.150s ...", g->node);
    }
}

/* The breaker is the target's: its last word, and how long ago that was. */
static void fill_breaker(struct engine *g, struct snapshot *s)
{
    struct heartbeat b;
    struct snap_breaker *k = &s->breaker;

    s->sample = g->wish.sample ? g->wish.sample : 1;
    if (!stream_heartbeat(g->stream, &b))
        return;
    k->state = b.breaker == 1 ? BREAKER_OPEN : b.breaker == 2 ? BREAKER_HALF_OPEN : BREAKER_CLOSED;
    k->trips = b.trips;
    if (k->state != BREAKER_CLOSED)
        err_copy(k->reason, sizeof k->reason, g->breaker_reason);
    if (k->state == BREAKER_OPEN && !g->replay) {
        double since_ms = (double)(clock_mono_ns() - b.received_ns) / 1e6;
        k->next_try_s = (double)b.next_ms > since_ms ? ((double)b.next_ms - since_ms) / 1e3 : 0;
    }
    if (b.sample)
        s->sample = b.sample;
}

static size_t fill_log(struct engine *g, struct snap_log *to, size_t max)
{
    size_t n = g->log_n < max ? g->log_n : max;

    if (n > ENGINE_LOG)
        n = ENGINE_LOG;
    for (size_t i = 0; i < n; i++) {
        size_t at = (g->log_n - 1 - i) % ENGINE_LOG;
        to[i] = (struct snap_log){.wall_ns = g->log[at].wall_ns, .text = g->log[at].text};
    }
    return n;
}

enum { WHY_FIRST_S = 4, WHY_AGAIN_S = 20, WHY_APART_S = 2 };

/* A tier that stays empty says why, without being asked to: the node counts its calls for a second.
 */
static void why_empty(struct engine *g, const struct snap_row *r, uint64_t now_ns)
{
    uint64_t *at = &g->why_at_ns[r->tier];

    if (r->count > 0) {
        *at = 0;
        if (r->note && !g->unmatched[r->tier])
            core_tier_note(g->core, r->tier, NULL);
        return;
    }
    if (*at == 0)
        *at = now_ns + WHY_FIRST_S * UINT64_C(1000000000);
    if (g->unmatched[r->tier] || now_ns < *at || now_ns < g->why_next_ns)
        return;
    *at = now_ns + WHY_AGAIN_S * UINT64_C(1000000000);
    g->why_next_ns = now_ns + WHY_APART_S * UINT64_C(1000000000);
    control_ask(g->control, CONTROL_WHY, r->tier, NULL, NULL, 0);
}

static void why_all(struct engine *g, const struct snapshot *s)
{
    uint64_t now_ns = clock_mono_ns();

    if (!g->control || !g->tracing || s->final || s->breaker.state != BREAKER_CLOSED)
        return;
    for (size_t i = 0; i < s->n_rows; i++)
        if (!s->rows[i].ident && s->rows[i].tier < EVENT_TIERS)
            why_empty(g, &s->rows[i], now_ns);
}

struct snapshot *engine_snapshot(struct engine *g, enum window w, bool final)
{
    struct stream_figures f;
    struct snap_log lines[ENGINE_LOG];
    uint64_t wall = clock_wall_ns(), behind = 0;

    stream_figures(g->stream, &f);
    if (g->replay)
        wall = g->meta.wall_ns + (core_now(g->core) - g->replay_core_ns);
    else if (g->target_now_ns > core_now(g->core))
        behind = g->target_now_ns - core_now(g->core);
    struct snapshot *s = core_snapshot(g->core, w, wall - behind);
    s->wall_ns = wall;
    s->final = final;
    s->elapsed_s = g->replay ? (double)(core_now(g->core) - g->replay_core_ns) / 1e9
                             : (double)(clock_mono_ns() - g->begun_ns) / 1e9;
    fill_rate(g, &f);
    fill_node(g, &s->node);
    fill_breaker(g, s);
    s->lean = g->wish.lean;
    s->events_per_s = g->events_per_s;
    s->lag_ms = f.lag_ns > 0 ? (double)f.lag_ns / 1e6 : 0;
    s->ring_fill = (double)ring_fill(g->ring) / (double)ring_capacity(g->ring);
    s->lost.target = f.target_dropped + f.missing_batches;
    s->lost.ring = ring_lost(g->ring);
    s->odd.bad_events = f.bad_events;
    why_all(g, s);
    engine_name_slow(g, s, clock_mono_ns());
    snapshot_set_log(s, lines, fill_log(g, lines, ENGINE_LOG));
    return s;
}
