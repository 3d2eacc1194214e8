/* Events that arrive late: a live session and the replay of its recording show the same. */
#include "agent_terms.h"
#include "core_test.h"

#include <engine/recording_meta.h>
#include <engine/wall_clock.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/record.h>

#define MS          UINT64_C(1000000)
#define BEGIN       (100000 * MS) /* in these tests, node and kprof-top have the same clock */
#define CALLED_MS   200
#define RETURNED_MS 240
#define LABEL       (EVENT_LABEL_DETAIL | UINT64_C(7) << 32 | 1)

/* A live session that is recorded. */
struct live {
    struct engine *g;
    struct recorder *r;
    char path[40];
    uint64_t now_ms; /* since BEGIN */
};

static uint64_t at_ns(uint64_t ms)
{
    return BEGIN + ms * MS;
}

static struct engine *new_engine(void)
{
    static const struct settings settings;
    static const struct engine_hooks hooks;
    struct err e;
    struct engine *g = engine_new(&settings, &hooks, &e);

    assert_non_null(g);
    return g;
}

static struct recording_meta meta(void)
{
    struct recording_meta m = {.units_per_s = 1000000000, .sample = 1};
    struct tier *t = &m.tiers.tier[0];

    snprintf(m.node, sizeof m.node, "a@b");
    snprintf(m.otp, sizeof m.otp, "27");
    snprintf(t->name, sizeof t->name, "request");
    snprintf(t->mfa, sizeof t->mfa, "web:handle/1");
    t->active = true;
    snprintf(t[1].name, sizeof t[1].name, "audit");
    snprintf(t[1].mfa, sizeof t[1].mfa, "audit:handle/1");
    t[1].active = true;
    m.tiers.n = 2;
    m.tiers.returns = RETURNS_LEAN;
    return m;
}

static struct live begin(void)
{
    struct live l = {.g = new_engine(), .path = "/tmp/kprof-late.XXXXXX"};
    struct recording_meta m = meta();
    struct err e;
    struct buf b;

    int fd = mkstemp(l.path);
    assert_true(fd >= 0);
    close(fd);
    unlink(l.path); /* a recording is never overwritten */
    l.r = recorder_open(l.path, &e);
    assert_non_null(l.r);
    buf_init(&b, 0);
    recording_meta_write(&m, &b);
    recorder_connect(l.r, BEGIN, 0, m.units_per_s);
    recorder_write(l.r, RECORD_META, BEGIN, b.data, b.len);
    buf_release(&b);
    stream_clock(l.g->stream, 0, m.units_per_s);
    for (int i = 0; i < 2; i++)
        core_tier_add(l.g->core, m.tiers.tier[i].name, m.tiers.tier[i].mfa);
    core_set_entry(l.g->core, 0);
    core_set_returns(l.g->core, RETURNS_LEAN);
    core_set_release(l.g->core, m.otp);
    stream_round_trip(l.g->stream, BEGIN, (int64_t)BEGIN, BEGIN);
    recorder_round_trip(l.r, BEGIN, (int64_t)BEGIN, BEGIN);
    return l;
}

/* The core thread, until this time: it looks for events every 50 ms. */
static void poll_until(struct live *l, uint64_t ms)
{
    const void *ready;
    size_t n;

    for (; l->now_ms <= ms; l->now_ms += 50) {
        while ((n = ring_peek(l->g->ring, &ready)) > 0) {
            core_feed(l->g->core, ready, n);
            ring_consume(l->g->ring, n);
        }
        wall_clock_advance(l->g, at_ns(l->now_ms));
    }
}

/* The reader thread: the frame arrives now. */
static void arrive(struct live *l, char kind, struct buf *b)
{
    struct etf rest;
    uint64_t ref, now_ns = at_ns(l->now_ms);

    assert_int_not_equal(stream_feed(l->g->stream, b->data, b->len, now_ns, &rest, &ref),
                         STREAM_BAD);
    recorder_write(l->r, kind, now_ns, b->data, b->len);
    buf_release(b);
    l->now_ms++;
}

static void message(struct buf *b, uint32_t arity, const char *name)
{
    buf_init(b, 0);
    enc_version(b);
    enc_tuple(b, arity);
    enc_atom(b, name);
}

static void head_of(struct buf *b, uint32_t pid, uint32_t arity, const char *kind)
{
    enc_tuple(b, arity);
    enc_atom(b, "trace_ts");
    agent_pid(b, "a@b", pid, 3);
    enc_atom(b, kind);
}

static void beat(struct live *l, uint64_t ms)
{
    struct buf b;

    message(&b, 3, "kh");
    enc_u64(&b, at_ns(ms));
    enc_map(&b, 1);
    enc_atom(&b, "gap");
    enc_u64(&b, GAP_NONE);
    arrive(l, RECORD_EVENTS, &b);
}

static void details(struct buf *b, uint64_t seq, uint32_t n)
{
    message(b, 4, "kd");
    enc_u64(b, seq);
    enc_u64(b, 0);
    enc_list(b, n);
}

static void head(struct buf *b, uint32_t arity, const char *kind)
{
    head_of(b, 42, arity, kind);
}

/* About m:f/0. */
static void detail(struct buf *b, const char *kind, uint64_t n, uint64_t ms)
{
    head(b, 6, kind);
    agent_mfa(b, "m", "f", 0);
    enc_u64(b, n);
    enc_u64(b, at_ns(ms));
}

static void arrive_details(struct live *l, struct buf *b)
{
    enc_nil(b);
    arrive(l, RECORD_DETAIL, b);
}

/* The request was interrupted for 10 ms in m:f/0. */
static void interrupted(struct live *l)
{
    struct buf b;

    details(&b, 1, 2);
    detail(&b, "in", 1, CALLED_MS + 20);
    detail(&b, "out", 1, CALLED_MS + 10);
    arrive_details(l, &b);
}

static void request(struct live *l)
{
    struct buf b;

    message(&b, 5, "kb");
    enc_u64(&b, 1);
    enc_u64(&b, 0);
    enc_u64(&b, 1);
    enc_list(&b, 2);
    head(&b, 5, "return_to");
    agent_mfa(&b, "caller", "f", 0);
    enc_u64(&b, at_ns(RETURNED_MS));
    head(&b, 6, "call");
    agent_mfa(&b, "web", "handle", 1);
    enc_tuple(&b, 5);
    enc_u64(&b, 0);
    enc_u64(&b, LABEL);
    agent_mfa(&b, "caller", "f", 0);
    enc_atom(&b, "undefined");
    enc_atom(&b, "entry");
    enc_u64(&b, at_ns(CALLED_MS));
    enc_nil(&b);
    arrive(l, RECORD_EVENTS, &b);
}

/* m:f/0 waits for no messages: the agent has found out just after the request. */
static void told(struct live *l)
{
    struct buf b;

    details(&b, 2, 1);
    detail(&b, "receives", 0, RETURNED_MS + 5);
    arrive_details(l, &b);
}

static void expect_parts(struct engine *g)
{
    struct snapshot *s = core_snapshot(g->core, WINDOW_RUN, 0);
    const struct time_part_view *v = NULL;

    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == 0 && s->rows[i].parts)
            v = s->rows[i].parts;
    assert_non_null(v);
    assert_int_equal(v->calls, 1);
    assert_int_equal((int)v->mean_us[PART_UNKNOWN], 0);
    assert_int_equal((int)v->mean_us[PART_RUN_QUEUE], 10000);
    snapshot_free(s);
}

/* The live session, and the replay of its recording. */
static void expect_the_same(struct live *l, void (*expect)(struct engine *g))
{
    struct engine *g = new_engine();
    struct err e;

    expect(l->g);
    engine_free(l->g);
    assert_int_equal(recorder_close(l->r, &e), 0);
    assert_int_equal(engine_replay(g, l->path, &e), 0);
    while (engine_state(g) != ENGINE_REPLAYED)
        engine_poll(g);
    assert_null(engine_replay_trouble(g));
    expect(g);
    engine_free(g);
    unlink(l->path);
}

/* The frames of the request arrive at the first of these times, the last one at the second. */
static void expect_parts_if_late(uint64_t request_ms, uint64_t told_ms)
{
    struct live l = begin();

    beat(&l, 0);
    poll_until(&l, request_ms);
    interrupted(&l);
    request(&l);
    poll_until(&l, told_ms);
    told(&l);
    beat(&l, 500);
    poll_until(&l, 950);
    beat(&l, 1000);
    poll_until(&l, 1000);
    expect_the_same(&l, expect_parts);
}

/* The request ends at once; the next frame waits on its way to kprof-top. */
static void the_last_frame_is_late(void **state)
{
    (void)state;
    expect_parts_if_late(250, 550);
}

/* All frames wait, and arrive at the same time. */
static void all_frames_are_late(void **state)
{
    (void)state;
    expect_parts_if_late(650, 650);
}

/* The server takes the message of the request out of its long queue. */
static void server_call(struct live *l, uint64_t called_ms)
{
    struct buf b;

    message(&b, 5, "kb");
    enc_u64(&b, 2);
    enc_u64(&b, 0);
    enc_u64(&b, 64);
    enc_list(&b, 2);
    head_of(&b, 43, 5, "return_to");
    agent_mfa(&b, "gen_server", "loop", 7);
    enc_u64(&b, at_ns(called_ms + 10));
    head_of(&b, 43, 6, "call");
    agent_mfa(&b, "audit", "handle", 1);
    enc_tuple(&b, 3);
    enc_u64(&b, 1);
    enc_u64(&b, LABEL);
    agent_mfa(&b, "gen_server", "loop", 7);
    enc_u64(&b, at_ns(called_ms));
    enc_nil(&b);
    arrive(l, RECORD_EVENTS, &b);
}

static void expect_late(struct engine *g)
{
    struct snapshot *s = core_snapshot(g->core, WINDOW_RUN, 0);
    bool found = false;

    assert_int_equal(s->calls.aggregated, 2);
    assert_int_equal(s->calls.unattributed, 0);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        if (r->tier != 1 || r->ident)
            continue;
        found = true;
        assert_int_equal(r->count, 1);
        assert_int_equal(r->late, 1);
        assert_int_equal(r->est_count, 1); /* the request was sampled at 1/1 */
    }
    assert_true(found);
    snapshot_free(s);
}

/* The queue of a server is long: it begins 20 s after the request has ended. */
static void a_call_is_late_by_20_s(void **state)
{
    (void)state;
    struct live l = begin();

    beat(&l, 0);
    poll_until(&l, 250);
    request(&l);
    for (uint64_t ms = 500; ms <= 20000; ms += 500) {
        beat(&l, ms);
        poll_until(&l, ms + 400);
    }
    server_call(&l, 20240);
    beat(&l, 20500);
    poll_until(&l, 20950);
    beat(&l, 21000);
    poll_until(&l, 21000);
    expect_the_same(&l, expect_late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_frame_is_late),
        cmocka_unit_test(all_frames_are_late),
        cmocka_unit_test(a_call_is_late_by_20_s),
    };
    return cmocka_run_group_tests_name("late events", tests, NULL, NULL);
}
