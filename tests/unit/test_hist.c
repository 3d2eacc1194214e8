#include "rng.h"

#include <kprof/base/hist.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

static double uniform(void)
{
    return (double)(rng() >> 11) / 9007199254740992.0; /* 2^53 */
}

static uint64_t dist_uniform(void)
{
    return rng() % 1000000;
}

static uint64_t dist_small(void)
{
    return rng() % 200;
}

static uint64_t dist_constant(void)
{
    return 123456789;
}

static uint64_t dist_exponential(void)
{
    return (uint64_t)(-log(1 - uniform()) * 5e6);
}

static uint64_t dist_log_uniform(void) /* 1 ns to the maximum, equally in each octave */
{
    double v = exp(uniform() * log((double)HIST_MAX_NS));
    return v >= (double)(HIST_MAX_NS - 1) ? HIST_MAX_NS - 1 : (uint64_t)v;
}

static uint64_t dist_two_peaks(void)
{
    return rng() % 100 == 0 ? 900000000 + rng() % 1000 : 20000 + rng() % 500;
}

static uint64_t dist_powers(void) /* the edges of the octaves */
{
    return ((uint64_t)1 << rng() % 48) - rng() % 2;
}

static uint64_t (*const distributions[])(void) = {
    dist_uniform,     dist_small,     dist_constant, dist_exponential,
    dist_log_uniform, dist_two_peaks, dist_powers,
};
enum { DISTRIBUTIONS = sizeof distributions / sizeof *distributions, VALUES_MAX = 20000 };

static int ascending(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void same_buckets(const struct hist *a, const struct hist *b)
{
    for (size_t i = 0; i < HIST_BUCKETS; i++)
        assert_int_equal(hist_bucket_count(a, i), hist_bucket_count(b, i));
}

/* Compares the quantiles of h with the sorted values. */
static void agrees_with(const struct hist *h, const uint64_t *sorted, size_t n)
{
    static const double q[] = {0,    0.0001, 0.001, 0.01, 0.1,   0.25,   0.5,
                               0.75, 0.9,    0.95,  0.99, 0.999, 0.9999, 1};
    enum { QS = sizeof q / sizeof *q };
    uint64_t got[QS];
    hist_quantiles(h, q, got, QS);
    for (size_t i = 0; i < QS; i++) {
        double rank = ceil(q[i] * (double)n);
        uint64_t exact = sorted[rank < 1 ? 0 : (size_t)rank - 1];
        if (fabs((double)got[i] - (double)exact) > 0.01 * (double)exact)
            fail_msg("q %g: %llu, exactly %llu", q[i], (unsigned long long)got[i],
                     (unsigned long long)exact);
        assert_int_equal(got[i], hist_quantile(h, q[i]));
        assert_in_range(got[i], h->min_ns, h->max_ns);
    }
    assert_int_equal(h->count, n);
    assert_int_equal(h->min_ns, sorted[0]);
    assert_int_equal(h->max_ns, sorted[n - 1]);
}

static void mean_and_sd_agree(const struct hist *h, const uint64_t *v, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)v[i];
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)v[i] - mean) * ((double)v[i] - mean);
    double sd = sqrt(squares / (double)n);
    assert_true(fabs(hist_mean(h) - mean) <= 1e-9 * mean);
    assert_true(fabs(hist_sd(h) - sd) <= 1e-6 * mean + 1e-6 * sd);
}

static void quantiles_are_within_one_percent(void **state)
{
    (void)state;
    static uint64_t v[VALUES_MAX];
    for (size_t round = 0; round < 10u * DISTRIBUTIONS; round++) {
        size_t n = round < DISTRIBUTIONS ? VALUES_MAX : 1 + rng() % 3000;
        struct hist h;
        hist_init(&h);
        for (size_t i = 0; i < n; i++)
            hist_add(&h, v[i] = distributions[round % DISTRIBUTIONS]());
        qsort(v, n, sizeof *v, ascending);
        agrees_with(&h, v, n);
        mean_and_sd_agree(&h, v, n);
        assert_int_equal(h.clipped, 0);
        hist_release(&h);
    }
}

static void merge_is_both(void **state)
{
    (void)state;
    for (size_t round = 0; round < 5u * DISTRIBUTIONS; round++) {
        struct hist both, a, b;
        hist_init(&both);
        hist_init(&a);
        hist_init(&b);
        for (size_t i = rng() % 2000; i > 0; i--) {
            uint64_t x = distributions[rng() % DISTRIBUTIONS]();
            hist_add(&both, x);
            hist_add(rng() % 3 ? &a : &b, x);
        }
        hist_merge(&a, &b);
        same_buckets(&a, &both);
        assert_int_equal(a.count, both.count);
        assert_int_equal(a.min_ns, both.min_ns);
        assert_int_equal(a.max_ns, both.max_ns);
        assert_true(fabs(a.sum_ns - both.sum_ns) <= 1e-9 * both.sum_ns);
        assert_true(fabs(a.sumsq_ns - both.sumsq_ns) <= 1e-9 * both.sumsq_ns);
        hist_release(&a);
        hist_release(&b);
        hist_release(&both);
    }
}

static void buckets_tile_the_line(void **state)
{
    (void)state;
    assert_int_equal(hist_bucket_low(0), 0);
    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        assert_true(hist_bucket_low(i) <= hist_bucket_high(i));
        assert_int_equal(hist_bucket_of(hist_bucket_low(i)), i);
        assert_int_equal(hist_bucket_of(hist_bucket_high(i)), i);
        if (i > 0)
            assert_int_equal(hist_bucket_low(i), hist_bucket_high(i - 1) + 1);
    }
    assert_int_equal(hist_bucket_high(HIST_BUCKETS - 1), HIST_MAX_NS - 1);
    assert_int_equal(hist_bucket_of(UINT64_MAX), HIST_BUCKETS - 1);
}

static void empty_and_odd_values(void **state)
{
    (void)state;
    struct hist h;
    hist_init(&h);
    assert_int_equal(hist_quantile(&h, 0.5), 0);
    assert_true(hist_mean(&h) == 0 && hist_sd(&h) == 0);
    assert_int_equal(hist_pack(&h, NULL, 0), 0);
    hist_add(&h, 7);
    assert_int_equal(hist_quantile(&h, NAN), 7);
    assert_int_equal(hist_quantile(&h, -3), 7);
    assert_int_equal(hist_quantile(&h, 9), 7);
    assert_true(hist_sd(&h) == 0);
    hist_add(&h, UINT64_MAX);
    hist_add(&h, HIST_MAX_NS);
    hist_add(&h, HIST_MAX_NS - 1);
    assert_int_equal(h.clipped, 2);
    assert_int_equal(h.max_ns, UINT64_MAX);
    assert_int_equal(hist_quantile(&h, 1), UINT64_MAX);
    assert_int_equal(hist_bucket_count(&h, HIST_BUCKETS - 1), 3);
    hist_clear(&h);
    assert_int_equal(h.count, 0);
    assert_int_equal(h.min_ns, UINT64_MAX);
    assert_int_equal(hist_bucket_count(&h, HIST_BUCKETS - 1), 0);
    hist_release(&h);
}

static void deviation_of_equal_values_is_zero(void **state)
{
    (void)state;
    struct hist h;
    hist_init(&h);
    for (int i = 0; i < 100000; i++)
        hist_add(&h, 3600000000001);
    assert_true(hist_sd(&h) == 0);
    hist_clear(&h);
    hist_merge_scalars(&h, 2, 2.0, 1.9, 0, 1, 0); /* rounding of sums can give a variance < 0 */
    assert_true(hist_sd(&h) == 0);
    hist_release(&h);
}

/* A counter of the packed form has 32 bits. */
static void packed_counters_saturate(void **state)
{
    (void)state;
    static const uint8_t full[] = {5, 0xff, 0xff, 0xff, 0xff, 0x0f}; /* bucket 5, UINT32_MAX */
    uint8_t out[sizeof full];
    struct hist h, other;
    hist_init(&h);
    hist_init(&other);
    assert_true(hist_unpack_add(&h, full, sizeof full));
    assert_int_equal(hist_bucket_count(&h, 5), UINT32_MAX);
    hist_add(&h, 5);
    hist_merge(&other, &h);
    hist_merge(&other, &h);
    assert_int_equal(hist_bucket_count(&other, 5), 2 * ((uint64_t)UINT32_MAX + 1));
    assert_int_equal(hist_pack(&other, out, sizeof out), sizeof full);
    assert_memory_equal(out, full, sizeof full);
    hist_merge_scalars(&h, UINT64_MAX / 2, 0, 0, 5, 9,
                       0); /* count is larger than the sum of the buckets */
    assert_int_equal(hist_quantile(&h, 0.9), 9);
    hist_release(&h);
    hist_release(&other);
}

static void a_weight_is_a_repetition(void **state)
{
    (void)state;
    struct hist h, repeated;
    hist_init(&h);
    hist_init(&repeated);
    for (int i = 0; i < 1000; i++) {
        uint64_t value = distributions[rng() % DISTRIBUTIONS](), n = rng() % 20;
        hist_add_n(&h, value, n);
        for (; n > 0; n--)
            hist_add(&repeated, value);
    }
    assert_int_equal(h.count, repeated.count);
    assert_int_equal(h.clipped, repeated.clipped);
    assert_int_equal(h.min_ns, repeated.min_ns);
    assert_int_equal(h.max_ns, repeated.max_ns);
    same_buckets(&h, &repeated);
    assert_true(fabs(hist_mean(&h) - hist_mean(&repeated)) <= 1e-9 * hist_mean(&h));
    assert_true(fabs(hist_sd(&h) - hist_sd(&repeated)) <= 1e-6 * hist_sd(&h));
    hist_release(&h);
    hist_release(&repeated);
}

static struct hist random_hist(void)
{
    struct hist h;
    hist_init(&h);
    for (size_t i = rng() % 500; i > 0; i--)
        hist_add(&h, distributions[rng() % DISTRIBUTIONS]());
    return h;
}

static void hist_codec_and_unpack(void **state)
{
    (void)state;
    static uint8_t bytes[HIST_BUCKETS * 8];
    for (int round = 0; round < 50; round++) {
        struct hist h = random_hist(), back;
        hist_init(&back);
        size_t n = hist_pack(&h, bytes, sizeof bytes);
        assert_true(n <= sizeof bytes);

        if (n > 0) { /* buffer too small: returns the size, writes nothing */
            uint8_t *small = calloc(1, n);
            assert_int_equal(hist_pack(&h, small, n - 1), n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(small[i], 0);
            assert_int_equal(hist_pack(&h, small, n), n);
            assert_memory_equal(small, bytes, n);
            free(small);
        }
        assert_true(hist_unpack_add(&back, bytes, n));
        same_buckets(&back, &h);
        hist_merge_scalars(&back, h.count, h.sum_ns, h.sumsq_ns, h.min_ns, h.max_ns, h.clipped);
        assert_int_equal(hist_quantile(&back, 0.9), hist_quantile(&h, 0.9));
        assert_true(hist_sd(&back) == hist_sd(&h));
        hist_release(&h);
        hist_release(&back);
    }
}

/* Valid data, cut at each byte, in a block of exactly this size, so that the sanitizer detects a
 * read past the end: the result is a prefix of the whole. */
static void every_truncation_survives(void **state)
{
    (void)state;
    static uint8_t bytes[HIST_BUCKETS * 8];
    struct hist h = random_hist();
    hist_add(&h, 1);
    size_t n = hist_pack(&h, bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *part = malloc(cut + 1);
        assert_non_null(part);
        memcpy(part + 1, bytes, cut); /* at the end of the block */
        struct hist back;
        hist_init(&back);
        hist_unpack_add(&back, part + 1, cut);
        for (size_t i = 0, ended = 0; i < HIST_BUCKETS; i++) {
            ended = ended || hist_bucket_count(&back, i) != hist_bucket_count(&h, i);
            assert_int_equal(hist_bucket_count(&back, i), ended ? 0 : hist_bucket_count(&h, i));
        }
        hist_release(&back);
        free(part);
    }
    hist_release(&h);
}

static void malformed_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t n;
    } bad[] = {
        {{5}, 1},                                     /* no count */
        {{5, 0}, 2},                                  /* count 0 */
        {{5, 1, 0, 1}, 4},                            /* the same bucket twice */
        {{0x80, 0x00, 1}, 3},                         /* over-long */
        {{5, 0xff, 0xff, 0xff, 0xff, 0x1f}, 6},       /* above 32 bits */
        {{5, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 7},    /* more than five bytes */
        {{0xc0, 0x15, 1}, 3},                         /* bucket 2752 = HIST_BUCKETS */
        {{0xbf, 0x15, 1, 1, 1}, 5},                   /* the last bucket, and one more */
        {{5, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1}, 8}, /* a delta that would wrap */
    };
    _Static_assert(HIST_BUCKETS == 0x15 * 128 + 0x40, "the bytes above");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hist h;
        hist_init(&h);
        assert_false(hist_unpack_add(&h, bad[i].bytes, bad[i].n));
        hist_release(&h);
    }
}

static void random_bytes_survive(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        size_t n = 1 + rng() % 40;
        uint8_t *bytes = malloc(n);
        assert_non_null(bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(rng() >> (rng() % 2 ? 8 : 57));
        struct hist h;
        hist_init(&h);
        hist_unpack_add(&h, bytes, n);
        hist_merge_scalars(&h, rng(), 1, 1, 1, 1, 0);
        hist_quantile(&h, uniform());
        hist_release(&h);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_within_one_percent),
        cmocka_unit_test(merge_is_both),
        cmocka_unit_test(buckets_tile_the_line),
        cmocka_unit_test(empty_and_odd_values),
        cmocka_unit_test(deviation_of_equal_values_is_zero),
        cmocka_unit_test(packed_counters_saturate),
        cmocka_unit_test(a_weight_is_a_repetition),
        cmocka_unit_test(hist_codec_and_unpack),
        cmocka_unit_test(every_truncation_survives),
        cmocka_unit_test(malformed_is_refused),
        cmocka_unit_test(random_bytes_survive),
    };
    rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
