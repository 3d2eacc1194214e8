/* A recording as the source: the same bytes through the same stream, on the core thread. */
#include "engine_impl.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_A_POLL 256

int engine_replay(struct engine *g, const char *path, struct err *e)
{
    g->replay = replay_open(path, e);
    if (!g->replay)
        return -1;
    g->replay_paced = !g->o->batch;
    g->state = ENGINE_UP;
    g->tracing = true;
    return 0;
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
    g->wish.lean = m.tiers.returns == RETURNS_LEAN;
    g->wish.sample = m.sample;
}

static void take_exits(struct engine *g, const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at + sizeof(struct event) <= n; at += sizeof(struct event)) {
        struct event ev;
        memcpy(&ev, bytes + at, sizeof ev);
        if (ev.kind == EVENT_EXIT)
            core_feed(g->core, &ev, 1);
    }
}

static void drain(struct engine *g)
{
    const void *ready;
    size_t n;

    while ((n = ring_peek(g->ring, &ready)) > 0) {
        if (!g->replay_core_ns)
            g->replay_core_ns = ((const struct event *)ready)->ts_ns;
        core_feed(g->core, ready, n);
        ring_consume(g->ring, n);
    }
}

static void the_end(struct engine *g)
{
    struct event off = {.ts_ns = core_now(g->core), .kind = EVENT_FLUSH, .pid = UINT64_MAX};

    core_feed(g->core, &off, 1);
    core_advance(g->core, core_now(g->core) + SETTLE_LAG_NS);
    g->state = ENGINE_REPLAYED;
    g->tracing = false;
    engine_log(g, "end of the recording");
}

/* Paced: is it this frame's time yet? */
static bool due(struct engine *g, uint64_t stamp_ns)
{
    uint64_t now = clock_mono_ns();

    if (!g->replay_first_ns) {
        g->replay_first_ns = stamp_ns;
        g->replay_begun_ns = now;
    }
    return !g->replay_paced || stamp_ns - g->replay_first_ns <= now - g->replay_begun_ns;
}

static void take_frame(struct engine *g)
{
    struct etf rest;
    uint64_t ref;

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
        break;
    default:
        break; /* a newer version's frame */
    }
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
    }
}
