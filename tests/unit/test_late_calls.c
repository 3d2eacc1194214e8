/* Calls that begin long after their request has ended, and calls whose request is not known. */
#include "core_fixture.h"

/* The queue of a server is long: it handles the message of a request long after the request. */
static void late_by_minutes(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    ret(&f, 10, P1, M0);
    until(&f, 20000);
    call(&f, 20000, P2, 7, A, M1);
    ret(&f, 20005, P2, M1);
    EXPECT_CALLS(&f, 2, 2, 0, 0, 0);
    until(&f, 600000);
    call(&f, 600000, P2, 7, A, M1);
    ret(&f, 600005, P2, M1);
    EXPECT_CALLS(&f, 3, 3, 0, 0, 0);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    struct snap_row a = row(&f, A, NULL), e = row(&f, E, "create");
    assert_int_equal(a.count, 2);
    assert_int_equal(a.late, 2);
    assert_int_equal(row(&f, A, "create").late, 2);
    expect_near(a.share, 0);
    expect_near(e.share, 1);
    done(&f);
}

/* It stands for as many calls as its request for requests, whatever is sampled by then. */
static void late_with_the_weight_of_its_request(void **state)
{
    (void)state;
    struct fix f = fix();
    struct event e = call_ev(0, P1, 7, E, M0), a = call_ev(30000, P2, 7, A, M1);
    e.weight = 4;
    a.weight = 64;
    feed(&f, e);
    ret(&f, 10, P1, M0);
    until(&f, 30000);
    feed(&f, a);
    ret(&f, 30005, P2, M1);
    assert_int_equal(row(&f, A, NULL).count, 1);
    assert_int_equal(row(&f, A, NULL).est_count, 4);
    done(&f);
}

enum { MANY = 40 };

static uint64_t label_of(uint64_t ticket)
{
    return UINT64_C(9) << 32 | ticket;
}

/* Ended requests with the tickets 100 to 139, of which only 8 are remembered. */
static struct fix after_many(void)
{
    struct core_limits l = small();
    l.open_requests = 4;
    struct fix f = fix_of(l);
    for (int i = 0; i < MANY; i++) {
        call_id(&f, i * 100, P1, label_of((uint64_t)i + 100), E, M0, f.create);
        ret(&f, i * 100 + 10, P1, M0);
        until(&f, i * 100 + 90);
    }
    EXPECT_REQUESTS(&f, MANY, MANY, 0, 0);
    return f;
}

/* No room was left to remember their requests: they count without an identity. */
static void late_and_the_request_is_forgotten(void **state)
{
    (void)state;
    struct fix f = after_many();
    call(&f, 10000, P2, label_of(100), A, M1);
    ret(&f, 10010, P2, M1);
    call(&f, 10020, P2, EVENT_LABEL_DETAIL | label_of(117), A, M1);
    ret(&f, 10030, P2, M1);
    call(&f, 10040, P2, label_of(139), A, M1);
    ret(&f, 10050, P2, M1);
    EXPECT_CALLS(&f, MANY + 3, MANY + 3, 0, 0, 0);
    assert_int_equal(row(&f, A, NULL).count, 3);
    assert_int_equal(row(&f, A, NULL).late, 3);
    assert_int_equal(row(&f, A, "undefined").late, 2);
    assert_int_equal(row(&f, A, "create").late, 1);
    expect_near(row(&f, E, "create").share, 1);
    done(&f);
}

/* Their entry was not seen: neither a request that has ended nor one that will begin. */
static void unknown_labels_stay_out(void **state)
{
    (void)state;
    static const uint64_t label[] = {
        UINT64_C(9) << 32 | 99,             /* before the first request */
        UINT64_C(9) << 32 | 140,            /* after the last one */
        UINT64_C(8) << 32 | 120,            /* of another session */
        UINT64_C(1) << 63 | 120,            /* a process */
        UINT64_C(9) << 32 | ((1 << 27) - 1) /* before the first one, around the end of the range */
    };
    struct fix f = after_many();
    for (int i = 0; i < 5; i++) {
        call(&f, 10000 + i * 100, P2, label[i], A, M1);
        ret(&f, 10010 + i * 100, P2, M1);
        until(&f, 10090 + i * 100);
        EXPECT_CALLS(&f, MANY + 1 + (uint64_t)i, MANY, 0, 0, 1 + (uint64_t)i);
    }
    assert_int_equal(row(&f, A, NULL).count, 0);
    done(&f);
}

/* Messages and processes still have the labels of requests of the former entry. */
static void labels_of_a_former_entry_stay_out(void **state)
{
    (void)state;
    struct fix f = after_many();
    core_set_entry(f.c, A);
    call(&f, 10000, P2, label_of(139), B, M1); /* remembered */
    ret(&f, 10010, P2, M1);
    call(&f, 10020, P2, label_of(110), B, M1); /* forgotten */
    ret(&f, 10030, P2, M1);
    until(&f, 10100);
    EXPECT_CALLS(&f, MANY + 2, MANY, 0, 0, 2);
    assert_int_equal(row(&f, B, NULL).count, 0);
    done(&f);
}

/* Forged labels take the places of remembered ones, but no more memory, and are counted. */
static void a_flood_of_unknown_labels(void **state)
{
    (void)state;
    struct fix f = after_many();
    for (uint64_t i = 0; i < 1000; i++) {
        call(&f, 10000 + (double)i * 50, P2, UINT64_C(8) << 32 | i * 7919, A, M1);
        ret(&f, 10001 + (double)i * 50, P2, M1);
        until(&f, 10049 + (double)i * 50);
    }
    EXPECT_CALLS(&f, MANY + 1000, MANY, 0, 0, 1000);
    call(&f, 90000, P2, label_of(139), A, M1);
    ret(&f, 90010, P2, M1);
    assert_int_equal(row(&f, A, NULL).count, 1);
    assert_int_equal(row(&f, A, NULL).late, 1);
    done(&f);
}

/* A row without calls says that its calls arrive, but are not counted. */
static void a_row_says_that_its_calls_are_unattributed(void **state)
{
    (void)state;
    struct fix f = after_many();
    assert_null(row(&f, A, NULL).note);
    call(&f, 10000, P2, UINT64_C(8) << 32 | 1, A, M1);
    ret(&f, 10001, P2, M1);
    until(&f, 10100);
    EXPECT_CALLS(&f, MANY + 1, MANY, 0, 0, 1);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    const char *note = NULL;
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].tier == A)
            note = s->rows[i].note;
        else
            assert_null(s->rows[i].note);
    }
    assert_non_null(note);
    assert_non_null(strstr(note, "unattributed"));
    snapshot_free(s);
    until(&f, 15000);
    assert_null(row_in(&f, WINDOW_1S, A, NULL).note); /* the window has passed */
    call(&f, 20000, P2, UINT64_C(8) << 32 | 2, A, M1);
    ret(&f, 20001, P2, M1);
    call(&f, 20002, P2, label_of(139), A, M1);
    ret(&f, 20003, P2, M1);
    until(&f, 20100);
    assert_null(row(&f, A, NULL).note); /* it has values */
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_by_minutes),
        cmocka_unit_test(late_with_the_weight_of_its_request),
        cmocka_unit_test(late_and_the_request_is_forgotten),
        cmocka_unit_test(unknown_labels_stay_out),
        cmocka_unit_test(labels_of_a_former_entry_stay_out),
        cmocka_unit_test(a_flood_of_unknown_labels),
        cmocka_unit_test(a_row_says_that_its_calls_are_unattributed),
    };
    return cmocka_run_group_tests_name("late calls", tests, NULL, NULL);
}
