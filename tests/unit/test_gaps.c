/* Gaps, compared with an array of milliseconds; and their effect on windows and rates. */
#include "core_fixture.h"
#include "rng.h"
#include <core/gaps.h>

#include <time.h>

static uint64_t gap_ms(const struct gaps *g, double from_ms, double to_ms, enum gap_reason *most)
{
    return gaps_ns(g, T0 + (uint64_t)(from_ms * 1e6), T0 + (uint64_t)(to_ms * 1e6), most) / MS;
}

static void word(struct gaps *g, double ms, enum gap_reason r)
{
    uint64_t ns = T0 + (uint64_t)(ms * 1e6);
    gaps_report(g, ns, r, ns);
}

/* ---- by hand ---- */

static void a_gap_is_from_word_to_word(void **state)
{
    struct gaps g;
    enum gap_reason most;

    (void)state;
    gaps_init(&g);
    word(&g, 0, GAP_OFF); /* attaching is not a gap */
    word(&g, 100, GAP_NONE);
    assert_int_equal(gap_ms(&g, 0, 1000, NULL), 0);
    word(&g, 600, GAP_OVERLOAD);
    word(&g, 1100, GAP_OVERLOAD);
    assert_int_equal(gap_ms(&g, 0, 2000, &most), 1400); /* it continues */
    assert_int_equal(most, GAP_OVERLOAD);
    word(&g, 1600, GAP_NONE);
    assert_int_equal(gap_ms(&g, 0, 2000, &most), 1000);
    assert_int_equal(gap_ms(&g, 0, 1000, &most), 400); /* a part of it */
    assert_int_equal(gap_ms(&g, 1000, 1500, &most), 500);
    assert_int_equal(gap_ms(&g, 1700, 2000, &most), 0);
    assert_int_equal(most, GAP_NONE);
    word(&g, 2000, GAP_OFF);
    word(&g, 2100, GAP_LEASE);
    word(&g, 2500, GAP_NONE);
    assert_int_equal(gap_ms(&g, 1900, 3000, &most), 500);
    assert_int_equal(most, GAP_LEASE);
}

static void silence(void **state)
{
    struct gaps g;
    enum gap_reason most;

    (void)state;
    gaps_init(&g);
    word(&g, 0, GAP_NONE);
    word(&g, 2900, GAP_NONE); /* only late */
    assert_int_equal(gap_ms(&g, 0, 9000, NULL), 0);
    gaps_report(&g, T0 + 7000 * MS, GAP_NONE, T0 + 6900 * MS); /* calls arrived in the meantime */
    assert_int_equal(gap_ms(&g, 0, 9000, NULL), 0);
    gaps_report(&g, T0 + 12000 * MS, GAP_NONE, T0 + 6900 * MS); /* the node was stopped */
    assert_int_equal(gap_ms(&g, 0, 20000, &most), 5000);
    assert_int_equal(most, GAP_SILENT);
    gaps_begin(&g, T0 + 12000 * MS, GAP_SILENT); /* as it seems here ... */
    assert_int_equal(gap_ms(&g, 12000, 20000, &most), 8000);
    word(&g, 12500, GAP_NONE); /* ... but only the link was slow */
    assert_int_equal(gap_ms(&g, 12000, 20000, &most), 0);
    gaps_begin(&g, T0 + 12500 * MS, GAP_SILENT);
    gaps_begin(&g, T0 + 15000 * MS, GAP_LOST); /* the connection was lost */
    word(&g, 18000, GAP_OFF);                  /* the new session is set up: still the same gap */
    word(&g, 18300, GAP_NONE);
    assert_int_equal(gap_ms(&g, 12000, 20000, &most), 5800);
    assert_int_equal(most, GAP_LOST);
    assert_int_equal(gaps_newest(&g, 0)->reason, GAP_LOST);
    assert_int_equal(gaps_newest(&g, 1)->reason, GAP_SILENT);
    assert_null(gaps_newest(&g, 2));
}

static void zero_and_forget(void **state)
{
    struct gaps g;

    (void)state;
    gaps_init(&g);
    word(&g, 0, GAP_NONE);
    word(&g, 100, GAP_OFF);
    word(&g, 200, GAP_NONE);
    word(&g, 300, GAP_OFF);
    gaps_zero(&g, T0 + 500 * MS);
    assert_int_equal(gap_ms(&g, 0, 1000, NULL), 500);
    gaps_forget(&g, T0 + 600 * MS); /* began before */
    assert_int_equal(gap_ms(&g, 0, 1000, NULL), 500);
    gaps_forget(&g, T0 + 500 * MS);
    assert_int_equal(gap_ms(&g, 0, 1000, NULL), 0);
    word(&g, 600, GAP_NONE);
    word(&g, 700, GAP_LEASE); /* nothing is added at the end of the run */
    gaps_forget(&g, T0 + 600 * MS);
    assert_int_equal(gap_ms(&g, 0, 1000, NULL), 300);
}

/* The agent whose breaker was open, or whose lease had ended, has gone with the connection. */
static void a_lost_connection_ends_what_the_node_reported(void **state)
{
    static const enum gap_reason before[] = {GAP_OVERLOAD, GAP_LEASE};
    enum gap_reason most;

    (void)state;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct gaps g;
        gaps_init(&g);
        word(&g, 0, GAP_NONE);
        word(&g, 600, before[i]);
        gaps_begin(&g, T0 + 1000 * MS, GAP_LOST);
        word(&g, 100000, GAP_OFF); /* the setup of the next connection */
        word(&g, 100300, GAP_NONE);
        assert_int_equal(gap_ms(&g, 0, 1000, &most), 400);
        assert_int_equal(most, before[i]);
        assert_int_equal(gap_ms(&g, 1000, 200000, &most), 99300);
        assert_int_equal(most, GAP_LOST);
        assert_int_equal(gaps_newest(&g, 0)->from_ns, T0 + 1000 * MS);
    }
    struct gaps g; /* the operator switched tracing off: this remains the reason */
    gaps_init(&g);
    word(&g, 0, GAP_NONE);
    word(&g, 600, GAP_OFF);
    gaps_begin(&g, T0 + 1000 * MS, GAP_LOST);
    assert_int_equal(gap_ms(&g, 0, 5000, &most), 4400);
    assert_int_equal(most, GAP_OFF);
}

/* ---- the property ---- */

enum { SPAN = 20000 }; /* ms */

/* Random events, sometimes out of order: gaps stay ordered, separate and bounded, and the sum for a
 * range equals that of the array of milliseconds. */
static void any_words(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        static uint8_t why[SPAN];
        struct gaps g;
        uint64_t at = 0;
        enum gap_reason now = GAP_NONE;
        memset(why, 0, sizeof why);
        gaps_init(&g);
        word(&g, 0, GAP_NONE);
        while (at < SPAN) {
            uint64_t next = at + 1 + rng_below(round % 2 ? 40 : 900);
            for (uint64_t ms = at; ms < next && ms < SPAN; ms++)
                why[ms] = (uint8_t)now;
            now = (enum gap_reason)rng_below(GAP_LEASE + 1);
            word(&g, (double)next, now);
            at = next;
        }
        const struct gap *newer = NULL, *k;
        size_t n = 0;
        for (; (k = gaps_newest(&g, n)); n++, newer = k) {
            assert_true(k->from_ns < k->to_ns);
            assert_true(!newer || k->to_ns <= newer->from_ns);
        }
        assert_true(n <= GAPS_MAX);
        uint64_t oldest = n == GAPS_MAX ? (gaps_newest(&g, n - 1)->from_ns - T0) / MS : 0;
        for (int i = 0; i < 50; i++) {
            uint64_t a = oldest + rng_below(SPAN - oldest), b = a + rng_below(SPAN - a), want = 0;
            for (uint64_t ms = a; ms < b; ms++)
                want += why[ms] != GAP_NONE;
            assert_int_equal(gap_ms(&g, (double)a, (double)b, NULL), want);
        }
    }
}

/* ---- in core ---- */

static void says(struct fix *f, double ms, enum gap_reason r)
{
    feed(f, (struct event){
                .ts_ns = T0 + (uint64_t)(ms * 1e6), .kind = EVENT_GAP, .ident = (uint32_t)r});
}

static struct snap_row total(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == E && !s->rows[i].ident)
            return s->rows[i];
    fail();
    return s->rows[0];
}

/* 10 requests a second for 4 s, then 4 s of gap, then 2 s of calls: the rate is 10 a second. */
static void rates_are_of_traced_time(void **state)
{
    struct fix f = fix();
    uint64_t label = 1;

    (void)state;
    until(&f, 0);
    says(&f, 0, GAP_NONE);
    for (int ms = 50; ms < 10000; ms += 100) {
        if (ms > 4000 && ms < 8000)
            continue;
        if (ms == 8050)
            says(&f, 8000, GAP_NONE);
        call(&f, ms, P1, label++, E, M0);
        ret(&f, ms + 1, P1, M0);
        if (ms == 3950)
            says(&f, 4000, GAP_OVERLOAD);
    }
    until(&f, 9999);
    feed(&f, (struct event){.ts_ns = T0 + 9000 * MS, .kind = EVENT_MARK, .ident = f.create});
    struct snapshot *s = core_snapshot(f.c, WINDOW_10S, UINT64_C(1000000000000));
    assert_int_equal(total(s).count, 60);
    assert_true(fabs(s->gap_s - 4) < 0.01);
    assert_true(fabs(total(s).rate - 10) < 0.1);
    assert_int_equal(s->n_gaps, 1);
    assert_int_equal(s->gaps[0].reason, GAP_OVERLOAD);
    assert_true(fabs(s->gaps[0].from_s - 5.999) < 0.01 && fabs(s->gaps[0].to_s - 1.999) < 0.01);
    assert_true(fabs(snapshot_gap_s(s, 2.999, 1.999, NULL) - 1) <
                0.01); /* a whole second of the gap */
    assert_true(fabs(snapshot_gap_s(s, 2.499, 1.499, NULL) - 0.5) < 0.01);
    assert_int_equal(s->n_marks, 1);
    assert_string_equal(s->marks[0].module, "create");
    assert_true(fabs(s->marks[0].ago_s - 0.999) < 0.01);
    struct view_query history = {.length_s = 3, .end_s = s->time.now_s - 3};
    snapshot_free(s);
    s = core_view(f.c, &history, UINT64_C(1000000000000)); /* not at that time */
    assert_int_equal(s->n_gaps, 1);
    assert_int_equal(s->n_marks, 0);
    snapshot_free(s);
    done(&f);
}

/* If nothing was traced, there is no rate, not a rate of 0. */
static void no_traced_time_no_rate(void **state)
{
    struct fix f = fix();

    (void)state;
    until(&f, 0);
    says(&f, 0, GAP_NONE);
    call(&f, 10, P1, 1, E, M0);
    ret(&f, 11, P1, M0);
    says(&f, 500, GAP_OFF);
    until(&f, 20000);
    struct snapshot *s = core_snapshot(f.c, WINDOW_10S, 0);
    assert_true(fabs(s->gap_s - s->window_s) < 1e-6);
    assert_true(isnan(total(s).rate));
    snapshot_free(s);
    s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_true(fabs(total(s).rate - 2) < 0.01); /* one request in the half second */
    snapshot_free(s);
    done(&f);
}

static struct snap_row row_of(const struct snapshot *s, uint16_t tier)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == tier && !s->rows[i].ident)
            return s->rows[i];
    fail();
    return s->rows[0];
}

static struct snapshot *with_trends(struct fix *f, enum window w)
{
    struct view_query q = {.window = w, .trends = true};
    return core_view(f->c, &q, 0);
}

/* 10 requests per second from 6 s on, when their tier is set: the rate is 10 at once, not 1, then
 * 2, then 5. */
static void a_tier_counts_from_when_it_is_set(void **state)
{
    struct fix f = fix();
    uint64_t label = 1;

    (void)state;
    until(&f, 0);
    says(&f, 0, GAP_NONE);
    until(&f, 6000);
    uint16_t late = core_tier_add(f.c, "late", "m:late/1");
    core_set_entry(f.c, late);
    for (int ms = 6050; ms < 10000; ms += 100) {
        struct event ev = call_ev(ms, P1, label++, E, M0);
        ev.tier = late;
        feed(&f, ev);
        ret(&f, ms + 1, P1, M0);
        if (ms != 6550 && ms != 8050)
            continue;
        until(&f, ms + 50);
        assert_true(fabs(row_in(&f, WINDOW_10S, TIER_TOTAL, NULL).rate - 10) < 0.4);
    }
    until(&f, 10000);
    struct snapshot *s = with_trends(&f, WINDOW_10S);
    assert_true(fabs(row_of(s, late).rate - 10) < 0.1);
    assert_true(fabs(row_of(s, TIER_TOTAL).rate - 10) < 0.1);
    assert_true(row_of(s, A).rate == 0); /* it existed, but was not called */
    const float *rate = row_of(s, late).trend_rate, *total = row_of(s, TIER_TOTAL).trend_rate;
    for (size_t i = SNAP_TREND - 10; i < SNAP_TREND; i++) {
        assert_true(row_of(s, A).trend_rate[i] == 0);
        if (i < SNAP_TREND - 4)
            assert_true(isnan(rate[i]) && isnan(total[i]));
        else
            assert_true(fabsf(rate[i] - 10) < 0.01f && fabsf(total[i] - 10) < 0.01f);
    }
    snapshot_free(s);
    s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_true(fabs(row_of(s, late).rate - 10) < 0.1);
    snapshot_free(s);
    struct view_query before = {.length_s = 3, .end_s = 5}; /* it did not exist then */
    s = core_view(f.c, &before, 0);
    assert_true(isnan(row_of(s, late).rate));
    snapshot_free(s);
    done(&f);
}

/* The node confirms a new tier some time after the request. Time counts from the first
 * confirmation, or from a call seen before it. */
static void a_tier_counts_from_the_answer(void **state)
{
    struct fix f = fix();

    (void)state;
    until(&f, 0);
    says(&f, 0, GAP_NONE);
    until(&f, 2000);
    uint16_t late = core_tier_add(f.c, "late", "m:late/1");
    until(&f, 4500);
    core_tier_confirmed(f.c, late);
    until(&f, 5000);
    struct event ev = call_ev(5000, P1, 1, E, M0);
    ev.tier = late;
    core_set_entry(f.c, TIER_NONE);
    feed(&f, ev);
    ret(&f, 5001, P1, M0);
    until(&f, 6500);
    core_tier_confirmed(f.c, late); /* confirms a later, different change */
    core_tier_confirmed(f.c, 63);   /* confirms no tier */
    struct snapshot *s = with_trends(&f, WINDOW_10S);
    assert_true(fabs(row_of(s, late).rate - 0.5) < 0.01);
    /* half of second 4 counts: without calls; second 5 has one call */
    assert_true(isnan(row_of(s, late).trend_rate[SNAP_TREND - 3]));
    assert_true(row_of(s, late).trend_rate[SNAP_TREND - 2] == 0);
    assert_true(row_of(s, late).trend_rate[SNAP_TREND - 1] == 1);
    snapshot_free(s);
    done(&f);
}

/* Until the target reports that it traces, it does not, even if tracing was requested. */
static void no_rate_before_tracing_began(void **state)
{
    struct fix f = fix();

    (void)state;
    until(&f, 0);
    until(&f, 3000);
    says(&f, 3000, GAP_NONE);
    for (int i = 0; i < 20; i++) {
        call(&f, 3000 + 100 * i, P1, 1u + (unsigned)i, E, M0);
        ret(&f, 3001 + 100 * i, P1, M0);
    }
    until(&f, 5000);
    assert_true(fabs(row_in(&f, WINDOW_10S, E, NULL).rate - 10) < 0.1);
    core_zero(f.c);
    until(&f, 6000);
    assert_true(row_in(&f, WINDOW_10S, E, NULL).rate == 0);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_is_from_word_to_word),
        cmocka_unit_test(silence),
        cmocka_unit_test(zero_and_forget),
        cmocka_unit_test(a_lost_connection_ends_what_the_node_reported),
        cmocka_unit_test(any_words),
        cmocka_unit_test(rates_are_of_traced_time),
        cmocka_unit_test(no_traced_time_no_rate),
        cmocka_unit_test(a_tier_counts_from_when_it_is_set),
        cmocka_unit_test(a_tier_counts_from_the_answer),
        cmocka_unit_test(no_rate_before_tracing_began),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
