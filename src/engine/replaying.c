/* Replay: feeds the recorded bytes to the stream, on the core thread. */
#include "replaying.h"

#include "liveness.h"
#include "node_load.h"
#include "recording_poll.h"
#include "session_log.h"
#include "slow_pump.h"
#include "wall_clock.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_A_POLL 256
#define SPEED_LEAST   0.125
#define SPEED_MOST    1024.0

int engine_replay(struct engine *g, const char *path, struct err *e)
{
    g->replay.file = replay_open(path, e);
    if (!g->replay.file)
        return -1;
    g->replay.speed = g->run.replay_speed;
    g->state = ENGINE_UP;
    g->tracing = true;
    return 0;
}

double engine_replay_share(const struct engine *g)
{
    return g->replay.file ? replay_share(g->replay.file) : 1;
}

const char *engine_replay_trouble(const struct engine *g)
{
    return g->replay.trouble.text[0] ? g->replay.trouble.text : NULL;
}

static void take_clock(struct engine *g, int64_t start_native, int64_t units_per_s)
{
    stream_clock(g->stream, start_native, units_per_s);
    g->replay.start_native = start_native;
    g->replay.has_clock = units_per_s > 0;
}

/* Takes the tiers of the recording, with their numbers. */
static void take_meta(struct engine *g, const uint8_t *bytes, size_t n)
{
    static const struct recording_meta none;
    struct recording_meta m = none;
    const struct tierset *have = core_tiers(g->core);

    if (!recording_meta_read(&m, bytes, n))
        return;
    bool first = g->replay.meta.units_per_s == 0;
    if (first) {
        g->replay.meta = m;
        g->replay.meta_ns = g->replay.frame.stamp_ns;
    }
    if (!g->replay.has_clock || m.start_native != g->replay.start_native)
        take_clock(g, m.start_native, m.units_per_s); /* of a kprof-top without RECORD_CONNECT */
    for (uint16_t i = 0; i < m.tiers.n; i++) {
        if (i >= have->n)
            core_tier_add(g->core, m.tiers.tier[i].name, m.tiers.tier[i].mfa);
        if (!m.tiers.tier[i].active && have->tier[i].active)
            core_tier_remove(g->core, i);
    }
    core_set_entry(g->core, m.tiers.entry);
    core_set_identity(g->core, m.tiers.has_identity);
    stream_new_rule(g->stream); /* perhaps: a recording tells only that something was changed */
    core_set_returns(g->core, m.tiers.returns);
    core_set_release(g->core, m.otp);
    g->configuration.wanted.lean = m.tiers.returns == RETURNS_LEAN;
    g->configuration.wanted.sample = m.sample;
}

/* The ends of open calls did not arrive: new processes may have the same pids. */
static void connection_lost(struct engine *g)
{
    struct event off = {.ts_ns = core_now(g->core), .kind = EVENT_FLUSH, .pid = UINT64_MAX};

    core_feed(g->core, &off, 1);
    core_gap(g->core, liveness_heard_ns(g), GAP_LOST);
}

/* Events that kprof-top made itself: dead processes, a lost connection. */
static void take_exits(struct engine *g, const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at + sizeof(struct event) <= n; at += sizeof(struct event)) {
        struct event ev;
        memcpy(&ev, bytes + at, sizeof ev);
        if (ev.kind == EVENT_EXIT)
            core_feed(g->core, &ev, 1);
        else if (ev.kind == EVENT_GAP && ev.ident == GAP_LOST)
            connection_lost(g);
    }
}

/* As in a live session, heartbeats advance the time while no events arrive. */
static void advance(struct engine *g)
{
    if (!wall_clock_advance(g, g->replay.frame.stamp_ns))
        return;
    g->replay.wall_ns = g->replay.meta.wall_ns + (g->replay.frame.stamp_ns - g->replay.meta_ns);
    g->replay.core_ns = g->replay.core_ns ? g->replay.core_ns : g->target_now_ns;
}

static void drain(struct engine *g)
{
    const void *ready;
    size_t n;

    while ((n = ring_peek(g->ring, &ready)) > 0) {
        const struct event *first = ready;
        if (!g->replay.core_ns && first->kind != EVENT_GAP && first->kind != EVENT_MARK &&
            first->kind != EVENT_VM)
            g->replay.core_ns = first->ts_ns;
        core_feed(g->core, ready, n);
        ring_consume(g->ring, n);
    }
}

static void the_end(struct engine *g)
{
    uint64_t now = core_now(g->core) > g->target_now_ns ? core_now(g->core) : g->target_now_ns;
    struct event off = {.ts_ns = now, .kind = EVENT_FLUSH, .pid = UINT64_MAX};

    core_feed(g->core, &off, 1);
    core_run_end(g->core, core_now(g->core), STREAM_LATE_NS);
    g->state = ENGINE_REPLAYED;
    g->tracing = false;
    session_log_add(g, "end of the recording");
}

/* The stamp that is due now; while paused, the stamp at which the pause began. */
static uint64_t due_stamp(const struct engine *g, uint64_t now_ns)
{
    double since = g->tracing ? (double)(now_ns - g->replay.since_ns) : 0;
    return g->replay.at_ns + (uint64_t)(since * g->replay.speed);
}

/* Called before the speed changes: the time counts from here. */
static void begin_here(struct engine *g)
{
    uint64_t now = clock_mono_ns();
    g->replay.at_ns = g->replay.speed > 0 ? due_stamp(g, now) : g->replay.frame.stamp_ns;
    g->replay.since_ns = now;
}

/* True: this frame is due. */
static bool due(struct engine *g, uint64_t stamp_ns)
{
    if (!g->replay.since_ns) {
        g->replay.at_ns = stamp_ns;
        g->replay.since_ns = clock_mono_ns();
    }
    return g->tracing && (g->replay.speed <= 0 || stamp_ns <= due_stamp(g, clock_mono_ns()));
}

/* True: the replay has ended; this shows a message. Keys that control a replay have no effect
 * then. */
static bool has_ended(struct engine *g)
{
    if (g->state != ENGINE_REPLAYED)
        return false;
    session_log_say(g, "the recording has ended", false);
    return true;
}

void replaying_toggle(struct engine *g)
{
    if (has_ended(g))
        return;
    begin_here(g);
    g->tracing = !g->tracing;
}

void replaying_faster(struct engine *g, bool faster)
{
    double v = g->replay.speed;

    begin_here(g);
    v = faster ? v * 2 : v > 0 ? v / 2 : SPEED_MOST;
    g->replay.speed = v > SPEED_MOST ? 0 : v > 0 && v < SPEED_LEAST ? SPEED_LEAST : v;
}

static void take_frame(struct engine *g)
{
    struct etf rest;
    uint64_t ref, sent_ns;
    int64_t native, units_per_s;
    struct core_poll poll;

    switch (g->replay.frame.kind) {
    case RECORD_META:
        take_meta(g, g->replay.frame.bytes, g->replay.frame.n);
        break;
    case RECORD_EXITS:
        take_exits(g, g->replay.frame.bytes, g->replay.frame.n);
        break;
    case RECORD_EVENTS:
    case RECORD_DETAIL:
    case RECORD_VM:
        stream_feed(g->stream, g->replay.frame.bytes, g->replay.frame.n, g->replay.frame.stamp_ns,
                    &rest, &ref);
        drain(g);
        advance(g);
        node_load_take(g);
        slow_pump_run(g, false);
        break;
    case RECORD_STACKS:
        stream_feed(g->stream, g->replay.frame.bytes, g->replay.frame.n, g->replay.frame.stamp_ns,
                    &rest, &ref);
        break;
    case RECORD_POLL:
        if (recording_poll_read(&poll, g->replay.frame.bytes, g->replay.frame.n))
            core_hang(g->core, &poll);
        break;
    case RECORD_CLOCK:
        if (replay_round_trip(g->replay.frame.bytes, g->replay.frame.n, &sent_ns, &native))
            stream_round_trip(g->stream, sent_ns, native, g->replay.frame.stamp_ns);
        break;
    case RECORD_CONNECT:
        if (replay_connection(g->replay.frame.bytes, g->replay.frame.n, &native, &units_per_s))
            take_clock(g, native, units_per_s);
        break;
    case RECORD_SLOW:
        if (replay_slow(g->replay.frame.bytes, g->replay.frame.n, &sent_ns))
            slow_pump_recorded(g, sent_ns);
        break;
    default:
        break; /* a frame of a newer version */
    }
}

uint64_t replaying_elapsed_ns(const struct engine *g)
{
    uint64_t now = core_now(g->core);

    return g->replay.core_ns && now > g->replay.core_ns ? now - g->replay.core_ns : 0;
}

/* Without a screen, --duration limits the replay to this much of the recording. */
static bool enough(const struct engine *g)
{
    uint64_t most = g->run.replay_most_ns;

    return most && replaying_elapsed_ns(g) >= most;
}

void replaying_pump(struct engine *g)
{
    for (int i = 0; i < FRAMES_A_POLL && g->state != ENGINE_REPLAYED; i++) {
        if (!g->replay.frame.waiting) {
            int r = replay_next(g->replay.file, &g->replay.frame.kind, &g->replay.frame.stamp_ns,
                                &g->replay.frame.bytes, &g->replay.frame.n, &g->replay.trouble);
            if (r <= 0) {
                if (r < 0)
                    session_log_warn(g, g->replay.trouble.text);
                the_end(g);
                return;
            }
        }
        g->replay.frame.waiting = !due(g, g->replay.frame.stamp_ns);
        if (g->replay.frame.waiting)
            return;
        take_frame(g);
        if (enough(g))
            the_end(g);
    }
}
