/* The parts of the calls of rows: against a plain computation. KPROF_SEED=n repeats a run. */
#include "rng.h"

#include <core/part_sums.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CALLS = 3000, TIERS = 3, IDENTS = 3 };

static struct part_sums_call calls[CALLS];
static struct part_sums s;

static int setup(void **state)
{
    (void)state;
    part_sums_init(&s);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    part_sums_release(&s);
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint64_t took(const struct part_sums_call *c)
{
    uint64_t ns = 0;
    for (int p = 0; p < PART_COUNT; p++)
        ns += c->parts.ns[p];
    return ns;
}

static void near(double a, double b)
{
    if (fabs(a - b) > 1e-6 + 1e-9 * fabs(b))
        fail_msg("%.9f, expected %.9f", a, b);
}

/* The slowest 1 %. Of calls with the same duration, the oldest count. */
static void check_slowest(const struct part_sums_call **of, size_t n, double limit,
                          const struct time_part_view *v)
{
    size_t most = (n + 99) / 100, above = 0;
    double all = 0, slow = 0;

    near(v->slow_from_us, limit / 1e3);
    for (int p = 0; p < PART_COUNT; p++)
        all += v->slow_share[p];
    near(all, 1);
    for (size_t i = 0; i < n; i++)
        if ((double)took(of[i]) > limit) {
            above++;
            slow += (double)of[i]->parts.ns[PART_WAIT] / (double)took(of[i]);
        }
    assert_true(above <= most);
    if (above == 0)
        assert_true(slow <= 0);
}

static void check_row(size_t n_calls, uint16_t tier, uint16_t ident, uint64_t from, uint64_t to)
{
    static const struct part_sums_call *of[CALLS];
    static double v[CALLS];
    struct time_part_view got;
    size_t n = 0;
    double all = 0, sum;

    for (size_t i = 0; i < n_calls; i++)
        if (calls[i].tier == tier && (ident == UINT16_MAX || calls[i].ident == ident) &&
            calls[i].end_ns >= from && calls[i].end_ns < to)
            of[n++] = &calls[i];
    assert_int_equal(part_sums_read(&s, tier, ident, &got), n > 0);
    if (n == 0)
        return;
    assert_int_equal(got.calls, n);
    for (size_t i = 0; i < n; i++)
        all += (double)took(of[i]);
    for (int p = 0; p < PART_COUNT; p++) {
        sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += v[i] = (double)of[i]->parts.ns[p];
        qsort(v, n, sizeof *v, ascending);
        near(got.mean_us[p], sum / (double)n / 1e3);
        near(got.p50_us[p], v[(n + 1) / 2 - 1] / 1e3);
        near(got.p99_us[p], v[(99 * n + 99) / 100 - 1] / 1e3);
        near(got.share[p], sum / all);
    }
    for (size_t i = 0; i < n; i++)
        v[i] = (double)took(of[i]);
    qsort(v, n, sizeof *v, ascending);
    check_slowest(of, n, v[n - (n + 99) / 100], &got);
}

static void random_call(struct part_sums_call *c, uint64_t end_ns)
{
    *c = (struct part_sums_call){
        .end_ns = end_ns, .tier = (uint16_t)rng_below(TIERS), .ident = (uint16_t)rng_below(IDENTS)};
    for (int p = 0; p < PART_COUNT; p++)
        c->parts.ns[p] = rng_below(3) ? rng_below(2) * 5000 : rng_below(100000000);
    c->parts.ns[0]++;
}

static void as_computed(void **state)
{
    (void)state;
    rng_seed();
    for (int round = 0; round < rng_rounds(20); round++) {
        size_t n = 1 + rng_below(round % 2 ? CALLS : 30);
        part_sums_clear(&s);
        for (size_t i = 0; i < n; i++) {
            random_call(&calls[i], rng_below(1000));
            part_sums_add(&s, &calls[i]);
        }
        uint64_t from = rng_below(500), to = from + rng_below(700);
        part_sums_view(&s, from, to);
        for (uint16_t t = 0; t < TIERS; t++) {
            check_row(n, t, UINT16_MAX, from, to);
            for (uint16_t i = 0; i < IDENTS; i++)
                check_row(n, t, i, from, to);
        }
    }
}

static void add(uint16_t tier, uint16_t ident, uint64_t run_ns)
{
    struct part_sums_call c = {.end_ns = 5, .tier = tier, .ident = ident};
    c.parts.ns[PART_RUN] = run_ns;
    part_sums_add(&s, &c);
}

static uint64_t calls_of(uint16_t tier, uint16_t ident)
{
    struct time_part_view v;

    part_sums_view(&s, 0, 10);
    return part_sums_read(&s, tier, ident, &v) ? v.calls : 0;
}

static void rows_that_change(void **state)
{
    (void)state;
    assert_int_equal(calls_of(0, UINT16_MAX), 0);
    add(1, 4, 10);
    add(1, 5, 10);
    add(2, 5, 10);
    part_sums_rename(&s, 5, 1);
    assert_int_equal(calls_of(1, 1), 1);
    assert_int_equal(calls_of(1, 5), 0);
    assert_int_equal(calls_of(1, UINT16_MAX), 2);
    part_sums_forget_tier(&s, 1);
    assert_int_equal(calls_of(1, UINT16_MAX), 0);
    assert_int_equal(calls_of(2, UINT16_MAX), 1);
    part_sums_clear(&s);
    assert_int_equal(calls_of(2, UINT16_MAX), 0);
}

static void the_newest_are_kept(void **state)
{
    struct time_part_view v;
    (void)state;
    for (int i = 0; i < PART_SUMS_CALLS + 10; i++)
        add(0, 0, i < 10 ? 1000000 : 1000);
    part_sums_view(&s, 0, 10);
    assert_true(part_sums_read(&s, 0, 0, &v));
    assert_int_equal(v.calls, PART_SUMS_CALLS);
    near(v.mean_us[PART_RUN], 1);
    near(v.slow_from_us, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_computed, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_change, setup, teardown),
        cmocka_unit_test_setup_teardown(the_newest_are_kept, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
