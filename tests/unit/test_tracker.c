/* Shadow stacks: which calls a return ends, with lean and full returns. The sequences of events are
 * those of real VMs. */
#include "core_fixture.h"

/* ---- lean stacks ---- */

static void one_request(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P2, 7, B, M1);
    ret(&f, 4, P2, M1);
    ret(&f, 6, P1, FN_E);
    EXPECT_CALLS(&f, 3, 0, 3, 0, 0); /* stored until the request is finalized */
    ret(&f, 10, P1, M0);
    EXPECT_REQUESTS(&f, 1, 0, 1, 0); /* late events may still arrive */
    until(&f, 31);
    EXPECT_CALLS(&f, 3, 3, 0, 0, 0);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    struct snap_row e = row(&f, E, "create"), a = row(&f, A, "create"), b = row(&f, B, "create"),
                    t = row(&f, TIER_TOTAL, "create");
    assert_int_equal(e.count, 1);
    expect_ms(t.max_us, 10);
    expect_ms(e.max_us, 10);
    expect_ms(e.self_us, 5);
    expect_ms(a.max_us, 5);
    expect_ms(a.self_us, 3); /* 2 ms of it in the other process */
    expect_ms(b.self_us, 2);
    expect_near(e.share + a.share + b.share, 1);
    expect_near(a.share, 0.3);
    assert_int_equal(row(&f, A, "undefined").tier, UINT16_MAX);
    done(&f);
}

static void tail_calls_end_together(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P1, 7, B, FN_E); /* a tail-called b */
    ret(&f, 5, P1, FN_E);
    ret(&f, 6, P1, M0);
    until(&f, 40);
    expect_ms(row(&f, A, NULL).max_us, 4);
    expect_ms(row(&f, B, NULL).max_us, 3);
    expect_ms(row(&f, A, NULL).self_us, 1);
    assert_int_equal(row(&f, A, NULL).errors, 0);
    done(&f);
}

static void recursion_is_its_outermost_call(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P1, 7, A, FN_A);
    call(&f, 3, P1, 7, A, FN_A);
    call(&f, 4, P1, 7, B, FN_A);
    ret(&f, 5, P1, FN_A);
    ret(&f, 6, P1, FN_A);
    ret(&f, 7, P1, FN_A);
    assert_int_equal(orphan_returns(&f), 0);
    ret(&f, 8, P1, FN_E);
    call(&f, 9, P1, 7, B, FN_E); /* tail recursion */
    call(&f, 10, P1, 7, B, FN_E);
    ret(&f, 11, P1, FN_E);
    ret(&f, 12, P1, M0);
    until(&f, 40);
    EXPECT_CALLS(&f, 7, 7, 0, 0, 0);
    assert_int_equal(row(&f, A, NULL).count, 1);
    expect_ms(row(&f, A, NULL).max_us, 7);
    assert_int_equal(row(&f, B, NULL).count, 2);
    expect_ms(row(&f, B, NULL).max_us, 2);
    done(&f);
}

static void exception_unwinds(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P1, 7, B, FN_A); /* b raises, the entry catches */
    ret(&f, 3, P1, FN_E);
    call(&f, 4, P1, 7, B, M2); /* m2 is not traced; the entry catches again */
    ret(&f, 5, P1, FN_E);
    ret(&f, 6, P1, M0);
    until(&f, 40);
    assert_int_equal(row(&f, A, NULL).errors, 1);
    assert_int_equal(row(&f, B, NULL).errors, 2);
    expect_ms(row(&f, B, NULL).max_us, 1);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    expect_ms(row(&f, E, NULL).max_us, 6);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).errors, 0);
    done(&f);
}

/* Dropped returns: after a drop, the next request of a server loop is not part of the previous one,
 * and has its own sampling weight. */
static void what_was_dropped_ends_what_was_open(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P2, 9, E, M1); /* continues across the drop */
    mark(&f, 3, UINT64_MAX, EVENT_DROPPED, 0);
    struct event ev = call_ev(4, P1, 8, E, M0);
    ev.prev = 7;
    ev.weight = 50;
    feed(&f, ev);
    ret(&f, 5, P1, M0);
    call(&f, 6, P2, 9, B, FN_E);
    ret(&f, 7, P2, FN_E);
    ret(&f, 8, P2, M1);
    until(&f, 40);
    EXPECT_CALLS(&f, 5, 3, 0, 2, 0);
    EXPECT_REQUESTS(&f, 3, 2, 0, 1);
    assert_int_equal(row(&f, E, NULL).count, 2);
    assert_int_equal(row(&f, E, NULL).est_count, 51);
    expect_ms(row(&f, E, NULL).max_us, 6);
    call(&f, 41, P1, 10, E, M0); /* no drop since: a recursive call */
    call(&f, 42, P1, 10, E, M0);
    ret(&f, 43, P1, M0);
    until(&f, 80);
    EXPECT_REQUESTS(&f, 4, 3, 0, 1);
    done(&f);
}

static void unknown_return_is_counted(void **state)
{
    (void)state;
    struct fix f = fix();
    ret(&f, 0, P1, M0);
    assert_int_equal(orphan_returns(&f), 1);
    call(&f, 1, P1, 7, E, M0);
    mark(&f, 2, UINT64_MAX, EVENT_DROPPED, 0);
    ret(&f, 3, P1, M2); /* its call may have been dropped */
    assert_int_equal(orphan_returns(&f), 2);
    EXPECT_REQUESTS(&f, 1, 0, 1, 0);
    ret(&f, 4, P1, M0);
    until(&f, 40);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    done(&f);
}

/* m2, between the entry and a, catches what b raises; a has ended, too, the request has not. */
static void a_function_between_the_tiers_catches(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, M1);
    call(&f, 2, P1, 7, B, FN_B + 1000);
    ret(&f, 3, P1, M2);
    ret(&f, 10, P1, M0);
    until(&f, 50);
    assert_int_equal(orphan_returns(&f), 0);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    EXPECT_CALLS(&f, 3, 3, 0, 0, 0);
    assert_int_equal(row(&f, B, NULL).errors, 1);
    expect_ms(row(&f, B, NULL).max_us, 1);
    assert_int_equal(row(&f, A, NULL).errors, 1);
    expect_ms(row(&f, A, NULL).max_us, 2);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).errors, 0);
    expect_ms(row(&f, E, NULL).max_us, 10);
    expect_ms(row(&f, E, NULL).self_us, 8);
    done(&f);
}

/* m2 catches what b raises, inside of a, which then returns. */
static void a_call_goes_on_after_a_catch(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P1, 7, B, M1);
    ret(&f, 3, P1, M2);
    call(&f, 4, P1, 7, B, M2);
    ret(&f, 5, P1, M2);
    ret(&f, 6, P1, FN_E);
    ret(&f, 7, P1, M0);
    until(&f, 50);
    assert_int_equal(row(&f, B, NULL).errors, 1);
    assert_int_equal(row(&f, B, NULL).count, 2);
    assert_int_equal(row(&f, A, NULL).errors, 0);
    expect_ms(row(&f, A, NULL).max_us, 5);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    done(&f);
}

/* A worker's loop calls the entry through m1; m2, below m1, catches what it raises. */
static void each_request_that_fails_has_its_own_end(void **state)
{
    (void)state;
    struct fix f = fix();
    for (unsigned i = 0; i < 3; i++) {
        double at = 10 * (double)i;
        call(&f, at, P1, 7 + i, E, M1);
        if (i > 0)
            call(&f, at + 1, P1, 7 + i, A, FN_B + 1000);
        ret(&f, at + 2, P1, M2);
    }
    call(&f, 30, P1, 20, E, M1);
    ret(&f, 35, P1, M1);
    until(&f, 100);
    EXPECT_REQUESTS(&f, 4, 4, 0, 0);
    assert_int_equal(row(&f, E, NULL).count, 4);
    assert_int_equal(row(&f, E, NULL).errors, 3);
    expect_ms(row(&f, E, NULL).max_us, 5);
    expect_ms(row(&f, E, NULL).min_us, 2);
    assert_int_equal(row(&f, A, NULL).errors, 2);
    done(&f);
}

/* An inner call of a recursive tier returns to a function that is not traced. */
static void recursion_through_a_helper(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P1, 7, B, FN_A);
    ret(&f, 3, P1, FN_A);
    call(&f, 4, P1, 7, A, FN_A);
    ret(&f, 5, P1, FN_A);
    ret(&f, 6, P1, FN_E);
    ret(&f, 7, P1, M0);
    until(&f, 50);
    assert_int_equal(row(&f, A, NULL).errors, 0);
    expect_ms(row(&f, A, NULL).max_us, 5);
    done(&f);
}

/* A server loop, or a call of a removed tier, in another process does not hide the exception in
 * this process. */
static void other_processes_do_not_matter(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, B, M1);
    call(&f, 2, P2, 8, E, M1);
    call(&f, 3, P2, 9, E, M1);
    feed(&f,
         (struct event){
             .ts_ns = call_ev(4, P2, 9, E, M1).ts_ns, .pid = P2, .tier = 60, .kind = EVENT_CALL});
    ret(&f, 5, P1, M2);
    ret(&f, 9, P1, M0);
    until(&f, 50);
    assert_int_equal(row(&f, B, NULL).errors, 1);
    expect_ms(row(&f, B, NULL).max_us, 4);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    done(&f);
}

/* a and b are called by the same function m1 (as timer:tc/3), b inside of a. From the second time
 * on it is known that b is no tail call. */
static void a_wrapper_at_two_levels(void **state)
{
    (void)state;
    struct fix f = fix();
    for (unsigned i = 0; i < 10; i++) {
        double at = 20 * (double)i;
        call(&f, at, P1, 7 + i, E, M0);
        call(&f, at + 1, P1, 7 + i, A, M1);
        call(&f, at + 2, P1, 7 + i, B, M1);
        ret(&f, at + 3, P1, M1);
        ret(&f, at + 6, P1, M1);
        ret(&f, at + 7, P1, M0);
    }
    until(&f, 300);
    EXPECT_REQUESTS(&f, 10, 10, 0, 0);
    assert_int_equal(orphan_returns(&f), 1);
    assert_int_equal(row(&f, E, NULL).errors + row(&f, A, NULL).errors, 0);
    expect_ms(row(&f, E, NULL).max_us, 7);
    expect_ms(row(&f, A, NULL).min_us, 2); /* the first */
    expect_ms(row(&f, A, NULL).mean_us, 4.7);
    expect_ms(row(&f, B, NULL).max_us, 1);
    done(&f);
}

/* Later a tail-calls b. */
static void a_wrapper_and_a_tail_call(void **state)
{
    (void)state;
    struct fix f = fix();
    for (unsigned i = 0; i < 4; i++) {
        double at = 20 * (double)i;
        call(&f, at, P1, 7 + i, E, M0);
        call(&f, at + 1, P1, 7 + i, A, M1);
        call(&f, at + 2, P1, 7 + i, B, M1);
        ret(&f, at + 3, P1, M1);
        if (i < 2)
            ret(&f, at + 6, P1, M1);
        ret(&f, at + 7, P1, M0);
    }
    until(&f, 300);
    EXPECT_REQUESTS(&f, 4, 4, 0, 0);
    assert_int_equal(row(&f, E, NULL).errors + row(&f, A, NULL).errors, 0);
    expect_ms(row(&f, E, NULL).max_us, 7);
    expect_ms(row(&f, A, NULL).mean_us, (2 + 5 + 2 + 2) / 4.0);
    done(&f);
}

/* A wrong conclusion about a tail call ends no call and affects only one call: the entry, which
 * tail-calls a, is left open once, and its next call shows that it has ended. */
static void a_tail_call_in_a_server(void **state)
{
    (void)state;
    struct fix f = fix();
    for (unsigned i = 0; i < 4; i++) {
        double at = 20 * (double)i;
        call(&f, at, P1, 7 + i, E, M1);
        call(&f, at + 2, P1, 7 + i, A, M1);
        ret(&f, at + 3, P1, M1);
        if (i == 0)
            ret(&f, at + 4, P1, M1); /* of an unknown call */
    }
    until(&f, 300);
    EXPECT_REQUESTS(&f, 4, 4, 0, 0);
    assert_int_equal(row(&f, E, NULL).count, 4);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    expect_ms(row(&f, E, NULL).max_us, 3);
    expect_ms(row(&f, A, NULL).max_us, 1);
    done(&f);
}

/* a calls itself through m1, as through lists:map/2: only its outermost call is counted, and what
 * the inner ones return to ends nothing else. */
static void recursion_through_a_wrapper(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, M1);
    call(&f, 2, P1, 7, A, M1);
    call(&f, 3, P1, 7, A, M1);
    ret(&f, 4, P1, M1);
    call(&f, 5, P1, 7, B, FN_A);
    ret(&f, 6, P1, FN_A);
    ret(&f, 7, P1, M1);
    ret(&f, 8, P1, M1);
    ret(&f, 9, P1, M0);
    until(&f, 100);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    assert_int_equal(row(&f, A, NULL).errors, 0);
    expect_ms(row(&f, E, NULL).max_us, 9);
    done(&f);
}

/* Before OTP 27.1: b has failed without an event, and its caller was not the one to catch it. */
static void a_return_of_an_old_release_is_a_return(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_release(f.c, "25");
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P1, 7, B, M1);
    ret(&f, 6, P1, M2); /* nobody is known to have caught it */
    ret(&f, 7, P1, M0);
    call(&f, 10, P1, 8, E, M0);
    call(&f, 11, P1, 8, A, M1);
    ret(&f, 16, P1, M0);
    call(&f, 20, P1, 9, E, M0);
    call(&f, 21, P1, 9, A, FN_E);
    call(&f, 22, P1, 9, B, FN_A);
    ret(&f, 23, P1, FN_E); /* a tier has caught it */
    ret(&f, 24, P1, M0);
    until(&f, 100);
    assert_int_equal(row(&f, B, NULL).errors, 2);
    assert_int_equal(row(&f, A, NULL).errors, 3);
    assert_int_equal(row(&f, E, NULL).errors, 0);
    expect_ms(row(&f, E, NULL).max_us, 7);
    done(&f);
}

static void undefined_caller(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, 0);
    call(&f, 1, P1, 7, A, FN_E);
    ret(&f, 2, P1, FN_E);
    ret(&f, 3, P1, 0);
    until(&f, 40);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    done(&f);
}

/* loop() -> receive .. -> a(), loop(): never returns, each request tail-calls it with the same
 * caller. */
static void server_loop_that_never_returns(void **state)
{
    (void)state;
    struct fix f = fix();
    for (uint64_t i = 1; i <= 300; i++) {
        double at = (double)i * 30;
        call(&f, at, P1, i, E, M0);
        call(&f, at + 1, P2, i, A, 0);
        ret(&f, at + 2, P1, M0);
    }
    until(&f, 9100);
    EXPECT_CALLS(&f, 600, 300, 1, 299, 0);
    done(&f);
}

/* ---- full returns ---- */

static void full_returns(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_returns(f.c, RETURNS_FULL);
    call(&f, 0, P1, 7, E, 0);
    call(&f, 1, P1, 7, A, 0);
    call(&f, 2, P1, 7, A, 0);
    mark(&f, 3, P1, EVENT_RETURN, FN_A);
    call(&f, 4, P1, 7, B, 0);
    mark(&f, 5, P1, EVENT_EXCEPTION, FN_B);
    mark(&f, 6, P1, EVENT_EXCEPTION, FN_A);
    call(&f, 7, P1, 7, B, 0); /* its return is lost */
    mark(&f, 8, P1, EVENT_RETURN, FN_E);
    mark(&f, 9, P1, EVENT_RETURN, FN_E);
    until(&f, 40);
    EXPECT_CALLS(&f, 5, 4, 0, 1, 0);
    assert_int_equal(row(&f, A, NULL).count, 2);
    assert_int_equal(row(&f, A, NULL).errors, 1);
    expect_ms(row(&f, A, NULL).max_us, 5);
    assert_int_equal(row(&f, B, NULL).errors, 1);
    assert_int_equal(orphan_returns(&f), 1);
    done(&f);
}

static void calls_that_do_not_end(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_returns(f.c, RETURNS_FULL);
    call(&f, 0, P1, 7, E, 0);
    call(&f, 1, P1, 7, A, 0);
    assert_false(core_tier_loops(f.c, A));
    call(&f, 2, P1, 7, A, 0);
    assert_true(core_tier_loops(f.c, A));
    assert_false(core_tier_loops(f.c, E));
    assert_false(core_tier_loops(f.c, TIER_MAX));
    mark(&f, 3, P1, EVENT_RETURN, FN_A); /* it was an ordinary recursive call */
    call(&f, 4, P1, 7, A, 0);
    assert_false(core_tier_loops(f.c, A));
    done(&f);
    f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P1, 7, A, FN_A); /* not the last action: it returns to itself */
    assert_false(core_tier_loops(f.c, A));
    call(&f, 3, P1, 7, A, FN_E);
    assert_true(core_tier_loops(f.c, A));
    ret(&f, 4, P1, FN_E);
    assert_false(core_tier_loops(f.c, A));
    ret(&f, 5, P1, M0);
    until(&f, 100);
    assert_int_equal(row(&f, A, NULL).count, 1);
    assert_false(core_tier_loops(f.c, A));
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request),
        cmocka_unit_test(tail_calls_end_together),
        cmocka_unit_test(recursion_is_its_outermost_call),
        cmocka_unit_test(exception_unwinds),
        cmocka_unit_test(what_was_dropped_ends_what_was_open),
        cmocka_unit_test(unknown_return_is_counted),
        cmocka_unit_test(a_function_between_the_tiers_catches),
        cmocka_unit_test(a_call_goes_on_after_a_catch),
        cmocka_unit_test(each_request_that_fails_has_its_own_end),
        cmocka_unit_test(recursion_through_a_helper),
        cmocka_unit_test(other_processes_do_not_matter),
        cmocka_unit_test(a_wrapper_at_two_levels),
        cmocka_unit_test(a_wrapper_and_a_tail_call),
        cmocka_unit_test(a_tail_call_in_a_server),
        cmocka_unit_test(recursion_through_a_wrapper),
        cmocka_unit_test(a_return_of_an_old_release_is_a_return),
        cmocka_unit_test(undefined_caller),
        cmocka_unit_test(server_loop_that_never_returns),
        cmocka_unit_test(full_returns),
        cmocka_unit_test(calls_that_do_not_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
