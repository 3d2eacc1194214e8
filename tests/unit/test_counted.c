/* Calls that were only counted: their window, and the values of a row that they change. */
#include "core_fixture.h"

#include <core/counted.h>
#include <stdlib.h>

#define SEC UINT64_C(1000000000)

static struct event counted_ev(double ms, uint16_t tier, uint64_t calls)
{
    return (struct event){
        .ts_ns = T0 + (uint64_t)(ms * 1e6), .kind = EVENT_COUNTED, .tier = tier, .label = calls};
}

/* A message from the stream: its head, then the tiers. It covers half a second. */
static void tell(struct fix *f, double ms, uint64_t e, uint64_t a)
{
    feed(f, counted_ev(ms, UINT16_MAX, 500 * MS));
    feed(f, counted_ev(ms, E, e));
    if (a)
        feed(f, counted_ev(ms, A, a));
}

static struct snapshot *look(struct fix *f, enum window w)
{
    struct snapshot *s = core_snapshot(f->c, w, 0);
    assert_true(snapshot_conserves(s));
    return s;
}

static void rates_go_on(void **state)
{
    (void)state;
    struct fix f = fix();
    for (int i = 0; i < 10; i++) {
        call(&f, i, P1, 100u + (unsigned)i, E, M0);
        ret(&f, i + 0.5, P1, M0);
    }
    until(&f, 1500);
    feed(&f, (struct event){.ts_ns = T0, .kind = EVENT_GAP, .ident = GAP_NONE});
    feed(&f, (struct event){.ts_ns = T0 + 1500 * MS, .kind = EVENT_GAP, .ident = GAP_OVERLOAD});
    for (int i = 0; i < 4; i++) /* 2000, 2500, 3000, 3500: two seconds of the gap are covered */
        tell(&f, 2000 + 500 * i, 50, 20);
    until(&f, 4000);

    struct snap_row e = row(&f, E, NULL), a = row(&f, A, NULL), t = row(&f, TIER_TOTAL, NULL);
    assert_int_equal(e.count, 10);
    assert_int_equal(e.est_count, 10);
    assert_int_equal(e.counted, 200);
    expect_near(e.rate, 210 / 3.5); /* 1.5 s were traced, 2 s counted, 0.5 s neither */
    expect_ms(e.mean_us, 0.5);      /* of the traced calls only */
    expect_ms(e.max_us, 0.5);
    assert_int_equal(a.count, 0);
    assert_int_equal(a.counted, 80);
    expect_near(a.rate, 80 / 3.5);
    expect_near(a.mean_us, 0);
    assert_int_equal(t.counted, 200); /* a request counts as a call of the entry */
    assert_int_equal(row(&f, E, "undefined").counted, 0);
    EXPECT_CALLS(&f, 10, 10, 0, 0, 0);
    core_set_entry(f.c, TIER_NONE);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).counted, 280);
    core_tier_remove(f.c, A);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).counted, 200);
    core_zero(f.c);
    assert_int_equal(row(&f, E, NULL).counted, 0);
    done(&f);
}

static void windows_have_their_part(void **state)
{
    (void)state;
    struct fix f = fix();
    until(&f, 0);
    tell(&f, 1700, 10, 0);
    tell(&f, 2200, 50, 0); /* 1.7 to 2.2: 30 of second 1, 20 of second 2 */
    until(&f, 2500);
    assert_int_equal(row_in(&f, WINDOW_1S, E, NULL).counted, 40);
    until(&f, 3500);
    assert_int_equal(row_in(&f, WINDOW_1S, E, NULL).counted, 20);
    assert_int_equal(row_in(&f, WINDOW_10S, E, NULL).counted, 60);
    until(&f, 4500);
    struct snapshot *s = look(&f, WINDOW_1S);
    expect_near(s->counted_s, 0);
    snapshot_free(s);
    s = look(&f, WINDOW_10S);
    expect_near(s->counted_s, 1);
    snapshot_free(s);
    until(&f, 60000);
    assert_int_equal(row_in(&f, WINDOW_10S, E, NULL).counted, 0);
    assert_int_equal(row_in(&f, WINDOW_5M, E, NULL).counted, 60);
    struct view_query history = {.window = WINDOW_1S, .length_s = 1, .end_s = 2};
    s = core_view(f.c, &history, 0);
    expect_near(s->counted_s, 0.8);
    assert_int_equal(s->rows[0].counted, 40);
    snapshot_free(s);
    /* nothing was called, but nothing was traced */
    feed(&f, counted_ev(60100, UINT16_MAX, 50 * MS));
    s = look(&f, WINDOW_10S);
    expect_near(s->counted_s, 0.05);
    snapshot_free(s);
    /* an unknown tier is ignored */
    feed(&f, counted_ev(60200, 63, 5));
    feed(&f, counted_ev(60200, 200, 5));
    EXPECT_CALLS(&f, 0, 0, 0, 0, 0);
    done(&f);
}

/* Random messages: each window has the sum of its seconds, whatever was removed of older ones. */
static void sums_are_exact(void **state)
{
    (void)state;
    unsigned seed = 20261121u;
    enum { SECONDS = 3000, TIERS_USED = 24 };
    static uint64_t calls[SECONDS + 1][TIERS_USED];
    struct counted c = {0};
    uint64_t all = 0;

    print_message("seed %u\n", seed);
    for (uint64_t half = 2; half < 2 * SECONDS; half++) {
        /* at whole and half seconds: a message counts for the second that ends, or begins */
        struct event ev = {.ts_ns = half * SEC / 2, .tier = UINT16_MAX, .label = SEC / 2};
        counted_add(&c, 0, &ev);
        for (uint16_t t = 0; t < TIERS_USED; t++) {
            uint64_t n = (uint64_t)rand_r(&seed) % 1000;
            ev = (struct event){.ts_ns = half * SEC / 2, .tier = t, .label = n};
            counted_add(&c, 0, &ev);
            calls[half % 2 ? half / 2 : half / 2 - 1][t] += n;
            all += n;
        }
        assert_true(c.n <= COUNTED_MOST && c.cap <= COUNTED_MOST);
    }
    uint64_t kept = COUNTED_MOST / (TIERS_USED + 1) - 2, sum = 0;
    for (int i = 0; i < 200; i++) {
        uint64_t from = SECONDS - kept + (uint64_t)rand_r(&seed) % kept,
                 to = from + (uint64_t)rand_r(&seed) % (SECONDS + 1 - from);
        struct counted_sums got;
        counted_read(&c, from, to, &got);
        assert_int_equal(got.covered_ns, (to - from) * SEC);
        for (uint16_t t = 0; t < TIERS_USED; t++) {
            uint64_t want = 0;
            for (uint64_t s = from; s < to; s++)
                want += calls[s][t];
            assert_int_equal(got.calls[t], want);
        }
    }
    for (uint16_t t = 0; t < TIERS_USED; t++)
        sum += c.run.calls[t];
    assert_int_equal(sum, all);
    counted_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_go_on),
        cmocka_unit_test(windows_have_their_part),
        cmocka_unit_test(sums_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
