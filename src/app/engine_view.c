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
    if (g->replay) {
        n->replay = true;
        n->replay_share = replay_share(g->replay);
        n->replay_speed = g->replay_speed;
    }
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
    } else if (g->silent) {
        n->silent_s = (double)(clock_mono_ns() - g->heard_ns) / 1e9;
        snprintf(n->state, sizeof n->state, "NO DATA from %.150s for %.0f s", g->node, n->silent_s);
    }
}

/* The breaker is the target's: its last word, and how long ago that was. */
static void fill_breaker(struct engine *g, struct snapshot *s)
{
    struct heartbeat b;
    struct snap_breaker *k = &s->breaker;

    s->sample = s->sample_asked = g->trace_config.sample ? g->trace_config.sample : 1;
    if (!stream_heartbeat(g->stream, &b))
        return;
    engine_take_notes(g); /* why came before that it is so */
    k->state = b.breaker == 1 ? BREAKER_OPEN : b.breaker == 2 ? BREAKER_HALF_OPEN : BREAKER_CLOSED;
    k->trips = b.trips;
    if (k->trips) /* also when it has closed since: nobody may have looked meanwhile */
        err_copy(k->reason, sizeof k->reason, g->breaker_reason);
    k->pause_s = k->state == BREAKER_OPEN ? (double)b.pause_ms / 1e3 : 0;
    if (k->state == BREAKER_OPEN && !g->replay) {
        double since_ms = (double)(clock_mono_ns() - b.received_ns) / 1e6;
        k->next_try_s = (double)b.next_ms > since_ms ? ((double)b.next_ms - since_ms) / 1e3 : 0;
    }
    if (b.sample)
        s->sample = b.sample;
    if (s->sample > s->sample_asked)
        s->sample_why = (enum sample_why)b.sample_why;
}

static void fill_cost(struct engine *g, struct snap_cost *c)
{
    struct heartbeat b;

    c->limit_percent = g->replay ? 0 : (double)g->trace_config.max_cost_ppm / 1e4;
    if (!stream_heartbeat(g->stream, &b) || !b.call_ns)
        return;
    c->known = true;
    c->assumed = b.cost_assumed;
    c->percent = b.cost_ppm / 1e4;
    c->call_ns = b.call_ns;
}

static void fill_clock(const struct clock_reading *r, uint64_t now_ns, struct snap_clock *k)
{
    k->error_known = r->bounded;
    k->error_us = clock_reading_error_ns(r, now_ns) / 1e3;
    k->drift_known = r->drift_known;
    k->drift_ppm = r->drift * 1e6;
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

    if (!g->control || !g->tracing || s->final || s->time.history ||
        s->breaker.state != BREAKER_CLOSED)
        return;
    for (size_t i = 0; i < s->n_rows; i++)
        if (!s->rows[i].ident && s->rows[i].tier < EVENT_TIERS)
            why_empty(g, &s->rows[i], now_ns);
}

void engine_keep_hists(struct engine *g, bool on)
{
    core_keep_hists(g->core, on);
}

uint64_t engine_wall_of_core(const struct engine *g)
{
    uint64_t now = core_now(g->core);

    if (g->replay)
        return g->meta.wall_ns + (now - g->replay_core_ns);
    return clock_wall_ns() - (g->target_now_ns > now ? g->target_now_ns - now : 0);
}

static struct snapshot *make(struct engine *g, const struct view_query *query, bool final)
{
    struct stream_figures f;
    struct snap_log lines[ENGINE_LOG];
    uint64_t wall = engine_wall_of_core(g);

    stream_figures(g->stream, &f);
    struct snapshot *s = core_view(g->core, query, wall);
    s->wall_ns = g->replay ? wall : clock_wall_ns();
    s->final = final;
    s->elapsed_s = g->replay ? (double)(core_now(g->core) - g->replay_core_ns) / 1e9
                             : (double)(clock_mono_ns() - g->begun_ns) / 1e9;
    fill_rate(g, &f);
    fill_node(g, &s->node);
    fill_breaker(g, s);
    fill_cost(g, &s->cost);
    fill_clock(&f.clock, g->replay ? f.clock.at_ns : clock_mono_ns(), &s->clock);
    s->lean = g->trace_config.lean;
    s->events_per_s = g->events_per_s;
    s->lag_ms = f.lag_ns > 0 ? (double)f.lag_ns / 1e6 : 0;
    s->oldest_event_ms = (double)f.oldest_ns / 1e6;
    s->ring_fill = (double)ring_fill(g->ring) / (double)ring_capacity(g->ring);
    s->lost.target = f.target_dropped + f.missing_batches;
    s->lost.ring = ring_lost(g->ring);
    s->odd.bad_events += f.bad_events; /* to those that core did not understand */
    why_all(g, s);
    engine_name_slow(g, s, clock_mono_ns());
    snapshot_set_log(s, lines, fill_log(g, lines, ENGINE_LOG));
    if (g->compare)
        compare_apply(g->compare, s);
    return s;
}

struct snapshot *engine_snapshot(struct engine *g, enum window w, bool final)
{
    struct view_query l = {.window = w};
    return make(g, &l, final);
}

struct snapshot *engine_view(struct engine *g, const struct view_query *query)
{
    return make(g, query, false);
}
