/* A day of one session: the node's clock is fast or slow by 100 ppm, and clocks step. Simulated
 * messages of the agent pass through trace/stream, live and as a recording without round trips; the
 * guard checks them as in the engine. */
#include "agent_terms.h"
#include "core_test.h"
#include "rng.h"

#include <kprof/base/ring.h>
#include <kprof/core/core.h>
#include <kprof/core/guard.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/stream.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS   UINT64_C(1000000)
#define SEC  (1000 * MS)
#define HOUR (3600 * SEC)
#define DAY  (24 * HOUR)

#define START_NATIVE (-INT64_C(576460752303423488))
#define MAX_AGE_NS   SEC
#define AGE_WITHIN   (5 * (int64_t)MS)
#define AFTER_STEP   (6 * SEC) /* for this time after the start or a step the age may be wrong */
#define SETTLE_NS    (150 * MS)
#define LOOKS_EACH   (100 * MS)

struct day {
    struct intern *names;
    struct ring *ring;
    struct stream *s;
    struct core *core;
    struct guard guard;
    struct buf m;
    bool live; /* questions are sent, and time advances when nothing arrives */
    double ppm;
    uint64_t now;         /* true time */
    int64_t theirs, ours; /* sums of the clock steps */
    uint64_t came;        /* true time of the last arrival: the link keeps the order */
    uint64_t seq, stepped;
    unsigned steps;
    uint64_t events, wrong;      /* number of batches, and of those with a wrong age */
    uint64_t core_ns, target_ns; /* as reported last */
    int64_t worst;
};

static struct day *day_new(bool live, double ppm)
{
    struct day *d = calloc(1, sizeof *d);
    struct core_limits l;

    core_limits_default(&l);
    l.history_bytes = 1 << 20;
    d->names = intern_new(1000, 1 << 16);
    d->ring = ring_new(64, sizeof(struct event));
    d->s = stream_new(d->ring, d->names);
    d->core = core_new(&l, d->names);
    core_tier_add(d->core, "tier", "m:f/0");
    stream_clock(d->s, START_NATIVE, 1000000000);
    guard_init(&d->guard, MAX_AGE_NS);
    buf_init(&d->m, 0);
    d->live = live;
    d->ppm = ppm;
    d->now = 7 * HOUR;
    d->ours = (int64_t)(40 * HOUR);
    return d;
}

static void day_free(struct day *d)
{
    stream_free(d->s);
    core_free(d->core);
    ring_free(d->ring);
    intern_free(d->names);
    buf_release(&d->m);
    free(d);
}

static uint64_t our_clock(const struct day *d, uint64_t at)
{
    return at + (uint64_t)d->ours;
}

/* the node's clock, since its VM started */
static int64_t their_clock(const struct day *d, uint64_t at)
{
    return (int64_t)at + (int64_t)((double)at * d->ppm * 1e-6) + d->theirs;
}

/* One-way delay: 0.1 ms, plus an exponential part with a mean of 1 ms, sometimes 100 ms. */
static uint64_t delay(void)
{
    double u = (double)(rng() >> 11) / 9007199254740992.0;
    return MS / 10 - (uint64_t)((double)MS * log(1 - u)) +
           (rng_below(50) ? 0 : rng_below(100 * MS));
}

static void feed(struct day *d, uint64_t at)
{
    struct etf rest;
    uint64_t ref;

    stream_feed(d->s, d->m.data, d->m.len, our_clock(d, at), &rest, &ref);
}

/* the arrival time of a message that is sent now */
static uint64_t arrival(struct day *d)
{
    uint64_t at = d->now + delay();
    d->came = at > d->came ? at : d->came;
    return d->came;
}

static void heartbeat(struct day *d)
{
    buf_clear(&d->m);
    enc_version(&d->m);
    enc_tuple(&d->m, 3);
    enc_atom(&d->m, "kh");
    enc_i64(&d->m, START_NATIVE + their_clock(d, d->now));
    enc_map(&d->m, 1);
    enc_atom(&d->m, "gap");
    enc_u64(&d->m, 0);
    feed(d, arrival(d));
}

static void message(struct buf *b, bool call, int64_t at)
{
    enc_tuple(b, call ? 6 : 5);
    enc_atom(b, "trace_ts");
    agent_pid(b, "app@host", 42, 1);
    enc_atom(b, call ? "call" : "return_to");
    agent_mfa(b, "m", "f", 0);
    if (call) {
        enc_tuple(b, 3);
        enc_u64(b, 0);
        enc_u64(b, 0);
        agent_mfa(b, "m", "f", 0);
    }
    enc_i64(b, START_NATIVE + at);
}

/* Sends a call that ended up to 40 ms ago. Returns its age at arrival. */
static int64_t batch(struct day *d)
{
    uint64_t ended = d->now - rng_below(40 * MS), at = arrival(d);

    buf_clear(&d->m);
    enc_version(&d->m);
    enc_tuple(&d->m, 5);
    enc_atom(&d->m, "kb");
    enc_u64(&d->m, ++d->seq);
    enc_u64(&d->m, 0);
    enc_u64(&d->m, 1);
    enc_list(&d->m, 2);
    message(&d->m, false, their_clock(d, ended));
    message(&d->m, true, their_clock(d, ended) - 1000);
    enc_nil(&d->m);
    feed(d, at);
    return (int64_t)(at - ended);
}

static void question(struct day *d)
{
    uint64_t sent = our_clock(d, d->now), was = d->now;

    d->now += delay();
    int64_t native = START_NATIVE + their_clock(d, d->now);
    uint64_t at = arrival(d);
    stream_round_trip(d->s, sent, native, our_clock(d, at));
    d->now = was;
}

/* Time advances when nothing arrives. */
static void push_on(struct day *d)
{
    uint64_t target;

    if (d->live && stream_now(d->s, our_clock(d, d->came), &target)) {
        assert_true(target >= d->target_ns);
        d->target_ns = target;
        if (target > SETTLE_NS && target - SETTLE_NS > core_now(d->core))
            core_advance(d->core, target - SETTLE_NS);
    }
}

/* Handles what arrived, as the engine does. */
static void take(struct day *d)
{
    const void *p;
    size_t n = ring_peek(d->ring, &p);

    core_feed(d->core, p, n);
    ring_consume(d->ring, n);
    push_on(d);
    assert_true(core_now(d->core) >= d->core_ns);
    d->core_ns = core_now(d->core);
}

/* Checks every 100 ms; there is never a verdict. */
static void look(struct day *d)
{
    struct stream_figures f;

    if (d->now < d->came) /* suspended, or not yet started */
        return;
    stream_figures(d->s, &f);
    struct guard_sample l = {.now_ns = our_clock(d, d->now),
                             .ring_lost = ring_lost(d->ring),
                             .batches = f.batches,
                             .lag_ns = f.lag_ns > 0 ? (uint64_t)f.lag_ns : 0};
    enum guard_verdict v = guard_sample(&d->guard, &l);
    if (v != GUARD_FINE)
        fail_msg("%.1f s after a step the guard says %d: age %.3f s",
                 (double)(d->now - d->stepped) / 1e9, (int)v, (double)f.lag_ns / 1e9);
}

static void check_age(struct day *d, int64_t age)
{
    struct stream_figures f;

    stream_figures(d->s, &f);
    int64_t off = f.lag_ns - age;
    off = off < 0 ? -off : off;
    d->events++;
    if (d->now < d->stepped + AFTER_STEP)
        return;
    d->worst = off > d->worst ? off : d->worst;
    d->wrong += off > AGE_WITHIN;
    if (d->live) /* core's time is the time of the events: windows advance */
        assert_true(f.last_event_ns + SEC > core_now(d->core));
}

/* Our clock jumps forward: the node was stopped for this time. It never goes back. Suspended: we do
 * not run, and messages wait. */
static const struct {
    int64_t theirs, ours;
    uint64_t asleep;
} steps[] = {{(int64_t)SEC, 0, 0},       {-(int64_t)SEC, 0, 0}, {(int64_t)HOUR, 0, 0},
             {-(int64_t)HOUR, 0, 0},     {0, (int64_t)SEC, 0},  {0, (int64_t)HOUR, 0},
             {0, 300 * (int64_t)SEC, 0}, {0, 0, 25 * SEC}};

static void step(struct day *d)
{
    d->theirs += steps[d->steps % 8].theirs;
    d->ours += steps[d->steps % 8].ours;
    d->stepped = d->came = d->now + steps[d->steps++ % 8].asleep;
    push_on(d); /* resumed, before anything is read */
}

static bool precise(const struct day *d)
{
    struct stream_figures f;

    stream_figures(d->s, &f);
    return clock_reading_precise(&f.clock);
}

/* Half a second: a heartbeat, two batches, and a question in every fourth, or if the offset is
 * uncertain (engine/control asks even more often). step_at: the number of
 * the part before which a clock steps. */
static void half_second(struct day *d, unsigned i, int step_at)
{
    uint64_t begun = d->now;

    if (step_at == 0)
        step(d);
    heartbeat(d);
    take(d);
    for (int k = 1; k <= 5; k++) {
        d->now = begun + (uint64_t)k * LOOKS_EACH - LOOKS_EACH / 2;
        if (k == step_at)
            step(d);
        if (k % 2 == 0) {
            check_age(d, batch(d));
            take(d);
        }
        if (k == 3 && d->live && (i % 4 == 0 || !precise(d))) {
            question(d);
            take(d);
        }
        look(d);
    }
    d->now = begun + SEC / 2;
}

static void check_day(struct day *d)
{
    struct stream_figures f;
    struct snapshot *s = core_snapshot(d->core, WINDOW_RUN, 0);

    stream_figures(d->s, &f);
    print_message("%s, %+.0f ppm: age wrong by at most %.0f us, drift %+.2f ppm, error %.0f us\n",
                  d->live ? "live" : "recorded", d->ppm, (double)d->worst / 1e3,
                  f.clock.drift * 1e6, f.clock.error_ns / 1e3);
    assert_int_equal(d->wrong, 0);
    assert_int_equal(f.bad_events, 0);
    assert_int_equal(f.missing_batches, 0);
    assert_int_equal(ring_lost(d->ring), 0);
    assert_true(s->gap_s == 0);
    assert_int_equal(s->n_gaps, 0);
    assert_int_equal(s->calls.received, d->events);
    assert_int_equal(s->calls.aggregated, d->events);
    snapshot_free(s);
    assert_int_equal(f.clock.bounded, d->live);
    assert_true(f.clock.drift_known);
    assert_true(fabs(f.clock.drift * 1e6 - d->ppm) < 2);
    assert_true(f.clock.error_ns < 5e6);
}

static void a_day(bool live, double ppm, bool with_steps)
{
    struct day *d = day_new(live, ppm);
    uint64_t begun = d->now;

    d->stepped = d->now;
    half_second(d, 1, -1);
    uint64_t core_begun = d->core_ns;
    uint64_t length = rng_full_size() ? DAY : DAY / 12;
    for (unsigned i = 1; d->now - begun < length; i++)
        half_second(d, i, with_steps && i % 4000 == 0 ? (int)rng_below(6) : -1);
    /* The session's time neither jumped nor stopped. */
    int64_t off = (int64_t)(d->core_ns - core_begun) - (int64_t)(d->now - begun);
    if (off > 60 * (int64_t)SEC || off < -60 * (int64_t)SEC)
        fail_msg("the day of the session is %.0f s too long", (double)off / 1e9);
    check_day(d);
    day_free(d);
}

static void live_slow(void **state)
{
    (void)state;
    a_day(true, -100, false);
}

static void live_fast_with_steps(void **state)
{
    (void)state;
    a_day(true, 100, true);
}

static void live_slow_with_steps(void **state)
{
    (void)state;
    a_day(true, -100, true);
}

static void recorded_slow(void **state)
{
    (void)state;
    a_day(false, -100, false);
}

static void recorded_fast(void **state)
{
    (void)state;
    a_day(false, 100, false);
}

static void recorded_with_steps(void **state)
{
    (void)state;
    a_day(false, -100, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_slow),
        cmocka_unit_test(live_fast_with_steps),
        cmocka_unit_test(live_slow_with_steps),
        cmocka_unit_test(recorded_slow),
        cmocka_unit_test(recorded_fast),
        cmocka_unit_test(recorded_with_steps),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
