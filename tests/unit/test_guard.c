/* The guard: each reason separately, and a property test with random values. */
#include "rng.h"

#include <kprof/core/guard.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

/* The first verdict within n checks, one every 100 ms; *took: the time until then. */
static enum guard_verdict watch(struct guard *g, struct guard_sample *l, int looks, uint64_t cpu_ns,
                                uint64_t lag_ns, uint64_t lost, uint64_t *took)
{
    uint64_t begun = l->now_ns;

    l->lag_ns = lag_ns;
    for (int i = 0; i < looks; i++) {
        l->now_ns += 100 * MS;
        l->batches++;
        l->cpu_ns += cpu_ns;
        l->ring_lost += lost;
        enum guard_verdict v = guard_sample(g, l);
        *took = l->now_ns - begun;
        if (v != GUARD_FINE)
            return v;
    }
    return GUARD_FINE;
}

static void each_reason(void **state)
{
    struct guard g;
    struct guard_sample l = {.now_ns = 50 * S, .ring_lost = 7};
    uint64_t took;

    (void)state;
    guard_init(&g, S);
    assert_int_equal(guard_sample(&g, &l), GUARD_FINE); /* events lost earlier do not count */
    assert_int_equal(watch(&g, &l, 300, 89 * MS, S, 0, &took), GUARD_FINE);
    assert_int_equal(watch(&g, &l, 20, 0, S + 1, 0, &took), GUARD_FINE); /* not for long enough */
    assert_int_equal(watch(&g, &l, 1, 0, S, 0, &took), GUARD_FINE);
    assert_int_equal(watch(&g, &l, 20, 0, S + 1, 0, &took), GUARD_FINE);
    assert_int_equal(watch(&g, &l, 2, 0, S + 1, 0, &took), GUARD_LAG);
    guard_init(&g, 0); /* no limit of age */
    guard_sample(&g, &l);
    assert_int_equal(watch(&g, &l, 100, 0, 100 * S, 0, &took), GUARD_FINE);
    assert_int_equal(watch(&g, &l, 1, 0, 0, 1, &took), GUARD_RING);
    guard_init(&g, S);
    guard_sample(&g, &l);
    assert_int_equal(watch(&g, &l, 100, 95 * MS, 0, 0, &took), GUARD_CPU);
    assert_int_equal(took, GUARD_CPU_HOLD_NS);
}

static void asks_once(void **state)
{
    struct guard g;
    struct guard_sample l = {.now_ns = S};
    uint64_t took;

    (void)state;
    guard_init(&g, S);
    guard_sample(&g, &l);
    assert_int_equal(watch(&g, &l, 1, 0, 0, 5, &took), GUARD_RING);
    assert_int_equal(watch(&g, &l, 20, 0, 0, 5, &took),
                     GUARD_FINE); /* the request to stop is made */
    l.breaker_open = true;
    assert_int_equal(watch(&g, &l, 200, 100 * MS, 9 * S, 5, &took), GUARD_FINE);
    l.breaker_open = false; /* half open: old and lost events of the past do not count */
    assert_int_equal(watch(&g, &l, 1, 0, 9 * S, 5, &took), GUARD_FINE);
    assert_int_equal(watch(&g, &l, 1, 0, 0, 5, &took), GUARD_RING);
    assert_int_equal(watch(&g, &l, 300, 0, 0, 5, &took),
                     GUARD_RING); /* the request had no effect */
    assert_int_equal(took, GUARD_AGAIN_NS + 100 * MS);
}

/* ^Z: events that waited in the meantime are old, but not because of the node. */
static void after_a_stop(void **state)
{
    struct guard g;
    struct guard_sample l = {.now_ns = S};
    uint64_t took;

    (void)state;
    guard_init(&g, S);
    guard_sample(&g, &l);
    assert_int_equal(watch(&g, &l, 15, 0, 5 * S, 0, &took), GUARD_FINE);
    l.now_ns += 20 * S;
    assert_int_equal(watch(&g, &l, 15, 0, 20 * S, 3, &took),
                     GUARD_RING); /* from the second check */
    assert_int_equal(took, 200 * MS);
}

/* Random values: between two verdicts the breaker opens, or GUARD_AGAIN_NS pass; no verdict while
 * it is open, or if all values are within their limits. */
static void any_looks(void **state)
{
    (void)state;
    for (int round = 0; round < 400; round++) {
        struct guard g;
        struct guard_sample l = {.now_ns = rng_below(100 * S)};
        bool fine = round % 4 == 0, first = true, opened = false;
        uint64_t last = 0;
        guard_init(&g, S);
        for (int i = 0; i < 2000; i++) {
            uint64_t step = rng_below(50) ? 1 + rng_below(200 * MS) : rng_below(10 * S);
            l.now_ns += step;
            l.batches += rng_below(3);
            l.lag_ns = rng_below(fine ? S + 1 : 3 * S);
            l.cpu_ns += step / 100 * rng_below(fine ? GUARD_CPU_PERCENT : 150);
            l.ring_lost += fine || rng_below(30) ? 0 : rng_below(100);
            if (rng_below(20) == 0)
                l.breaker_open = !l.breaker_open;
            enum guard_verdict v = guard_sample(&g, &l);
            opened |= l.breaker_open;
            if (v == GUARD_FINE)
                continue;
            assert_false(fine);
            assert_false(l.breaker_open);
            assert_true(first || opened || l.now_ns - last >= GUARD_AGAIN_NS);
            first = opened = false;
            last = l.now_ns;
        }
    }
}

/* The limit changes: an age above the old limit no longer counts; a request that was made is still
 * pending. */
static void another_limit(void **state)
{
    struct guard g;
    struct guard_sample l = {.now_ns = 50 * S};
    uint64_t took;

    (void)state;
    guard_init(&g, S);
    guard_sample(&g, &l);
    assert_int_equal(watch(&g, &l, 15, 0, 2 * S, 0, &took), GUARD_FINE);
    guard_limit(&g, 3 * S);
    assert_int_equal(watch(&g, &l, 100, 0, 2 * S, 0, &took), GUARD_FINE);
    guard_limit(&g, S);
    assert_int_equal(watch(&g, &l, 20, 0, 2 * S, 0, &took), GUARD_FINE);
    assert_int_equal(watch(&g, &l, 1, 0, 2 * S, 0, &took), GUARD_LAG);
    guard_limit(&g, 2 * S - 1);
    assert_int_equal(watch(&g, &l, 100, 0, 2 * S, 0, &took), GUARD_FINE); /* already requested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason), cmocka_unit_test(another_limit),
        cmocka_unit_test(asks_once),   cmocka_unit_test(after_a_stop),
        cmocka_unit_test(any_looks),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
