/* Requests: a change of the entry, entries nested in entries, and how many of them. */
#include "core_fixture.h"

/* ---- a change of the entry ---- */

static struct event entry_of(double ms, uint64_t pid, uint64_t label, uint16_t tier)
{
    struct event ev = call_ev(ms, pid, label, tier, M0);
    ev.kind = EVENT_ENTRY;
    return ev;
}

/* The calls of the new entry would be nested in the request that is still open. */
static void requests_of_the_former_entry_take_no_calls(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    core_set_entry(f.c, A);
    feed(&f, entry_of(10, P1, 8, A));
    ret(&f, 12, P1, M0);
    until(&f, 60);
    EXPECT_REQUESTS(&f, 2, 1, 0, 1);
    expect_ms(row(&f, TIER_TOTAL, NULL).max_us, 2);
    done(&f);
}

static void requests_of_the_former_entry_do_not_count(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    core_set_entry(f.c, A);
    ret(&f, 500, P1, M0);
    call(&f, 501, P2, 9, E, M0); /* the node has the former entry until it is told */
    ret(&f, 900, P2, M0);
    until(&f, 1000);
    EXPECT_REQUESTS(&f, 1, 0, 0, 1);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).count, 0);
    done(&f);
}

/* ---- many ---- */

/* An entry that calls itself: each call has a label of its own. */
static void nested_entries_leave_room(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.open_requests = 300;
    l.stack_depth = 1000;
    struct fix f = fix_of(l);
    call(&f, 0, P1, 1, E, M0);
    for (uint32_t i = 0; i < 400; i++)
        entry_prev(&f, 1 + i, P1, 100 + i, 99 + i, 1000 + i);
    call(&f, 500, P3, 499, A, M1); /* another process, with the newest label */
    ret(&f, 501, P3, M1);
    call(&f, 510, P2, 5000, E, M2);
    ret(&f, 512, P2, M2);
    until(&f, 600);
    EXPECT_REQUESTS(&f, 2, 1, 1, 0);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->anomalies.requests_full, 0);
    assert_int_equal(s->calls.unattributed, 0);
    snapshot_free(s);
    done(&f);
}

enum { WORKERS = 50 };

/* A request that gives work to many processes, all of which call the entry. */
static void many_workers_are_one_request(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.processes = WORKERS + 2;
    struct fix f = fix_of(l);
    call(&f, 0, P1, 1, E, M0);
    for (uint32_t i = 0; i < WORKERS; i++)
        entry_prev(&f, 1 + 0.01 * i, P2 + i, 100 + i, 1, M1);
    for (uint32_t i = 0; i < WORKERS; i++)
        ret(&f, 3 + 0.01 * i, P2 + i, M1);
    ret(&f, 8, P1, M0);
    until(&f, 100);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).count, 1);
    assert_int_equal(row(&f, E, NULL).count, WORKERS + 1);
    done(&f);
}

/* Of a connection whose entry call does not end: its calls count as they end, so its time must
 * count, too. */
static void shares_with_requests_that_expire(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 1, E, M0, f.create);
    for (int i = 1; i <= 10; i++) {
        call(&f, 1000 * i, P1, 1, A, FN_E);
        ret(&f, 1000 * i + 200, P1, FN_E);
        until(&f, 1000 * i + 999);
    }
    for (int i = 11; i <= 62; i++)
        until(&f, 1000 * i);
    call_id(&f, 63000, P2, 2, E, M1, f.create);
    call(&f, 63001, P2, 2, A, FN_E);
    ret(&f, 63006, P2, FN_E);
    ret(&f, 63010, P2, M1);
    until(&f, 66000);
    EXPECT_REQUESTS(&f, 2, 1, 0, 1);
    assert_int_equal(row(&f, A, "create").count, 11);
    assert_true(row(&f, A, "create").share <= 1);
    assert_true(row(&f, A, "create").share > 2.0 / 70);
    assert_true(row(&f, TIER_TOTAL, "create").share == 1);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_the_former_entry_take_no_calls),
        cmocka_unit_test(requests_of_the_former_entry_do_not_count),
        cmocka_unit_test(nested_entries_leave_room),
        cmocka_unit_test(many_workers_are_one_request),
        cmocka_unit_test(shares_with_requests_that_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
