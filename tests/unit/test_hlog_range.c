/* The reports of a histogram log: each call is in one of them, whatever the interval, and with
 * little memory for the history. */
#include "core_fixture.h"
#include "rng.h"

#include <app/hlog_range.h>

struct sum {
    uint64_t calls, end_ns;
};

static uint64_t calls_of(const struct snapshot *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->n_rows; i++)
        n += s->rows[i].tier == E && !s->rows[i].ident ? s->rows[i].est_count : 0;
    return n;
}

/* A report begins where the previous one has ended. */
static void report(struct fix *f, const struct view_query *q, struct sum *sum)
{
    struct snapshot *s = core_view(f->c, q, T0);

    assert_int_equal(s->time.from_ns, sum->end_ns);
    sum->calls += calls_of(s);
    sum->end_ns = s->time.from_ns + (uint64_t)(s->window_s * 1e9 + 0.5);
    snapshot_free(s);
}

/* One request in each 10th of a second; up to 1 s passes before a report is made. */
static void whole_run(struct core_limits l, uint64_t run_s, uint64_t delay_s)
{
    struct hlog_range r = {.step_s = hlog_range_step(delay_s * 1000 * MS)};
    struct fix f = fix_of(l);
    struct view_query q;
    struct sum sum = {0};
    size_t reports = 0;
    uint64_t next_ms = delay_s * 1000, tenths = run_s * 10 + 3;

    for (uint64_t i = 1; i <= tenths; i++) {
        struct event ev[2] = {
            call_ev((double)(i * 100), P1, i, E, M0),
            {.ts_ns = T0 + (i * 100 + 1) * MS, .pid = P1, .fn = M0, .kind = EVENT_RETURN_TO}};
        core_feed(f.c, ev, 2);
        core_advance(f.c, T0 + (i * 100 + 50) * MS);
        if (i * 100 < next_ms + rng_below(10) * 100)
            continue;
        next_ms += delay_s * 1000;
        q = (struct view_query){.window = WINDOW_1S};
        if (hlog_range_next(&r, core_closed_s(f.c), &q)) {
            report(&f, &q, &sum);
            reports++;
        }
    }
    assert_in_range(reports, run_s / delay_s / 2, run_s / delay_s + 1);
    core_advance(f.c, T0 + (tenths * 100 + 99) * MS);
    q = (struct view_query){0};
    hlog_range_rest(&r, &q);
    report(&f, &q, &sum);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->calls.received, tenths);
    assert_int_equal(calls_of(s), tenths);
    assert_int_equal(sum.calls, tenths);
    assert_int_equal(sum.end_ns, (uint64_t)(s->window_s * 1e9 + 0.5));
    snapshot_free(s);
    done(&f);
}

static void each_call_is_in_one_report(void **state)
{
    struct core_limits l = small();

    (void)state;
    whole_run(l, 25, 1);
    whole_run(l, 25, 2);
    whole_run(l, 25, 7);
    whole_run(l, 119, 60);
    whole_run(l, 1000, 90);
}

static void also_if_single_seconds_are_dropped(void **state)
{
    static const uint64_t delays_s[] = {2, 60, 61, 299, 301, 1800, 1801, 10800};
    struct core_limits none = small(), few = small();

    (void)state;
    none.history = false;
    few.history_bytes = 30000;
    for (size_t i = 0; i < sizeof delays_s / sizeof *delays_s; i++) {
        whole_run(none, 2 * delays_s[i] + 400, delays_s[i]);
        whole_run(few, 2 * delays_s[i] + 400, delays_s[i]);
    }
}

static void a_run_without_reports(void **state)
{
    struct hlog_range r = {.step_s = 1};
    struct view_query q = {0};

    (void)state;
    assert_false(hlog_range_next(&r, 0, &q));
    hlog_range_rest(&r, &q);
    assert_int_equal(q.window, WINDOW_RUN);
    assert_int_equal(q.since_s, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_in_one_report),
        cmocka_unit_test(also_if_single_seconds_are_dropped),
        cmocka_unit_test(a_run_without_reports),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
