/* Windows, compared with a list of all calls; packed values, compared with the originals. */
#include "rng.h"

#include <core/hist_codec.h>
#include <core/window.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEC UINT64_C(1000000000)

enum { IDENTS = 5, LIST = 1 << 18 };

static uint16_t pick(uint16_t n)
{
    return (uint16_t)rng_below(n);
}

/* ---- the model ---- */

static struct happened {
    uint64_t sec, value;
    uint16_t tier, ident;
    uint64_t weight;
    struct tally t;
} list[LIST];
static size_t listed;

static void happen(struct windows *w, uint16_t tier, uint16_t ident, uint64_t value)
{
    uint64_t weight = 1 + rng() % 3;
    struct tally t = {.late = rng() % 10 == 0,
                      .errors = rng() % 20 == 0,
                      .exits = rng() % 20 == 0,
                      .self_ns = value / 2,
                      .share_ns = value / 3,
                      .busy_ns = value % 3 ? 0 : 2 * value};

    windows_add(w, tier, ident, value, weight, &t);
    assert_true(listed < LIST);
    list[listed++] = (struct happened){w->sec, value, tier, ident, weight, t};
}

static void expect_same(const struct figures *got, const struct figures *want)
{
    static const double q[] = {0, 0.25, 0.5, 0.9, 0.99, 1};

    assert_int_equal(got->hist.count, want->hist.count);
    assert_int_equal(got->hist.min_ns, want->hist.min_ns);
    assert_int_equal(got->hist.max_ns, want->hist.max_ns);
    assert_int_equal(got->hist.clipped, want->hist.clipped);
    assert_true(got->hist.sum_ns == want->hist.sum_ns);
    double most = want->hist.sumsq_ns * 1e-12;
    assert_true(got->hist.sumsq_ns - want->hist.sumsq_ns <= most &&
                want->hist.sumsq_ns - got->hist.sumsq_ns <= most);
    assert_memory_equal(&got->tally, &want->tally, sizeof got->tally);
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        assert_int_equal(hist_quantile(&got->hist, q[i]), hist_quantile(&want->hist, q[i]));
}

/* A request was given up: only its time is added. */
static void give_up(struct windows *w, uint16_t tier, uint16_t ident, uint64_t ns)
{
    windows_add_share(w, tier, ident, ns);
    assert_true(listed < LIST);
    list[listed++] = (struct happened){.sec = w->sec, .value = ns, .tier = tier, .ident = ident};
}

static void add_to(struct figures *want, const struct happened *h)
{
    for (uint64_t n = h->weight; n > 0; n--)
        hist_add(&want->hist, h->value);
    if (h->weight == 0) {
        want->tally.share_ns += h->value;
        return;
    }
    want->tally.calls++;
    want->tally.late += h->t.late;
    want->tally.errors += h->t.errors;
    want->tally.exits += h->t.exits;
    want->tally.self_ns += h->t.self_ns * h->weight;
    want->tally.share_ns += h->t.share_ns * h->weight;
    want->tally.busy_ns += h->t.busy_ns;
}

/* The view of w has exactly the calls of the seconds [first, end). */
static void expect_view(struct windows *w, uint64_t first, uint64_t end)
{
    for (uint16_t tier = 0; tier < 3; tier++)
        for (uint16_t id = 0; id < IDENTS; id++) {
            struct figures got, want;
            figures_init(&got);
            figures_init(&want);
            if (windows_row(w, tier, id))
                windows_read(w, windows_row(w, tier, id), &got);
            for (size_t i = 0; i < listed; i++)
                if (list[i].tier == tier && list[i].ident == id && list[i].sec >= first &&
                    list[i].sec < end)
                    add_to(&want, &list[i]);
            expect_same(&got, &want);
            figures_release(&got);
            figures_release(&want);
        }
}

static void check_view(struct windows *w, enum window which, uint64_t from_s)
{
    uint64_t covered = windows_view(w, which);
    uint64_t end = which == WINDOW_1S ? w->sec : w->sec + 1; /* the current second belongs to it */
    uint64_t first = which == WINDOW_RUN ? 0 : w->sec - covered / SEC;

    assert_true(covered <= window_ns(which));
    if (from_s != UINT64_MAX && which != WINDOW_RUN)
        assert_int_equal(first, from_s);
    expect_view(w, first, end);
}

/* The oldest second of a window: as many whole steps as fit, including the current second. */
static uint64_t edge(const struct windows *w, enum window which)
{
    static const uint64_t step[] = {1, 1, 1, 10, 60, 300, 300};
    uint64_t n = window_ns(which) / SEC, most = which == WINDOW_1S ? 1 : n - 1;
    uint64_t from = w->sec > most ? w->sec - most : 0;
    from = (from + step[which] - 1) / step[which] * step[which];
    return from < w->sec ? from : w->sec;
}

/* ---- tests ---- */

static void windows_hold_what_happened(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = 7 * SEC + 123;

    windows_init(&w, IDENTS, (size_t)64 << 20);
    windows_advance(&w, now);
    listed = 0;
    for (int step = 0; step < 700; step++) {
        for (uint64_t n = rng() % 12; n > 0; n--)
            happen(&w, pick(3), pick(IDENTS), rng() % (1000 + (rng() % 5000) * (rng() % 5000)));
        if (rng() % 4 == 0)
            give_up(&w, pick(3), pick(IDENTS), rng() % (100 * SEC));
        uint64_t how = rng() % 100;
        now += how < 60   ? SEC
               : how < 90 ? SEC / 3
               : how < 98 ? rng() % (30 * SEC)
                          : rng() % (900 * SEC);
        windows_advance(&w, now);
        enum window which =
            rng() % 3 ? (enum window)(step / 100 % WINDOW_COUNT) : (enum window)pick(WINDOW_COUNT);
        check_view(&w, which, which == WINDOW_RUN ? UINT64_MAX : edge(&w, which));
    }
    assert_int_equal(w.dropped_slots, 0);
    windows_release(&w);
}

static void three_hours_are_kept(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC;

    windows_init(&w, IDENTS, (size_t)64 << 20);
    windows_advance(&w, now);
    listed = 0;
    for (int s = 0; s < 12000; s++) {
        happen(&w, 0, 0, 1000 + (uint64_t)s);
        windows_advance(&w, now += SEC);
        if (s % 1000 == 999 || s > 11990)
            for (enum window which = WINDOW_1S; which < WINDOW_RUN; which++)
                check_view(&w, which, edge(&w, which));
    }
    uint64_t covered = windows_view(&w, WINDOW_3H);
    assert_true(covered > window_ns(WINDOW_3H) - 301 * SEC);
    windows_release(&w);
}

/* The same windows up to now, with less memory, which does not grow after the first hours. Its mean
 * is compared: the size of single packed slots varies with their random weights. */
static void without_a_past(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC;
    enum { FULL_S = 3 * 3600 + 600, END_S = 6 * 3600, HALF_S = (END_S - FULL_S) / 2 };
    uint64_t bytes[2] = {0, 0}; /* sums of the two halves of the time with full windows */

    windows_init(&w, IDENTS, (size_t)64 << 20);
    windows_keep_history(&w, false);
    windows_advance(&w, now);
    listed = 0;
    for (int s = 0; s < END_S; s++) {
        happen(&w, 0, 0, 1000 + (uint64_t)s % 997);
        windows_advance(&w, now += SEC);
        if (s >= FULL_S)
            bytes[s >= FULL_S + HALF_S] += w.bytes;
        if (s % 1000 == 999)
            for (enum window which = WINDOW_1S; which < WINDOW_RUN; which++)
                check_view(&w, which, edge(&w, which));
    }
    assert_int_equal(w.dropped_slots, 0);
    assert_true(bytes[1] <= bytes[0] + bytes[0] / 50);
    uint64_t from = 16000, to = 16100;
    windows_view_past(&w, &from, &to);
    assert_int_equal(to - from, 300); /* single seconds are removed */
    windows_release(&w);
}

static void history_is_bounded(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC;

    windows_init(&w, IDENTS, 20000);
    windows_advance(&w, now);
    listed = 0;
    for (int s = 0; s < 4000; s++) {
        for (int i = 0; i < 20; i++)
            happen(&w, pick(3), pick(IDENTS), rng() % 10000000);
        windows_advance(&w, now += SEC);
        assert_true(w.bytes <= 20000);
        if (s % 400 == 0)
            check_view(&w, WINDOW_10S, edge(&w, WINDOW_10S));
    }
    assert_true(w.dropped_slots > 0);
    uint64_t covered = windows_view(&w, WINDOW_3H);
    assert_true(covered < 3600 * SEC);
    windows_release(&w);
}

static void gaps_and_jumps(void **state)
{
    (void)state;
    struct windows w;

    windows_init(&w, IDENTS, 1 << 20);
    windows_advance(&w, SEC);
    listed = 0;
    happen(&w, 1, 1, 500);
    windows_advance(&w, 100000 * SEC);
    check_view(&w, WINDOW_3H, edge(&w, WINDOW_3H));
    check_view(&w, WINDOW_RUN, UINT64_MAX);
    happen(&w, 1, 1, 600);
    windows_advance(&w, UINT64_MAX);
    check_view(&w, WINDOW_1M, edge(&w, WINDOW_1M));
    windows_advance(&w, 5); /* never backwards */
    assert_int_equal(w.now_ns, UINT64_MAX);
    windows_release(&w);
}

static void forgotten_tier_does_not_come_back(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC;

    windows_init(&w, IDENTS, 1 << 20);
    windows_advance(&w, now);
    listed = 0;
    for (int s = 0; s < 125; s++) {
        happen(&w, 1, 1, 500);
        happen(&w, 2, 1, 700);
        windows_advance(&w, now += SEC);
    }
    windows_view(&w, WINDOW_5M);
    happen(&w, 1, 1, 500); /* in the current second */
    windows_forget_tier(&w, 1);
    for (size_t i = 0; i < listed; i++)
        if (list[i].tier == 1)
            list[i].tier = 9;
    assert_null(windows_row(&w, 1, 1));
    for (int s = 0; s < 700; s++) {
        happen(&w, 1, 1, 900);
        if (s % 97 == 0)
            check_view(&w, (enum window)(s / 97 % WINDOW_RUN), UINT64_MAX);
        windows_advance(&w, now += SEC);
    }
    for (enum window which = WINDOW_1S; which < WINDOW_RUN; which++)
        check_view(&w, which, edge(&w, which));
    windows_release(&w);
}

static uint64_t all_shares(const struct windows *w)
{
    uint64_t ns = 0;

    for (uint16_t tier = 0; tier < 3; tier++)
        for (uint16_t id = 0; id < IDENTS; id++) {
            const struct row *r = windows_row(w, tier, id);
            if (r)
                ns += r->run.tally.share_ns + r->cur.tally.share_ns;
        }
    return ns;
}

/* Closing a second and folding an identity into another one lose no share. */
static void shares_are_conserved(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC, want = 0;

    windows_init(&w, IDENTS, 1 << 20);
    windows_advance(&w, now);
    for (int step = 0; step < 2000; step++) {
        uint64_t ns = rng() % (10 * SEC);
        uint16_t from = pick(IDENTS), to = pick(IDENTS);
        if (rng() % 2)
            windows_add(&w, pick(3), pick(IDENTS), ns, 1, &(struct tally){.share_ns = ns});
        else
            windows_add_share(&w, pick(3), pick(IDENTS), ns);
        want += ns;
        if (rng() % 3 == 0)
            windows_advance(&w, now += SEC);
        if (rng() % 5 == 0 && from != to)
            windows_fold_ident(&w, from, to);
        assert_int_equal(all_shares(&w), want);
    }
    windows_release(&w);
}

static void zero_begins_anew(void **state)
{
    (void)state;
    struct windows w;

    windows_init(&w, IDENTS, 1 << 20);
    windows_advance(&w, SEC);
    listed = 0;
    happen(&w, 1, 1, 500);
    windows_advance(&w, 10 * SEC + SEC / 2);
    windows_zero(&w);
    listed = 0;
    assert_int_equal(windows_view(&w, WINDOW_RUN), 0);
    happen(&w, 1, 1, 600);
    windows_advance(&w, 12 * SEC);
    assert_int_equal(windows_view(&w, WINDOW_RUN), SEC * 3 / 2);
    check_view(&w, WINDOW_10S, 0);
    windows_release(&w);
}

/* A time range of the past; returns by how many seconds it is longer than requested. */
static uint64_t check_past(struct windows *w, uint64_t from, uint64_t to)
{
    uint64_t first = from, end = to, covered = windows_view_past(w, &first, &end);

    assert_true(first <= from && end >= to);
    assert_true(covered <= (end - first) * SEC);
    expect_view(w, first, end);
    uint64_t f = from, e = to; /* the same again, from its cache */
    assert_int_equal(windows_view_past(w, &f, &e), covered);
    assert_true(f == first && e == end);
    expect_view(w, first, end);
    return from - first + (end - to);
}

/* A second with only the time of a request that was given up. */
static void a_share_without_calls(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC;

    windows_init(&w, IDENTS, 1 << 20);
    windows_advance(&w, now);
    listed = 0;
    give_up(&w, 1, 1, 60 * SEC);
    windows_advance(&w, now += SEC);
    for (enum window which = WINDOW_1S; which < WINDOW_COUNT; which++)
        check_view(&w, which, UINT64_MAX);
    happen(&w, 1, 1, 700);
    windows_advance(&w, now += 400 * SEC); /* in coarser slots */
    for (enum window which = WINDOW_1S; which < WINDOW_COUNT; which++)
        check_view(&w, which, UINT64_MAX);
    assert_int_equal(check_past(&w, 0, 300), 0);
    windows_release(&w);
}

static void any_span_of_the_past(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = 5 * SEC + 77;

    windows_init(&w, IDENTS, (size_t)64 << 20);
    windows_advance(&w, now);
    listed = 0;
    for (int step = 0; step < 900; step++) {
        for (uint64_t n = rng() % 12; n > 0; n--)
            happen(&w, pick(3), pick(IDENTS), rng() % (1000 + (rng() % 5000) * (rng() % 5000)));
        if (rng() % 4 == 0)
            give_up(&w, pick(3), pick(IDENTS), rng() % (100 * SEC));
        windows_advance(&w, now += rng() % 40 ? SEC : rng() % (150 * SEC));
        if (rng() % 4 == 0 && w.sec > 0) {
            uint64_t a = rng() % w.sec, b = rng() % w.sec;
            assert_int_equal(check_past(&w, a < b ? a : b, (a < b ? b : a) + 1), 0);
        }
        if (rng() % 9 == 0) /* and back to now */
            check_view(&w, WINDOW_1M, edge(&w, WINDOW_1M));
    }
    assert_true(w.sec < 10800);
    uint64_t from = 3, to = UINT64_MAX;
    windows_view_past(&w, &from, &to);
    expect_view(&w, 3, w.sec);
    windows_release(&w);
}

/* When single seconds are removed, a range grows to the stored steps, and its values are exact for
 * these. */
static void history_without_its_seconds(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC, stuck_out = 0;

    windows_init(&w, IDENTS, 200000);
    windows_advance(&w, now);
    listed = 0;
    for (int s = 0; s < 5000; s++) {
        for (int i = 0; i < 8; i++)
            happen(&w, pick(3), pick(IDENTS), rng() % 10000000);
        windows_advance(&w, now += SEC);
    }
    assert_true(w.dropped_slots > 0);
    for (int i = 0; i < rng_rounds(300); i++) {
        uint64_t a = w.sec - 2000 + rng() % 1900, b = a + 1 + rng() % 60;
        stuck_out += check_past(&w, a, b);
    }
    assert_true(stuck_out > 0);
    assert_int_equal(check_past(&w, w.sec - 60, w.sec), 0);
    windows_release(&w);
}

static void windows_of_any_length(void **state)
{
    (void)state;
    struct windows w;
    uint64_t now = SEC;

    windows_init(&w, IDENTS, (size_t)64 << 20);
    windows_advance(&w, now);
    listed = 0;
    for (int s = 0; s < 4000; s++) {
        happen(&w, pick(3), pick(IDENTS), rng() % 10000000);
        windows_advance(&w, now += SEC);
        if (s % 40)
            continue;
        uint64_t seconds = 1 + rng() % 5000, covered = windows_view_last(&w, seconds) / SEC;
        assert_true(covered <= seconds);
        assert_true(covered + 300 >= (seconds < w.sec ? seconds : w.sec));
        expect_view(&w, w.sec - covered, seconds == 1 ? w.sec : w.sec + 1);
    }
    windows_release(&w);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(window_name(WINDOW_1S), "1s");
    assert_string_equal(window_name(WINDOW_RUN), "run");
    assert_true(window_ns(WINDOW_3H) == 10800 * SEC);
    assert_true(window_ns(WINDOW_RUN) == UINT64_MAX);
}

/* ---- packing ---- */

static void random_figures(struct figures *f)
{
    if (rng() % 10 == 0) { /* no calls */
        f->tally.share_ns = 1 + rng() % 1000;
        return;
    }
    uint64_t n = rng() % 4 ? rng() % 300 : rng() % 3 + 1, top = UINT64_C(1) << rng() % 52;

    for (uint64_t i = 0; i < n || i == 0; i++)
        hist_add(&f->hist, rng() % top);
    if (rng() % 5 == 0) /* much in one bucket */
        for (int i = 0; i < 5000; i++)
            hist_add(&f->hist, 77);
    f->tally = (struct tally){rng() % 3 ? f->hist.count : rng(),
                              rng() % 3,
                              rng() % 3,
                              rng() % 3,
                              rng() % 2 ? (uint64_t)f->hist.sum_ns : rng(),
                              rng() % 1000,
                              rng() % 1000};
}

static void packed_is_unpacked(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(HIST_CODEC_ROW_MAX);

    for (int i = 0; i < 3000; i++) {
        struct figures f, g;
        uint32_t row = (uint32_t)rng() % 5000, seen;
        figures_init(&f);
        figures_init(&g);
        random_figures(&f);
        size_t n = hist_codec_row(row, &f, bytes);
        uint8_t *exact = malloc(n); /* so that a read past the end is detected */
        memcpy(exact, bytes, n);
        assert_true(hist_codec_peek(exact, exact + n, &seen) && seen == row);
        assert_ptr_equal(hist_codec_add(exact, exact + n, NULL, HIST_CODEC_ALL), exact + n);
        assert_ptr_equal(hist_codec_add(exact, exact + n, &g, HIST_CODEC_ALL), exact + n);
        expect_same(&g, &f);
        figures_clear(&g);
        struct figures *const into[] = {&g};
        struct hist_codec_said said;
        assert_ptr_equal(hist_codec_spread(exact, exact + n, into, 1, 0.99, &said), exact + n);
        expect_same(&g, &f);
        assert_int_equal(said.calls, f.tally.calls);
        for (size_t b = 0; b < HIST_BUCKETS; b++)
            assert_int_equal(hist_bucket_count(&f.hist, b), hist_bucket_count(&g.hist, b));
        hist_codec_add(exact, exact + n, &g, HIST_CODEC_TAKE);
        for (size_t b = 0; b < HIST_BUCKETS; b++)
            assert_int_equal(hist_bucket_count(&g.hist, b), 0);
        for (size_t cut = 0; cut < n && i % 20 == 0; cut++)
            assert_null(hist_codec_add(exact, exact + cut, &g, HIST_CODEC_ALL));
        for (int k = 0; k < 20; k++) { /* invalid data causes no crash */
            exact[rng() % n] ^= (uint8_t)(1u << rng() % 8);
            hist_codec_add(exact, exact + n, &g, HIST_CODEC_ALL);
        }
        free(exact);
        figures_release(&f);
        figures_release(&g);
    }
    free(bytes);
}

/* The time after the end of the run is no part of any window. */
static void after_the_end(void **state)
{
    struct windows w;
    uint64_t from, to;

    (void)state;
    windows_init(&w, IDENTS, UINT64_MAX);
    windows_advance(&w, 5 * SEC);
    windows_advance(&w, 15 * SEC + SEC / 2);
    windows_end(&w, 15 * SEC + SEC / 4);
    assert_int_equal(windows_view(&w, WINDOW_RUN), 10 * SEC + SEC / 4);
    windows_advance(&w, 16 * SEC + SEC / 8);
    assert_int_equal(windows_view(&w, WINDOW_RUN), 10 * SEC + SEC / 4);
    windows_viewed_time(&w, &from, &to);
    assert_int_equal(from, 5 * SEC);
    assert_int_equal(to, 15 * SEC + SEC / 4);
    assert_int_equal(windows_view_last(&w, 1), SEC / 4); /* the last whole second is the 11th */
    windows_viewed_time(&w, &from, &to);
    assert_int_equal(to - from, SEC / 4);
    windows_zero(&w);
    windows_advance(&w, 18 * SEC + SEC / 8);
    assert_int_equal(windows_view(&w, WINDOW_RUN), 2 * SEC);
    windows_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_hold_what_happened),
        cmocka_unit_test(three_hours_are_kept),
        cmocka_unit_test(without_a_past),
        cmocka_unit_test(history_is_bounded),
        cmocka_unit_test(gaps_and_jumps),
        cmocka_unit_test(forgotten_tier_does_not_come_back),
        cmocka_unit_test(shares_are_conserved),
        cmocka_unit_test(zero_begins_anew),
        cmocka_unit_test(a_share_without_calls),
        cmocka_unit_test(any_span_of_the_past),
        cmocka_unit_test(history_without_its_seconds),
        cmocka_unit_test(windows_of_any_length),
        cmocka_unit_test(names),
        cmocka_unit_test(after_the_end),
        cmocka_unit_test(packed_is_unpacked),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
