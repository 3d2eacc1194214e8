/* Changes in the log: tiers, entry, rule, sampling, threshold, limits; each once, with its time. */
#include <engine/change_log.h>

#include <kprof/erl/enc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static struct engine *g;

static int setup(void **state)
{
    struct settings s = {.sample = 1, .max_overhead_ppm = 50000, .max_age_ns = S};
    struct engine_hooks none = {NULL};
    struct err e;
    (void)state;
    g = engine_new(&s, &none, &e);
    assert_non_null(g);
    stream_clock(g->stream, -576460752303423488, 1000000000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engine_free(g);
    return 0;
}

/* The lines since the last call, in order. */
static void expect(uint64_t now_ns, size_t from, const char *const *lines, size_t n)
{
    change_log_poll(g, now_ns);
    for (size_t i = 0; i < n && from + i < g->log.n; i++) {
        assert_string_equal(g->log.line[from + i].text, lines[i]);
        assert_true(g->log.line[from + i].wall_ns > 0);
    }
    assert_int_equal(g->log.n, from + n);
    change_log_poll(g, now_ns); /* logged once */
    assert_int_equal(g->log.n, from + n);
}

#define EXPECT(from, ...)                                                                          \
    expect(0, from, (const char *const[]){__VA_ARGS__},                                            \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void tier(const char *name, const char *mfa)
{
    struct tier_spec t;
    struct err e;
    memset(&t, 0, sizeof t);
    snprintf(t.name, sizeof t.name, "%s", name);
    snprintf(t.mfa, sizeof t.mfa, "%s", mfa);
    assert_int_equal(engine_tier_add(g, &t, &e), 0);
}

static void nothing_is_told_of_nothing(void **state)
{
    (void)state;
    expect(0, 0, NULL, 0);
}

static void tiers_entry_and_rule_are_told(void **state)
{
    struct err e;
    (void)state;
    tier("web", "my_web:handle/1");
    EXPECT(0, "tier added: web (my_web:handle/1)", "entry: web");
    tier("db", "my_db:query/2");
    tier("mail", "my_mail:send/1");
    EXPECT(2, "2 tiers added: db, mail");
    assert_int_equal(engine_entry(g, "db", &e), 0);
    assert_int_equal(engine_identity(g, "my_db:query/2 arg(1)", &e), 0);
    EXPECT(3, "entry: db", "identity rule: my_db:query/2 arg(1)");
    assert_int_equal(engine_tier_remove(g, 1, &e), 0);
    EXPECT(5, "tier removed: db (my_db:query/2)", "entry: web");
    assert_int_equal(engine_entry(g, "none", &e), 0);
    assert_int_equal(engine_identity(g, "", &e), 0);
    EXPECT(7, "entry: none", "identity rule: none");
}

static void sampling_and_threshold_are_told(void **state)
{
    struct err e;
    (void)state;
    engine_sample(g, false);
    EXPECT(0, "sampling: 1 of 2 requests");
    engine_sample(g, true);
    EXPECT(1, "sampling: every request");
    assert_int_equal(engine_slow(g, "20 ms", &e), 0);
    EXPECT(2, "slow-call threshold: 20.0ms");
    assert_int_equal(engine_slow(g, "off", &e), 0);
    EXPECT(3, "slow-call threshold: none");
    assert_int_equal(engine_slow(g, "off", &e), 0); /* not a change */
    assert_int_equal(engine_slow(g, "10", &e), -1);
    assert_string_equal(e.text, "10 has no unit: write 10ms, 10us or 10s");
    expect(0, 4, NULL, 0);
}

/* as a profile sets them */
static void limits_are_told(void **state)
{
    struct settings s;
    struct err e;
    (void)state;
    assert_int_equal(engine_settings(g, &s, &e), 0);
    s.max_overhead_ppm = 25000;
    s.max_rate = 1000;
    s.returns = RETURNS_FULL;
    assert_int_equal(engine_take_settings(g, &s, &e), 0);
    EXPECT(0, "returns: full", "limit of the overhead: 2.5 % of scheduler time",
           "limit of events per second: 1000");
    s.max_overhead_ppm = 0;
    s.max_rate = 0;
    s.max_age_ns = 2 * S;
    s.cooldown_ns = 5 * S;
    assert_int_equal(engine_take_settings(g, &s, &e), 0);
    EXPECT(3, "limit of the overhead: none", "limit of events per second: none",
           "limit of the age of an event: 2.00s", "pause of the breaker: 5.00s");
}

/* as a profile sets them */
static void what_is_measured_besides_is_told(void **state)
{
    struct settings s;
    struct err e;
    (void)state;
    assert_int_equal(engine_settings(g, &s, &e), 0);
    s.mailbox = true;
    s.detail = 20;
    assert_int_equal(engine_take_settings(g, &s, &e), 0);
    EXPECT(0, "time in mailboxes: measured", "detailed requests: 1 of 20");
    s.detail = 1;
    assert_int_equal(engine_take_settings(g, &s, &e), 0);
    EXPECT(2, "detailed requests: every request");
    s.mailbox = false;
    s.detail = 0;
    assert_int_equal(engine_take_settings(g, &s, &e), 0);
    EXPECT(3, "time in mailboxes: not measured", "detailed requests: none");
}

static void beat(uint64_t sample, uint64_t why)
{
    struct buf m;
    struct etf rest;
    uint64_t ref;
    buf_init(&m, 0);
    enc_version(&m);
    enc_tuple(&m, 3);
    enc_atom(&m, "kh");
    enc_i64(&m, 5000 - INT64_C(576460752303423488));
    enc_map(&m, 2);
    enc_atom(&m, "sample");
    enc_u64(&m, sample);
    enc_atom(&m, "sample_why");
    enc_u64(&m, why);
    assert_int_equal(stream_feed(g->stream, m.data, m.len, 1, &rest, &ref), STREAM_HEARTBEAT);
    buf_release(&m);
}

/* Consecutive automatic changes of the sampling rate are one line; later changes are another. */
static void what_the_limits_leave_is_told(void **state)
{
    (void)state;
    tier("web", "my_web:handle/1");
    change_log_poll(g, 0);
    size_t n = g->log.n;
    beat(1, SAMPLE_ASKED);
    expect(1 * S, n, NULL, 0);
    beat(4, SAMPLE_COST);
    expect(2 * S, n, (const char *const[]){"tracing 1 of 4 requests (limit 5 % of the node)"}, 1);
    beat(16, SAMPLE_COST);
    expect(5 * S, n, (const char *const[]){"tracing 1 of 16 requests (limit 5 % of the node)"}, 1);
    beat(2, SAMPLE_FLOOD);
    expect(30 * S, n + 1, (const char *const[]){"tracing 1 of 2 requests (calls arrive too fast)"},
           1);
    beat(1, SAMPLE_ASKED);
    expect(50 * S, n + 2, (const char *const[]){"tracing every request, as requested"}, 1);
    engine_sample(g, false);
    beat(2, SAMPLE_ASKED); /* by the operator */
    expect(51 * S, n + 3, (const char *const[]){"sampling: 1 of 2 requests"}, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(nothing_is_told_of_nothing),       T(tiers_entry_and_rule_are_told),
        T(sampling_and_threshold_are_told),  T(limits_are_told),
        T(what_is_measured_besides_is_told), T(what_the_limits_leave_is_told),
    };
    return cmocka_run_group_tests_name("change log", tests, NULL, NULL);
}
