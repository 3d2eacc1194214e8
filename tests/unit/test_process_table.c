/* core/process_table: rates, shares, order and filter against a model; and its export. */
#include "fake_processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/text.h>
#include <kprof/export/export_processes.h>
#include <kprof/ui/canvas.h> /* makes the test link the layer ui, for ui_script */
#include <math.h>
#include <rng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui_script.h>

static int64_t random_value(void)
{
    return rng_below(4) == 0 ? -1 : (int64_t)rng_below(1000);
}

/* Rates are counts divided by time; unknown values stay unknown; shares add up to 1. */
static void rates_and_shares(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(2000); round++) {
        struct process_table *t = process_table_new();
        struct process_raw raw = {random_value(), random_value(), (int64_t)rng_below(100) - 50,
                                  random_value(), random_value(), random_value(),
                                  rng() >> 7};
        t->head.between_s = rng_below(3) ? (double)(1 + rng_below(5000)) / 1e3 : 0;
        const struct process_row *r = process_table_add(t, PROCESS_UNGROUPED, &raw);
        double s = t->head.between_s, sum = 0;
        bool known = s > 0;
        assert_int_equal(isnan(r->value[PROCESS_REDUCTIONS]), !known || raw.reductions < 0);
        assert_int_equal(isnan(r->value[PROCESS_GROWTH]), !known || raw.queue < 0);
        assert_int_equal(isnan(r->value[PROCESS_GCS]), !known || raw.gcs < 0);
        assert_int_equal(isnan(r->value[PROCESS_MEMORY]), raw.words < 0);
        if (known && raw.queue >= 0)
            assert_true(fabs(r->value[PROCESS_GROWTH] * s - (double)raw.growth) < 1e-6);
        if (known && raw.reductions >= 0)
            assert_true(fabs(r->value[PROCESS_REDUCTIONS] * s - (double)raw.reductions) < 1e-6);
        for (int i = 0; i < STACK_STATUSES; i++)
            sum += r->share[i];
        assert_true(r->rounds <= PROCESS_ROUNDS);
        assert_true(r->rounds ? fabs(sum - 1) < 1e-9 : sum == 0);
        process_table_free(t);
    }
}

static bool contains(const struct process_row *r, const char *text)
{
    char pid[64];

    snprintf(pid, sizeof pid, "<0.%u.%u>", (unsigned)r->pid, (unsigned)(r->pid >> 32));
    return text_contains(r->name, text) || text_contains(r->initial_call, text) ||
           text_contains(r->application, text) || text_contains(r->current, text) ||
           (r->pid && text_contains(pid, text));
}

static double sort_value(const struct process_row *r, unsigned sort)
{
    return sort < PROCESS_VALUES ? r->value[sort] : process_row_run(r);
}

/* x may stand before y */
static void assert_order(const struct process_row *x, const struct process_row *y,
                         const struct process_query *q)
{
    char a[PROCESS_PID_BYTES], b[PROCESS_PID_BYTES];

    if (x->rest || y->rest) {
        assert_true(y->rest);
        return;
    }
    if (q->sort == PROCESS_SORT_NAME) {
        int way = strcmp(process_row_name(x, a), process_row_name(y, b));
        assert_true(q->reverse ? way >= 0 : way <= 0);
        return;
    }
    double v = sort_value(x, q->sort), w = sort_value(y, q->sort);
    if (isnan(v)) {
        assert_true(isnan(w));
    } else if (!isnan(w)) {
        assert_true(q->reverse ? v <= w : v >= w);
    }
}

/* Each row that passes the filter is there once, no other is, and all are in order. */
static void order_and_filter(void **state)
{
    static const char *const filters[] = {"", "", "shop", "SHOP_st", "<0.1", "loop/", "no such"};

    (void)state;
    for (int round = 0; round < rng_rounds(500); round++) {
        struct process_table *t = fake_processes(1 + rng_below(PROCESS_ROWS), rng_below(2));
        uint16_t at[PROCESS_ROWS + 1];
        bool seen[PROCESS_ROWS + 1] = {false};
        struct process_query q = {.group = (enum process_group)rng_below(PROCESS_GROUPS),
                                  .sort = (unsigned)rng_below(PROCESS_SORTS),
                                  .reverse = rng_below(2)};
        snprintf(q.filter, sizeof q.filter, "%s", filters[rng_below(7)]);
        for (size_t i = 0; i < t->n[q.group]; i++)
            for (int v = 0; v < PROCESS_VALUES; v++)
                if (rng_below(3) == 0)
                    t->row[q.group][i].value[v] = rng_below(4) ? (double)rng_below(5) : NAN;
        size_t n = process_table_order(t, &q, at), want = 0;
        for (size_t i = 0; i < n; i++) {
            assert_true(at[i] < t->n[q.group] && !seen[at[i]]);
            seen[at[i]] = true;
            if (i)
                assert_order(&t->row[q.group][at[i - 1]], &t->row[q.group][at[i]], &q);
        }
        for (size_t i = 0; i < t->n[q.group]; i++) {
            assert_int_equal(seen[i], !q.filter[0] || contains(&t->row[q.group][i], q.filter));
            want += seen[i];
        }
        assert_int_equal(n, want);
        process_table_free(t);
    }
}

static void it_is_bounded(void **state)
{
    struct process_table *t = process_table_new();
    struct process_raw raw = {0};
    char name[PROCESS_NAME_BYTES + 1];

    (void)state;
    for (int i = 0; i < PROCESS_ROWS + 1; i++)
        assert_non_null(process_table_add(t, PROCESS_BY_CALL, &raw));
    assert_null(process_table_add(t, PROCESS_BY_CALL, &raw));
    memset(name, 'x', sizeof name);
    for (int i = 0; i < 100000; i++) {
        int n = snprintf(name, sizeof name, "%d", i);
        name[n] = 'x';
        const char *kept = process_table_text(t, name, sizeof name);
        assert_true(strlen(kept) == 0 || strlen(kept) == sizeof name);
    }
    process_table_free(t);
}

static void names_of_values(void **state)
{
    (void)state;
    for (enum process_value v = 0; v < PROCESS_VALUES; v++) {
        const char *name = process_value_name(v);
        assert_int_equal(process_value_parse(name, strlen(name)), v);
    }
    assert_int_equal(process_value_parse("reduction", 9), PROCESS_VALUES);
}

/* ---- export ---- */

static const char *const endings[] = {
    [EXPORT_TEXT] = "txt", [EXPORT_JSON] = "json", [EXPORT_CSV] = "csv"};

static void export_is_golden(void **state)
{
    (void)state;
    for (int hostile = 0; hostile < 2; hostile++)
        for (enum export_format f = EXPORT_TEXT; f <= EXPORT_CSV; f++) {
            struct process_table *t = fake_processes(7, hostile);
            struct buf out;
            char name[100];
            buf_init(&out, 0);
            for (enum process_group g = 0; g < PROCESS_GROUPS; g++) {
                struct process_query q = {.group = g, .sort = PROCESS_MEMORY};
                assert_true(
                    export_processes(&out, t, &q, "app@host", UINT64_C(1763694245678000000), f));
            }
            for (size_t i = 0; i < out.len; i++)
                assert_true(out.data[i] == '\n' || (unsigned char)out.data[i] >= ' ');
            snprintf(name, sizeof name, "export/processes%s_%s", hostile ? "_hostile" : "",
                     endings[f]);
            assert_true(text_is_golden(&out, name));
            buf_release(&out);
            process_table_free(t);
        }
}

static void other_formats_have_no_processes(void **state)
{
    struct process_table *t = fake_processes(3, false);
    struct process_query q = {0};
    struct buf out;

    (void)state;
    buf_init(&out, 0);
    assert_false(export_processes(&out, t, &q, "", 0, EXPORT_PROM));
    assert_false(export_processes(&out, t, &q, "", 0, EXPORT_HLOG));
    assert_int_equal(out.len, 0);
    buf_release(&out);
    process_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_and_shares), cmocka_unit_test(order_and_filter),
        cmocka_unit_test(it_is_bounded),    cmocka_unit_test(names_of_values),
        cmocka_unit_test(export_is_golden), cmocka_unit_test(other_formats_have_no_processes),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
