/* Comparison with a reference: rows are matched by name; changes; rows without a counterpart. */
#include <fake_snapshot.h>
#include <kprof/core/compare.h>
#include <kprof/export/export.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* compare_new takes ownership of its snapshot, but the fake owns this one: pass a shallow copy. */
static struct snapshot *shallow(struct fake *f)
{
    struct snapshot *s = malloc(sizeof *s);
    assert_non_null(s);
    *s = *fake_snap(f);
    s->owner = NULL;
    return s;
}

static const struct snap_row *find(const struct snapshot *s, const char *tier, const char *ident)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        if (strcmp(r->tier_name, tier) == 0 && !r->ident == !ident &&
            (!ident || strcmp(r->ident, ident) == 0))
            return r;
    }
    fail_msg("no row %s %s", tier, ident ? ident : "");
    return NULL;
}

static void near(double is, double should)
{
    if (!(fabs(is - should) < 1e-9))
        fail_msg("%f is not %f", is, should);
}

static void changes_by_name(void **state)
{
    (void)state;
    struct fake *then = fake_new(), *now = fake_new();
    fake_row(then, 0, "db", NULL, 1000, 100)->rate = 50;
    fake_row(then, 0, "db", "a", 500, 100)->rate = 20;
    fake_row(then, 1, "gone", NULL, 10, 1);
    fake_row(then, 2, "idle", NULL, 0, 0);
    /* Another order and other tier numbers: only names matter. */
    fake_row(now, 4, "idle", NULL, 5, 10);
    fake_row(now, 5, "db", NULL, 1000, 150)->rate = 25;
    fake_row(now, 5, "db", "a", 0, 0);
    fake_row(now, 5, "db", "new", 7, 10);
    struct compare *c = compare_new(shallow(then), "03:04:05 (10s)");
    struct snapshot *s = shallow(now);
    compare_apply(c, s);
    assert_string_equal(s->compared, "03:04:05 (10s)");
    const struct snap_row *r = find(s, "db", NULL);
    near(r->d_rate, -0.5);
    near(r->d_p50, 0.5);
    near(r->d_p99, 0.5);
    assert_int_equal(r->then_count, 1000);
    r = find(s, "db", "a"); /* no calls now */
    assert_true(isnan(r->d_p50) && isnan(r->d_p99));
    assert_int_equal(r->then_count, 500);
    r = find(s, "db", "new"); /* no calls in the reference */
    assert_true(isnan(r->d_rate) && isnan(r->d_p50) && r->then_count == 0);
    r = find(s, "idle", NULL); /* present, without calls */
    assert_true(isnan(r->d_p50) && r->then_count == 0);
    struct buf t;
    buf_init(&t, 0);
    export_write(&t, s, EXPORT_TEXT, true);
    assert_non_null(strstr(t.data, "compared with 03:04:05 (10s)"));
    assert_non_null(strstr(t.data, "-50.0%"));
    assert_non_null(strstr(t.data, "+50.0%"));
    buf_release(&t);
    buf_init(&t, 0);
    export_write(&t, s, EXPORT_JSON, true);
    assert_non_null(strstr(t.data, "\"compared\":\"03:04:05 (10s)\""));
    assert_non_null(strstr(t.data, "\"d_p99\":0.5000"));
    assert_null(strstr(t.data, "nan"));
    buf_release(&t);
    compare_free(c);
    snapshot_free(s);
    fake_free(then);
    fake_free(now);
}

static void with_itself_nothing_changes(void **state)
{
    (void)state;
    struct fake *f = fake_many(2000);
    struct compare *c = compare_new(shallow(f), "x");
    struct snapshot *s = shallow(f);
    compare_apply(c, s);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i], *then = compare_find(c, r);
        assert_non_null(then);
        assert_string_equal(then->tier_name, r->tier_name);
        assert_true(r->rate <= 0 || r->d_rate == 0);
        assert_true(r->count == 0 || (r->d_p50 == 0 && r->d_p99 == 0));
    }
    compare_free(c);
    snapshot_free(s);
    fake_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_by_name),
        cmocka_unit_test(with_itself_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
