/* The heat map, distribution and trends of rows, compared with a list of all calls. */
#include "core_test.h"
#include "rng.h"

#include <core/state.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SEC UINT64_C(1000000000)

enum { TIERS = 3, IDENTS = 4, LIST = 1 << 17, WEIGHT = 2 }; /* each call stands for two */

static struct happened {
    uint64_t sec, value;
    uint16_t tier, ident;
    bool error;
} list[LIST];
static size_t listed;

struct fix {
    struct intern *names;
    struct core *c;
    uint64_t now;
    uint16_t ident[IDENTS];
};

static struct fix fix_new(bool entry, size_t history_bytes)
{
    struct core_limits l;
    struct fix f = {.now = 9 * SEC + 4321, .names = intern_new(100, 1 << 12)};

    core_limits_default(&l);
    l.identities = IDENTS;
    l.processes = l.open_requests = 16;
    l.history_bytes = history_bytes;
    f.c = core_new(&l, f.names);
    for (int i = 0; i < TIERS; i++)
        core_tier_add(f.c, "t", "m:f/1");
    core_set_entry(f.c, entry ? 0 : TIER_NONE);
    core_set_identity(f.c, true);
    for (uint16_t i = 0; i < IDENTS; i++) {
        char name[8];
        int n = snprintf(name, sizeof name, "id%d", i);
        f.ident[i] = idents_of(&f.c->idents, intern_add(f.names, name, (size_t)n), 0, 0);
    }
    core_advance(f.c, f.now);
    listed = 0;
    return f;
}

static void fix_free(struct fix *f)
{
    core_free(f->c);
    intern_free(f->names);
}

static void run(struct fix *f, int seconds, uint64_t busy)
{
    for (int s = 0; s < seconds; s++) {
        for (uint64_t n = busy ? rng() % busy : 0; n > 0; n--) {
            uint64_t value = rng() % (UINT64_C(1) << (1 + rng() % 48));
            struct tally t = {.errors = rng() % 7 == 0};
            uint16_t tier = (uint16_t)(rng() % (TIERS + 1));
            struct happened h = {f->c->windows.sec, value, tier < TIERS ? tier : ROW_TOTAL,
                                 f->ident[rng() % IDENTS], t.errors};
            if (h.tier == ROW_TOTAL && f->c->tiers.entry == TIER_NONE)
                h.tier = 1;
            windows_add(&f->c->windows, h.tier, h.ident, value, WEIGHT, &t);
            assert_true(listed < LIST);
            list[listed++] = h;
        }
        core_advance(f->c, f->now += SEC);
    }
}

static bool is_of(const struct fix *f, const struct happened *h, uint16_t tier, uint16_t ident)
{
    bool all_tiers = tier == TIER_TOTAL && f->c->tiers.entry == TIER_NONE;
    uint16_t number = h->tier == ROW_TOTAL ? TIER_TOTAL : h->tier;
    return (all_tiers || number == tier) && (ident == IDENT_ALL || ident == h->ident);
}

static struct view_query random_row(const struct fix *f)
{
    struct view_query l = {.window = WINDOW_RUN};

    l.tier = rng() % 4 ? (uint16_t)(rng() % TIERS) : TIER_TOTAL;
    l.ident = rng() % 2 ? IDENT_ALL : f->ident[rng() % IDENTS];
    return l;
}

/* ---- heat ---- */

static void check_column(const struct fix *f, const struct snap_heat *h, size_t at)
{
    const struct snap_heat_col *k = &h->col[at];
    uint64_t count = 0, errors = 0, bins = 0, bin[SCALE_BINS] = {0};

    for (size_t i = 0; i < listed && !k->inside; i++) {
        if (list[i].sec < k->from_s || list[i].sec >= k->to_s || list[i].sec >= f->c->windows.sec ||
            !is_of(f, &list[i], h->tier, h->ident_n))
            continue;
        count += WEIGHT;
        errors += WEIGHT * list[i].error;
        uint64_t low = hist_bucket_low(hist_bucket_of(list[i].value));
        uint64_t mid = low + (hist_bucket_high(hist_bucket_of(list[i].value)) - low) / 2;
        bin[scale_bin(mid)] += WEIGHT;
    }
    assert_int_equal(k->count, count);
    assert_int_equal(k->errors, errors);
    for (size_t b = 0; k->bin && b < h->n_bins; b++) {
        assert_int_equal(k->bin[b], bin[h->low + b]);
        bins += k->bin[b];
    }
    assert_int_equal(bins, count);
}

/* The sum over the grid is the count of the row in this time range; each cell has its own calls. */
static void check_map(struct fix *f, struct view_query l, uint32_t col_s)
{
    uint64_t sec = f->c->windows.sec, sum = 0, count = 0;

    l.heat = true;
    l.heat_cols = 1 + (uint32_t)(rng() % 250);
    l.heat_col_s = col_s;
    l.heat_end_s = rng() % 2 ? 0 : 1 + rng() % sec;
    struct snapshot *s = core_view(f->c, &l, 0);
    const struct snap_heat *h = &s->heat;
    assert_true(h->there && h->n > 0 && h->n <= l.heat_cols);
    assert_int_equal(h->from_s % l.heat_col_s, 0);
    uint64_t end = h->from_s + h->n * h->col_s, at = h->col[0].from_s;
    assert_true(end >= (l.heat_end_s ? l.heat_end_s : sec) && end < sec + l.heat_col_s);
    for (size_t i = 0; i < h->n; i++) {
        assert_true(h->col[i].known || h->col[i].inside);
        if (h->col[i].inside)
            continue;
        assert_int_equal(h->col[i].from_s, at); /* no gap, no overlap */
        at = h->col[i].to_s;
        check_column(f, h, i);
        sum += h->col[i].count;
    }
    for (size_t i = 0; i < listed; i++)
        count += is_of(f, &list[i], l.tier, l.ident) && list[i].sec >= h->col[0].from_s &&
                 list[i].sec < at && list[i].sec < sec;
    assert_int_equal(sum, WEIGHT * count);
    snapshot_free(s);
}

static void check_heat(struct fix *f)
{
    static const uint32_t steps[] = {1, 2, 5, 7, 10, 15, 30, 60, 100, 300};
    check_map(f, random_row(f), steps[rng() % 10]);
}

static void the_grid_is_what_happened(void **state)
{
    (void)state;
    for (int entry = 0; entry < 2; entry++) {
        struct fix f = fix_new(entry, (size_t)8 << 20);
        for (int i = 0; i < rng_rounds(250); i++) {
            run(&f, 1 + (int)(rng() % 12), rng() % 5 ? 12 : 0);
            for (int k = 0; k < 4; k++)
                check_heat(&f);
        }
        fix_free(&f);
    }
}

static void the_grid_without_its_seconds(void **state)
{
    (void)state;
    struct fix f = fix_new(true, 300000);
    run(&f, 4000, 10);
    assert_true(f.c->windows.dropped_slots > 0);
    for (int i = 0; i < rng_rounds(150); i++) {
        run(&f, 1, 10);
        check_heat(&f);
    }
    for (int i = 0; i < 4; i++) { /* the same map repeatedly, with cached columns */
        struct view_query row = random_row(&f);
        for (int k = 0; k < 15; k++) {
            run(&f, 1 + (int)(rng() % 9), 10);
            check_map(&f, row, i == 0 ? 54 : i == 1 ? 7 : 60);
        }
    }
    fix_free(&f);
}

static void nothing_is_left_of_what_was_forgotten(void **state)
{
    (void)state;
    struct fix f = fix_new(true, (size_t)8 << 20);
    struct view_query l = {.window = WINDOW_1M, .heat = true, .tier = 1, .ident = IDENT_ALL};
    l.heat_cols = 20;
    l.heat_col_s = 1;
    run(&f, 30, 50);
    struct snapshot *s = core_view(f.c, &l, 0);
    uint64_t sum = 0;
    for (size_t i = 0; i < s->heat.n; i++)
        sum += s->heat.col[i].count;
    assert_true(sum > 0);
    snapshot_free(s);
    core_tier_remove(f.c, 1);
    s = core_view(f.c, &l, 0);
    for (size_t i = 0; i < s->heat.n; i++)
        assert_int_equal(s->heat.col[i].count, 0);
    snapshot_free(s);
    core_zero(f.c);
    s = core_view(f.c, &l, 0);
    assert_int_equal(s->heat.n, 0);
    snapshot_free(s);
    fix_free(&f);
}

static void nonsense_gives_no_map(void **state)
{
    (void)state;
    struct fix f = fix_new(true, 1 << 20);
    run(&f, 3, 5);
    struct view_query bad[] = {
        {.heat = true, .tier = 900, .ident = 0, .heat_col_s = 1, .heat_cols = 5},
        {.heat = true, .tier = 0, .ident = 900, .heat_col_s = 1, .heat_cols = 5},
        {.heat = true, .tier = 0, .ident = IDENT_ALL, .heat_col_s = 0, .heat_cols = 5},
        {.heat = true, .tier = 0, .ident = IDENT_ALL, .heat_col_s = 1, .heat_cols = 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct snapshot *s = core_view(f.c, &bad[i], 0);
        assert_false(s->heat.there);
        snapshot_free(s);
    }
    fix_free(&f);
}

/* ---- rows of any time range, distribution, trends ---- */

static const struct snap_row *row_of(const struct snapshot *s, uint16_t tier, uint16_t ident)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == tier && s->rows[i].ident_n == ident)
            return &s->rows[i];
    return NULL;
}

static void rows_and_distribution_of_the_past(void **state)
{
    (void)state;
    for (int entry = 0; entry < 2; entry++) {
        struct fix f = fix_new(entry, (size_t)8 << 20);
        run(&f, 1500, 12);
        for (int i = 0; i < 200; i++) {
            struct view_query l = random_row(&f);
            l.length_s = 1 + rng() % 900;
            l.end_s = 1 + rng() % f.c->windows.sec;
            l.dist = true;
            struct snapshot *s = core_view(f.c, &l, 0);
            const struct snap_row *r = row_of(s, l.tier, l.ident);
            uint64_t from = l.end_s > l.length_s ? l.end_s - l.length_s : 0, count = 0, sum = 0;
            assert_true(s->time.history && s->time.from_s == from && s->time.to_s == l.end_s);
            assert_true(fabs(s->window_s - (double)(l.end_s - from)) < 1e-9);
            for (size_t k = 0; k < listed; k++)
                count += list[k].sec >= from && list[k].sec < l.end_s &&
                         is_of(&f, &list[k], l.tier, l.ident);
            assert_int_equal(r ? r->count : 0, count);
            for (size_t b = 0; b < s->dist.n; b++)
                sum += s->dist.bin[b];
            assert_true(sum == WEIGHT * count && s->dist.count == WEIGHT * count);
            snapshot_free(s);
        }
        fix_free(&f);
    }
}

static void check_trend(const struct fix *f, const struct snapshot *s, const struct snap_row *r,
                        uint64_t end)
{
    for (uint64_t i = 0; i < SNAP_TREND; i++) {
        struct hist h;
        uint64_t errors = 0;
        hist_init(&h);
        bool before = end + i < SNAP_TREND;
        for (size_t k = 0; k < listed && !before; k++)
            if (list[k].sec == end + i - SNAP_TREND && is_of(f, &list[k], r->tier, r->ident_n)) {
                hist_add_n(&h, list[k].value, WEIGHT);
                errors += list[k].error;
            }
        if (before)
            assert_true(isnan(r->trend_rate[i]));
        else
            assert_true(r->trend_rate[i] == (float)h.count);
        if (h.count)
            assert_true(r->trend_p99_us[i] == (float)((double)hist_quantile(&h, 0.99) / 1e3));
        else
            assert_true(isnan(r->trend_p99_us[i]));
        if (h.count)
            assert_true(r->trend_errors[i] == (float)((double)(WEIGHT * errors) / (double)h.count));
        else
            assert_true(isnan(r->trend_errors[i]));
        hist_release(&h);
    }
    (void)s;
}

static void trends_are_the_seconds(void **state)
{
    (void)state;
    for (int entry = 0; entry < 2; entry++) {
        struct fix f = fix_new(entry, (size_t)8 << 20);
        for (int i = 0; i < 60; i++) {
            run(&f, 1 + (int)(rng() % 3 ? rng() % 3 : rng() % 90), rng() % 5 ? 12 : 0);
            if (i % 10 == 5) /* enough calls that p99 is not the maximum */
                run(&f, 1, 6000);
            struct view_query l = {.window = WINDOW_1M, .trends = true};
            l.end_s = rng() % 3 ? 0 : 1 + rng() % f.c->windows.sec;
            struct snapshot *s = core_view(f.c, &l, 0);
            const struct snap_row *r = &s->rows[rng() % s->n_rows];
            assert_non_null(r->trend_rate);
            check_trend(&f, s, r, l.end_s ? l.end_s : f.c->windows.sec);
            snapshot_free(s);
        }
        fix_free(&f);
    }
}

static void what_is_not_asked_for_is_not_made(void **state)
{
    (void)state;
    struct fix f = fix_new(true, 1 << 20);
    run(&f, 20, 12);
    struct snapshot *s = core_snapshot(f.c, WINDOW_10S, 100 * SEC);
    assert_false(s->dist.there || s->heat.there || s->time.history);
    assert_null(s->rows[0].trend_rate);
    assert_null(f.c->trend.row);
    assert_null(f.c->heat.col);
    assert_int_equal(s->time.now_s, 20);
    assert_int_equal(s->time.zero_wall_ns, 80 * SEC);
    snapshot_free(s);
    fix_free(&f);
}

/* ---- the scale ---- */

static void marks_are_round_and_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCALE_BINS; i++) {
        assert_true(scale_low_ns(i) <= scale_low_ns(i + 1));
        if (scale_low_ns(i) < scale_low_ns(i + 1))
            assert_int_equal(scale_bin(scale_low_ns(i)), i);
        if (scale_low_ns(i) > 0 && scale_low_ns(i - 1) < scale_low_ns(i))
            assert_int_equal(scale_bin(scale_low_ns(i) - 1), i - 1);
    }
    assert_int_equal(scale_low_ns(1 + 6 * SCALE_DECADE), 1000000);
    assert_int_equal(scale_low_ns(1 + 6 * SCALE_DECADE + 4), 2000000);
    assert_int_equal(scale_low_ns(1 + 6 * SCALE_DECADE + 8), 5000000);
    assert_int_equal(scale_bin(UINT64_MAX), SCALE_BINS - 1);
    assert_int_equal(scale_bin(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_round_and_in_order),
        cmocka_unit_test(the_grid_is_what_happened),
        cmocka_unit_test(the_grid_without_its_seconds),
        cmocka_unit_test(nothing_is_left_of_what_was_forgotten),
        cmocka_unit_test(nonsense_gives_no_map),
        cmocka_unit_test(rows_and_distribution_of_the_past),
        cmocka_unit_test(trends_are_the_seconds),
        cmocka_unit_test(what_is_not_asked_for_is_not_made),
    };
    return cmocka_run_group_tests_name("heat", tests, rng_set_up, NULL);
}
