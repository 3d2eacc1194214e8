/* A recording as the source: the same bytes through the same stream, on the core thread. */
#include "engine_impl.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_A_POLL 256
#define SPEED_LEAST   0.125
#define SPEED_MOST    1024.0

int engine_replay(struct engine *g, const char *path, struct err *e)
{
    g->replay = replay_open(path, e);
    if (!g->replay)
        return -1;
    g->replay_speed = g->o->batch ? 0 : g->o->speed;
    g->state = ENGINE_UP;
    g->tracing = true;
    return 0;
}

double engine_replay_share(const struct engine *g)
{
    return g->replay ? replay_share(g->replay) : 1;
}

/* The recording's tiers become ours, by their numbers. */
static void take_meta(struct engine *g, const uint8_t *bytes, size_t n)
{
    static const struct meta none;
    struct meta m = none;
    const struct tierset *have = core_tiers(g->core);

    if (!meta_read(&m, bytes, n))
        return;
    bool first = g->meta.units_per_s == 0;
    if (first)
        g->meta = m;
    if (first || m.start_native != g->meta.start_native)
        stream_clock(g->stream, m.start_native, m.units_per_s);
    for (uint16_t i = 0; i < m.tiers.n; i++) {
        if (i >= have->n)
            core_tier_add(g->core, m.tiers.tier[i].name, m.tiers.tier[i].mfa);
        if (!m.tiers.tier[i].active && have->tier[i].active)
            core_tier_remove(g->core, i);
    }
    core_set_entry(g->core, m.tiers.entry);
    core_set_identity(g->core, m.tiers.has_identity);
    core_set_returns(g->core, m.tiers.returns);
    g->trace_config.lean = m.tiers.returns == RETURNS_LEAN;
    g->trace_config.sample = m.sample;
}

/* What was found out here, not told by the agent: processes found dead, the node lost. */
static void take_exits(struct engine *g, const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at + sizeof(struct event) <= n; at += sizeof(struct event)) {
        struct event ev;
        memcpy(&ev, bytes + at, sizeof ev);
        if (ev.kind == EVENT_EXIT)
            core_feed(g->core, &ev, 1);
        else if (ev.kind == EVENT_GAP && ev.ident == GAP_LOST)
            core_gap(g->core, ev.ts_ns, GAP_LOST);
    }
}

static void drain(struct engine *g)
{
    const void *ready;
    size_t n;

    while ((n = ring_peek(g->ring, &ready)) > 0) {
        const struct event *first = ready;
        if (!g->replay_core_ns && first->kind != EVENT_GAP && first->kind != EVENT_MARK)
            g->replay_core_ns = first->ts_ns;
        core_feed(g->core, ready, n);
        ring_consume(g->ring, n);
    }
}

static void the_end(struct engine *g)
{
    struct event off = {.ts_ns = core_now(g->core), .kind = EVENT_FLUSH, .pid = UINT64_MAX};

    core_feed(g->core, &off, 1);
    core_gap_forget(g->core, core_now(g->core));
    core_advance(g->core, core_now(g->core) + FINALIZE_LAG_NS);
    g->state = ENGINE_REPLAYED;
    g->tracing = false;
    engine_log(g, "end of the recording");
}

/* The stamp that is due now; while it is held, the one at which it was. */
static uint64_t redraw_limit(const struct engine *g, uint64_t now_ns)
{
    double since = g->tracing ? (double)(now_ns - g->replay_since_ns) : 0;
    return g->replay_at_ns + (uint64_t)(since * g->replay_speed);
}

/* Before the pace changes: from here on it is counted anew. */
static void redraw_limit_from_here(struct engine *g)
{
    uint64_t now = clock_mono_ns();
    g->replay_at_ns = g->replay_speed > 0 ? redraw_limit(g, now) : g->frame.stamp_ns;
    g->replay_since_ns = now;
}

/* Is it this frame's time yet? */
static bool due(struct engine *g, uint64_t stamp_ns)
{
    if (!g->replay_since_ns) {
        g->replay_at_ns = stamp_ns;
        g->replay_since_ns = clock_mono_ns();
    }
    return g->tracing && (g->replay_speed <= 0 || stamp_ns <= redraw_limit(g, clock_mono_ns()));
}

void replay_toggle(struct engine *g)
{
    if (g->state == ENGINE_REPLAYED)
        return;
    redraw_limit_from_here(g);
    g->tracing = !g->tracing;
}

void replay_faster(struct engine *g, bool faster)
{
    double v = g->replay_speed;

    redraw_limit_from_here(g);
    v = faster ? v * 2 : v > 0 ? v / 2 : SPEED_MOST;
    g->replay_speed = v > SPEED_MOST ? 0 : v > 0 && v < SPEED_LEAST ? SPEED_LEAST : v;
}

static void take_frame(struct engine *g)
{
    struct etf rest;
    uint64_t ref, sent_ns;
    int64_t native;

    switch (g->frame.kind) {
    case RECORD_META:
        take_meta(g, g->frame.bytes, g->frame.n);
        break;
    case RECORD_EXITS:
        take_exits(g, g->frame.bytes, g->frame.n);
        break;
    case RECORD_EVENTS:
        stream_feed(g->stream, g->frame.bytes, g->frame.n, g->frame.stamp_ns, &rest, &ref);
        drain(g);
        engine_pump_slow(g, false);
        break;
    case RECORD_CLOCK:
        if (replay_round_trip(g->frame.bytes, g->frame.n, &sent_ns, &native))
            stream_round_trip(g->stream, sent_ns, native, g->frame.stamp_ns);
        break;
    default:
        break; /* a newer version's frame */
    }
}

/* Without a screen --duration is that much of the recording. */
static bool enough(const struct engine *g)
{
    uint64_t most = g->o->batch ? g->o->duration_ns : 0;

    return most && g->replay_core_ns && core_now(g->core) - g->replay_core_ns >= most;
}

void replay_pump(struct engine *g)
{
    struct err e = {{0}};

    for (int i = 0; i < FRAMES_A_POLL && g->state != ENGINE_REPLAYED; i++) {
        if (!g->frame.waiting) {
            int r = replay_next(g->replay, &g->frame.kind, &g->frame.stamp_ns, &g->frame.bytes,
                                &g->frame.n, &e);
            if (r <= 0) {
                if (r < 0)
                    engine_log(g, e.text);
                the_end(g);
                return;
            }
        }
        g->frame.waiting = !due(g, g->frame.stamp_ns);
        if (g->frame.waiting)
            return;
        take_frame(g);
        if (enough(g))
            the_end(g);
    }
}
