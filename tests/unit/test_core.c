/* Every rule of core on events written by hand: the request of a call, and how the call is counted.
 */
#include "core_fixture.h"

/* ---- requests ---- */

static void nested_entries(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    call(&f, 1, P1, 8, E, M1); /* found by its process */
    ret(&f, 2, P1, M1);
    entry_prev(&f, 3, P2, 9, 7, M1); /* found by its label */
    call(&f, 4, P3, 9, A, M1);
    ret(&f, 5, P3, M1);
    ret(&f, 6, P2, M1);
    call(&f, 7, P3, 8, B, M1);
    ret(&f, 8, P3, M1);
    ret(&f, 9, P1, M0);
    until(&f, 40);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    EXPECT_CALLS(&f, 5, 5, 0, 0, 0);
    assert_int_equal(row(&f, E, "create").count, 3);
    assert_int_equal(row(&f, A, "create").count, 1);
    assert_int_equal(row(&f, B, "create").count, 1);
    assert_int_equal(row(&f, TIER_TOTAL, "create").count, 1);
    done(&f);
}

static void stale_prev_is_a_new_request(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    ret(&f, 1, P1, M0);
    entry_prev(&f, 2, P1, 8, 7, M0);
    ret(&f, 3, P1, M0);
    entry_prev(&f, 90000, P1, 9, 8, M0);
    ret(&f, 90001, P1, M0);
    until(&f, 90040);
    EXPECT_REQUESTS(&f, 3, 3, 0, 0);
    done(&f);
}

/* The next request of a connection: it began before the process of the previous request had ended.
 */
static void nobody_waits_for_an_entry_that_outlasts(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    entry_prev(&f, 4, P2, 9, 7, M1);
    call(&f, 4.5, P3, 9, A, M1);
    ret(&f, 5, P1, M0);
    ret(&f, 6, P3, M1);
    ret(&f, 7, P2, M1);
    until(&f, 40);
    EXPECT_REQUESTS(&f, 2, 2, 0, 0);
    EXPECT_CALLS(&f, 3, 3, 0, 0, 0);
    assert_int_equal(row(&f, E, "create").count, 1);
    assert_int_equal(row(&f, TIER_TOTAL, "create").count, 1);
    assert_int_equal(row(&f, A, NULL).count, 1);
    assert_int_equal(row(&f, A, NULL).late, 0);
    expect_ms(row(&f, TIER_TOTAL, NULL).max_us, 5);
    done(&f);
}

/* An entry after a nested request has ended: the outer request continues. */
static void entry_by_a_call_of_a_nested_request(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    entry_prev(&f, 1, P2, 8, 7, M1);
    call(&f, 2, P3, 8, A, M1);
    ret(&f, 3, P2, M1);
    call(&f, 4, P3, 9, E, M1); /* its token is lost */
    ret(&f, 5, P3, M1);
    ret(&f, 6, P3, M1);
    ret(&f, 8, P1, M0);
    until(&f, 40);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, E, "create").count, 3);
    done(&f);
}

/* The nested entry arrives before the outer one: events are in order only within a process. */
static void nested_entry_comes_first(void **state)
{
    (void)state;
    struct fix f = fix();
    entry_prev(&f, 3, P2, 9, 7, M1);
    call(&f, 4, P2, 9, A, FN_E);
    call(&f, 0, P1, 7, E, M0);
    ret(&f, 5, P2, FN_E);
    ret(&f, 6, P2, M1);
    ret(&f, 9, P1, M0);
    until(&f, 40);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    EXPECT_CALLS(&f, 3, 3, 0, 0, 0);
    expect_ms(row(&f, TIER_TOTAL, NULL).max_us, 9);
    done(&f);
}

/* P1 has the label of another request, whose entry event arrives later. The entry that P1 calls now
 * belongs to that request, which ends after P1's own request. */
static void entry_inside_a_request_that_is_not_known_yet(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    call(&f, 3, P1, 8, A, FN_E);
    entry_prev(&f, 4, P1, 9, 8, FN_A);
    entry_prev(&f, 2, P2, 8, 7, M1);
    ret(&f, 5, P1, FN_A);
    ret(&f, 6, P1, FN_E);
    ret(&f, 7, P1, M0);
    ret(&f, 9, P2, M1);
    until(&f, 60);
    EXPECT_REQUESTS(&f, 2, 2, 0, 0);
    EXPECT_CALLS(&f, 4, 4, 0, 0, 0);
    expect_ms(row(&f, A, NULL).self_us, 2);
    done(&f);
}

/* The same, but that entry never comes: it was a leftover token. */
static void entry_inside_a_request_that_stays_unknown(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    call(&f, 3, P1, 8, A, FN_E);
    entry_prev(&f, 4, P1, 9, 8, FN_A);
    ret(&f, 5, P1, FN_A);
    ret(&f, 6, P1, FN_E);
    ret(&f, 7, P1, M0);
    until(&f, 60);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    EXPECT_CALLS(&f, 3, 2, 0, 0, 1);
    assert_int_equal(row(&f, E, "create").count, 2);
    done(&f);
}

static void calls_before_their_entry(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 2, P2, 7, A, M1);
    ret(&f, 3, P2, M1);
    call(&f, 0.5, P3, 7, B, M1); /* older than the entry */
    EXPECT_CALLS(&f, 2, 0, 2, 0, 0);
    call_id(&f, 1, P1, 7, E, M0, f.del);
    EXPECT_CALLS(&f, 3, 0, 2, 0, 1);
    ret(&f, 5, P1, M0);
    until(&f, 40);
    EXPECT_CALLS(&f, 3, 2, 0, 0, 1);
    assert_int_equal(row(&f, A, "delete").count, 1);
    assert_int_equal(row(&f, B, NULL).count, 0);
    done(&f);
}

static void entry_that_never_comes(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P2, 7, A, M1);
    call(&f, 1, P2, 7, B, FN_A);
    ret(&f, 2, P2, FN_A);
    until(&f, 25);
    EXPECT_CALLS(&f, 2, 0, 0, 0, 2);
    call(&f, 30, P2, 7, B, FN_A); /* immediately, this time */
    EXPECT_CALLS(&f, 3, 0, 0, 0, 3);
    ret(&f, 31, P2, FN_A);
    ret(&f, 32, P2, M1);
    call(&f, 33, P1, 7, E, M0);
    ret(&f, 34, P1, M0);
    until(&f, 80);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    done(&f);
}

static void unlabelled_calls(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 0, A, M0);
    ret(&f, 1, P1, M0);
    EXPECT_CALLS(&f, 1, 0, 0, 0, 1);
    call(&f, 2, P1, 7, E, M0);
    call(&f, 3, P1, 0, A, FN_E); /* a message lost the token */
    ret(&f, 4, P1, FN_E);
    ret(&f, 5, P1, M0);
    call(&f, 6, P1, 0, A, M0);
    until(&f, 40);
    EXPECT_CALLS(&f, 4, 2, 0, 0, 2);
    done(&f);
}

/* Two kprof-tops on one node: the entry of the other replaces our label by one of another epoch. */
static void label_of_another_kprof(void **state)
{
    (void)state;
    struct fix f = fix();
    const uint64_t ours = UINT64_C(1) << 32 | 5, theirs = UINT64_C(2) << 32 | 9;
    call_id(&f, 0, P1, ours, E, M0, f.create);
    call(&f, 2, P2, theirs, B, M1); /* arrives before the next */
    call(&f, 1, P1, theirs, A, FN_E);
    call(&f, 3, P3, theirs, B, M1);
    ret(&f, 4, P2, M1);
    ret(&f, 5, P3, M1);
    ret(&f, 6, P1, FN_E);
    ret(&f, 7, P1, M0);
    call(&f, 50, P2, theirs + 1, B, M1); /* not part of our requests */
    until(&f, 100);
    EXPECT_CALLS(&f, 5, 4, 0, 0, 1);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, B, "create").count, 2);
    assert_int_equal(row(&f, A, "create").count, 1);
    done(&f);
}

static void late_and_asynchronous(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    call(&f, 1, P2, 7, A, M1); /* still runs when the request closes */
    ret(&f, 10, P1, M0);
    call(&f, 9, P3, 7, B, M1);           /* late event: the call began before the close */
    call(&f, 12, P3, 7, B, FN_B + 1000); /* began after it */
    ret(&f, 13, P3, FN_B + 1000);
    ret(&f, 14, P3, M1);
    until(&f, 100);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    EXPECT_CALLS(&f, 4, 3, 1, 0, 0);
    call(&f, 110, P3, 7, B, M1); /* finalized long ago */
    ret(&f, 120, P3, M1);
    ret(&f, 121, P2, M1);
    EXPECT_CALLS(&f, 5, 5, 0, 0, 0);
    struct snap_row a = row(&f, A, "create"), b = row(&f, B, "create"), e = row(&f, E, "create");
    assert_int_equal(b.count, 3);
    assert_int_equal(b.late, 2);
    expect_ms(b.self_us * 3, 5 + 1 + 10);
    assert_int_equal(a.count, 1);
    assert_int_equal(a.late, 0);
    expect_ms(a.max_us, 120);
    expect_near(a.share + b.share + e.share, 1);
    expect_near(a.share, 0.8);
    done(&f);
}

static void identity_is_the_first_defined(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    ret(&f, 2, P1, FN_E);
    call_id(&f, 3, P2, 7, B, M1, f.del);
    ret(&f, 4, P2, M1);
    call_id(&f, 5, P2, 7, B, M1, f.create);
    ret(&f, 6, P2, M1);
    ret(&f, 7, P1, M0);
    call(&f, 8, P1, 8, E, M0);
    ret(&f, 9, P1, M0);
    until(&f, 40);
    assert_int_equal(row(&f, A, "delete").count, 1);
    assert_int_equal(row(&f, E, "delete").count, 1);
    assert_int_equal(row(&f, B, "delete").count, 2);
    assert_int_equal(row(&f, E, "undefined").count, 1);
    assert_int_equal(row(&f, E, NULL).count, 2);
    assert_int_equal(row(&f, TIER_TOTAL, "undefined").count, 1);
    core_set_identity(f.c, false);
    assert_int_equal(row(&f, E, "delete").tier, UINT16_MAX);
    assert_int_equal(row(&f, E, NULL).count, 2);
    done(&f);
}

static void identities_are_bounded(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.identities = 2;
    struct fix f = fix_of(l);
    for (uint64_t i = 0; i < 5; i++) {
        char name[8];
        int n = snprintf(name, sizeof name, "id%d", (int)i);
        call_id(&f, (double)i * 10, P1, i + 1, E, M0, intern_add(f.names, name, (size_t)n));
        ret(&f, (double)i * 10 + 1, P1, M0);
    }
    until(&f, 100);
    assert_int_equal(row(&f, E, "id1").count, 1);
    assert_int_equal(row(&f, E, "id2").tier, UINT16_MAX);
    assert_int_equal(row(&f, E, "<other>").count, 3);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->anomalies.identities_folded, 3);
    snapshot_free(s);
    done(&f);
}

static void one_named(struct fix *f, double ms, uint64_t label, const char *name)
{
    call_id(f, ms, P1, label, E, M0, intern_add(f->names, name, strlen(name)));
    ret(f, ms + 1, P1, M0);
    until(f, ms + 50);
}

/* A rule with new names for everything fills the table: the names of the next rule replace them. */
static void a_new_rule_takes_the_places_of_the_old(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.identities = 2;
    struct fix f = fix_of(l);
    core_set_slow(f.c, MS / 2);
    one_named(&f, 0, 1, "old1");
    one_named(&f, 100, 2, "old2");
    one_named(&f, 200, 3, "old3");
    assert_int_equal(row(&f, E, "<other>").count, 1);
    until(&f, 3000);
    core_set_identity(f.c, true);
    one_named(&f, 3100, 4, "old2"); /* still in use: keeps its place */
    one_named(&f, 3200, 5, "new1");
    one_named(&f, 3300, 6, "new2");
    assert_int_equal(row(&f, E, "old2").count, 2);
    assert_int_equal(row(&f, E, "new1").count, 1);
    assert_int_equal(row_in(&f, WINDOW_1M, E, "new1").count, 1);
    assert_int_equal(row(&f, E, "<other>").count, 3); /* has the whole run of old1 */
    assert_int_equal(row(&f, E, NULL).count, 6);
    assert_int_equal(row(&f, E, "old1").tier, UINT16_MAX);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->n_slow, 6);
    assert_string_equal(s->slow[5].ident, "<other>"); /* was old1 */
    snapshot_free(s);
    done(&f);
}

/* Until the target has the new rule, open requests still get names of the former rule. These names
 * may be replaced; their rows are removed with their calls. */
static void names_of_a_former_rule_go(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.identities = 2;
    struct fix f = fix_of(l);
    one_named(&f, 0, 1, "old1");
    one_named(&f, 100, 2, "old2");
    one_named(&f, 200, 3, "old3");
    struct snapshot *s = core_snapshot(f.c, WINDOW_10S, 0);
    assert_int_equal(s->names_full, 2);
    snapshot_free(s);
    until(&f, 10000);
    core_set_identity(f.c, true);
    call_id(&f, 10050, P2, 9, E, M0, intern_add(f.names, "old1", 4)); /* will be late */
    one_named(&f, 10100, 4, "old1");
    one_named(&f, 10200, 5, "old2");
    one_named(&f, 10300, 6, "new1"); /* they may still be in use */
    assert_int_equal(row_in(&f, WINDOW_1M, E, "<other>").count, 2);
    assert_false(row_in(&f, WINDOW_1M, E, "old2").former);
    until(&f, 13000);
    assert_true(row_in(&f, WINDOW_1M, E, "old2").former);
    assert_int_equal(row_in(&f, WINDOW_1M, E, "old2").count, 2);
    assert_int_equal(row_in(&f, WINDOW_1S, E, "old2").tier, UINT16_MAX);
    one_named(&f, 13100, 7, "new1");
    one_named(&f, 13200, 8, "new2");
    assert_int_equal(row_in(&f, WINDOW_1M, E, "new1").count, 1);
    assert_int_equal(row_in(&f, WINDOW_1M, E, "new2").count, 1);
    assert_false(row_in(&f, WINDOW_1M, E, "new2").former);
    one_named(&f, 16000, 10, "new1");
    one_named(&f, 16100, 11, "new2");
    ret(&f, 16500, P2, M0); /* the late name takes no place */
    until(&f, 17000);
    assert_int_equal(row_in(&f, WINDOW_1S, E, "old1").tier, UINT16_MAX);
    assert_int_equal(row_in(&f, WINDOW_1S, E, "<other>").count, 1);
    until(&f, 30000);
    assert_int_equal(row_in(&f, WINDOW_1S, E, "<other>").tier, UINT16_MAX);
    assert_false(row_in(&f, WINDOW_1S, E, "new1").former); /* idle, not removed */
    assert_int_equal(row_in(&f, WINDOW_1S, E, "new1").count, 0);
    s = core_snapshot(f.c, WINDOW_1M, 0);
    assert_int_equal(s->names_full, 0); /* all names are of the former rule */
    snapshot_free(s);
    assert_int_equal(row(&f, E, NULL).count, 11);
    done(&f);
}

/* Random calls under random rules: no call is lost, and the names of the current rule have places.
 */
static void places_go_to_the_rule_in_force(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.identities = 8;
    struct fix f = fix_of(l);
    uint64_t label = 1;
    double ms = 0;

    for (int rule = 0; rule < 5; rule++) {
        core_set_identity(f.c, true);
        for (int i = 0; i < 120; i++, ms += 100) {
            bool late = i < 10 && rule > 0; /* the target does not have it yet */
            char name[32];
            snprintf(name, sizeof name, "rule%d name%d", rule - late, i % 8);
            call_id(&f, ms, P1, label++, E, M0, intern_add(f.names, name, strlen(name)));
            ret(&f, ms + 1, P1, M0);
        }
        until(&f, ms);
        struct snapshot *s = core_snapshot(f.c, WINDOW_1S, 0);
        size_t names = 0;
        for (size_t i = 0; i < s->n_rows; i++)
            names += s->rows[i].tier == E && s->rows[i].ident;
        assert_int_equal(names, 8);
        assert_int_equal(s->names_full, 0);
        snapshot_free(s);
        assert_int_equal(row(&f, E, NULL).count, label - 1);
    }
    done(&f);
}

/* ---- ends ---- */

static uint64_t ended_ms(struct fix *f, uint64_t pid)
{
    return (core_exit_ns(f->c, pid) - T0) / MS;
}

/* The node reports only that a process is dead. */
static void time_of_an_exit(void **state)
{
    (void)state;
    struct fix f = fix();
    uint64_t pids[4];
    uint32_t from = 0;

    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P2, 7, A, M1); /* the entry waits for it */
    ret(&f, 30, P2, M1);
    call(&f, 2, P3, 8, E, M0);
    until(&f, 150);
    assert_int_equal(core_open_pids(f.c, 100 * MS, &from, pids, 4), 2);
    core_alive(f.c, P3, T0 + 150 * MS);
    assert_int_equal(core_open_pids(f.c, 100 * MS, &from, pids, 4), 1);
    assert_int_equal(pids[0], P1);
    assert_int_equal(core_open_pids(f.c, 0, &from, pids, 4), 2); /* the last question */
    /* P1 was not known to be alive: the newest event of its request */
    assert_true(core_dead(f.c, P1, T0 + 150 * MS));
    assert_false(core_dead(f.c, P1, T0 + 160 * MS));
    core_alive(f.c, P1, T0 + 160 * MS); /* it stays dead */
    assert_int_equal(ended_ms(&f, P1), 30);
    assert_int_equal(core_open_pids(f.c, 0, &from, pids, 4), 1); /* it is not asked for again */
    mark(&f, 30, P1, EVENT_EXIT, 0);
    /* later a process is asked for less often: an eighth of the age */
    until(&f, 260);
    assert_int_equal(core_open_pids(f.c, 100 * MS, &from, pids, 4), 1);
    until(&f, 4000);
    core_alive(f.c, P3, T0 + 4000 * MS);
    until(&f, 4400);
    assert_int_equal(core_open_pids(f.c, 100 * MS, &from, pids, 4), 0);
    until(&f, 4600);
    assert_int_equal(core_open_pids(f.c, 100 * MS, &from, pids, 4), 1);
    assert_true(core_dead(f.c, P3, T0 + 4600 * MS));
    assert_int_equal(ended_ms(&f, P3), 4300);
    call(&f, 4301, P3, 8, A, FN_E); /* an event after it was found alive */
    assert_int_equal(ended_ms(&f, P3), 4301);
    assert_false(core_dead(f.c, 999, T0)); /* it has no calls */
    assert_int_equal(ended_ms(&f, 999), 4600);
    done(&f);
}

/* Never known to be alive, and without calls in other processes. */
static void time_of_an_exit_at_once(void **state)
{
    (void)state;
    struct fix f = fix();

    call(&f, 2, P3, 8, E, M0);
    until(&f, 150);
    assert_true(core_dead(f.c, P3, T0 + 150 * MS));
    assert_int_equal(ended_ms(&f, P3), 2);
    done(&f);
}

static void exit_of_a_process(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P2, 7, A, M1);
    call(&f, 2, P1, 7, B, FN_E);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->n_open, 3); /* the oldest first */
    assert_string_equal(s->open[0].tier_name, "entry");
    assert_int_equal(s->open[1].pid, P2);
    expect_ms(s->open[0].age_us, 2);
    snapshot_free(s);
    mark(&f, 3, P2, EVENT_EXIT, 0);
    mark(&f, 5, P1, EVENT_EXIT, 0);
    until(&f, 40);
    EXPECT_CALLS(&f, 3, 3, 0, 0, 0);
    assert_int_equal(row(&f, A, NULL).exits, 1);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).exits, 1);
    until(&f, 5000); /* already packed */
    assert_int_equal(row(&f, B, NULL).exits, 1);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, A, NULL).errors, 1);
    expect_ms(row(&f, A, NULL).max_us, 2);
    assert_int_equal(row(&f, B, NULL).errors, 1);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).errors, 1);
    done(&f);
}

static void flush_expires(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    ret(&f, 2, P1, FN_E);
    call(&f, 3, P2, 8, A, M1); /* no entry */
    call(&f, 4, P3, 9, E, M0);
    ret(&f, 5, P3, M0); /* ended, only waits for late events */
    mark(&f, 6, UINT64_MAX, EVENT_FLUSH, 0);
    EXPECT_CALLS(&f, 4, 1, 0, 2, 1);
    EXPECT_REQUESTS(&f, 2, 1, 0, 1);
    ret(&f, 7, P1, M0);
    assert_int_equal(orphan_returns(&f), 1);
    call(&f, 8, P1, 10, E, M0);
    ret(&f, 9, P1, M0);
    until(&f, 40);
    EXPECT_REQUESTS(&f, 3, 2, 0, 1);
    done(&f);
}

static void requests_expire(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    call(&f, 2, P2, 7, B, M1);
    call(&f, 3, P3, 8, E, M2); /* another request, not as old */
    until(&f, 60002);
    EXPECT_REQUESTS(&f, 2, 0, 1, 1);
    EXPECT_CALLS(&f, 4, 0, 1, 3, 0);
    ret(&f, 60002, P3, M2);
    call(&f, 60002.5, P1, 7, A, FN_E); /* its label is given up */
    until(&f, 60040);
    EXPECT_REQUESTS(&f, 2, 1, 0, 1);
    EXPECT_CALLS(&f, 5, 1, 0, 3, 1);
    done(&f);
}

static void removed_tier(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    core_tier_remove(f.c, A);
    EXPECT_CALLS(&f, 2, 0, 1, 1, 0);
    call(&f, 2, P1, 7, A, FN_A); /* was open */
    ret(&f, 3, P1, FN_E);
    ret(&f, 4, P1, M0);
    until(&f, 40);
    EXPECT_CALLS(&f, 3, 1, 0, 1, 1);
    assert_int_equal(row(&f, A, NULL).tier, UINT16_MAX);
    call(&f, 50, P1, 8, E, M0);
    core_tier_remove(f.c, E);
    EXPECT_REQUESTS(&f, 2, 1, 0, 1);
    assert_int_equal(core_tier_add(f.c, "a2", "m:a/1"), 3); /* a number is never used twice */
    done(&f);
}

static void zero(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    ret(&f, 1, P1, M0);
    call_id(&f, 50, P1, 8, E, M0, f.del);
    core_zero(f.c);
    EXPECT_CALLS(&f, 1, 0, 1, 0, 0);
    EXPECT_REQUESTS(&f, 1, 0, 1, 0);
    assert_int_equal(row(&f, E, NULL).count, 0);
    assert_int_equal(row(&f, E, NULL).run_count, 0);
    ret(&f, 60, P1, M0);
    until(&f, 90);
    EXPECT_CALLS(&f, 1, 1, 0, 0, 0);
    assert_int_equal(row(&f, E, NULL).run_count, 1);
    assert_int_equal(row(&f, E, "delete").run_count, 0);
    until(&f, 30000); /* no longer in the window */
    assert_int_equal(row(&f, E, NULL).run_count, 1);
    assert_int_equal(row(&f, E, "delete").count, 1);
    assert_int_equal(row(&f, E, "create").tier, UINT16_MAX);
    done(&f);
}

/* ---- bounds ---- */

static void full_tables(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.open_requests = 2;
    l.processes = 3;
    l.stack_depth = 4;
    struct fix f = fix_of(l);
    for (uint64_t i = 1; i <= 3; i++)
        call(&f, (double)i, P1 + i, i, E, M0);
    EXPECT_CALLS(&f, 3, 0, 2, 0, 1);
    call(&f, 4, P1 + 3, 3, A, M0); /* of the refused request */
    EXPECT_CALLS(&f, 4, 0, 2, 0, 2);
    call(&f, 5, P1 + 8, 1, A, M0);
    call(&f, 5, P1 + 9, 1, A, M0); /* a fourth process */
    EXPECT_CALLS(&f, 6, 0, 3, 0, 3);
    for (int i = 0; i < 6; i++)
        call(&f, 6 + i, P1 + 1, 1, i % 2 ? A : B, (uint32_t)(300 + i));
    EXPECT_CALLS(&f, 12, 0, 6, 0, 6);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->anomalies.requests_full, 1);
    assert_int_equal(s->anomalies.pids_full, 4);
    snapshot_free(s);
    mark(&f, 20, 1, EVENT_FLUSH, 0);
    EXPECT_CALLS(&f, 12, 0, 0, 6, 6);
    done(&f);
}

static void long_request_gives_up_what_ended(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.request_calls = 16;
    struct fix f = fix_of(l);
    call_id(&f, 0, P1, 7, E, M0, f.create);
    for (int i = 0; i < 1000;
         i++) { /* 1 ms each: half in a, half of that in b of the other process */
        call(&f, i + 0.25, P1, 7, A, FN_E);
        call(&f, i + 0.5, P2, 7, B, M1);
        ret(&f, i + 0.75, P2, M1);
        ret(&f, i + 1, P1, FN_E);
    }
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_true(s->calls.open <= 32);
    snapshot_free(s);
    ret(&f, 1000, P1, M0);
    until(&f, 1040);
    struct snap_row e = row(&f, E, "create"), a = row(&f, A, "create"), b = row(&f, B, "create");
    assert_int_equal(a.count, 1000);
    assert_int_equal(b.count, 1000);
    expect_ms(a.self_us, 0.5);
    expect_ms(b.self_us, 0.25);
    expect_ms(e.self_us, 250);
    expect_near(e.share + a.share + b.share, 1);
    done(&f);
}

static void old_calls_show_before_the_request_ends(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    ret(&f, 2, P1, FN_E);
    until(&f, 5000);
    assert_int_equal(row(&f, A, NULL).count, 1);
    ret(&f, 5001, P1, M0);
    until(&f, 5100);
    EXPECT_CALLS(&f, 2, 2, 0, 0, 0);
    expect_ms(row(&f, E, NULL).self_us, 5000);
    done(&f);
}

/* The time of a request that is given up is that of all requests, even if no request ends after
 * it: the calls that were drained have added to the shares of their tiers. */
static void share_of_a_request_that_is_given_up(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P2, 8, E, M0, f.create);
    ret(&f, 10, P2, M0);
    call_id(&f, 100, P1, 7, E, M0, f.create);
    call(&f, 101, P1, 7, A, FN_E);
    ret(&f, 5101, P1, FN_E);
    for (int s = 6; s < 70; s++)
        until(&f, 1000 * s);
    EXPECT_REQUESTS(&f, 2, 1, 0, 1);
    double share = row(&f, A, "create").share;
    if (!(share > 5.0 / 62 && share < 5.0 / 60))
        fail_msg("%f of the time", share);
    done(&f);
}

/* ---- other values ---- */

static void no_entry(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_entry(f.c, TIER_NONE);
    call_id(&f, 0, P1, 0, A, M0, f.create);
    call(&f, 1, P1, 0, B, FN_A);
    ret(&f, 3, P1, FN_A);
    EXPECT_CALLS(&f, 2, 1, 1, 0, 0);
    ret(&f, 5, P1, M0);
    EXPECT_REQUESTS(&f, 0, 0, 0, 0);
    expect_ms(row(&f, A, "create").max_us, 5);
    expect_ms(row(&f, A, "create").self_us, 3);
    assert_int_equal(row(&f, B, "undefined").count, 1);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).count, 2);
    assert_int_equal(row(&f, TIER_TOTAL, "create").count, 1);
    done(&f);
}

static void weights(void **state)
{
    (void)state;
    struct fix f = fix();
    struct event ev = call_ev(0, P1, 7, E, M0);
    ev.weight = 10;
    feed(&f, ev);
    ev = call_ev(1, P1, 7, A, FN_E);
    ev.weight = 99; /* the weight of a request is that of its entry */
    feed(&f, ev);
    ret(&f, 2, P1, FN_E);
    ret(&f, 3, P1, M0);
    ev = call_ev(40, P1, 8, E, M0);
    ev.weight = 0;
    feed(&f, ev);
    ret(&f, 41, P1, M0);
    until(&f, 100);
    assert_int_equal(row(&f, A, NULL).est_count, 10);
    assert_int_equal(row(&f, E, NULL).est_count, 11);
    assert_int_equal(row(&f, TIER_TOTAL, NULL).est_count, 11);
    expect_near(row(&f, E, NULL).rate, 110);
    done(&f);
}

static void oldest_open(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 6, E, M0, f.create);
    ret(&f, 1, P1, M0);
    call_id(&f, 40, P1, 7, E, M0, f.create);
    call(&f, 50, P1, 7, A, FN_E);
    call(&f, 60, P2, 7, A, M1);
    until(&f, 140);
    expect_ms(row(&f, A, NULL).oldest_open_us, 90);
    expect_ms(row(&f, E, "create").oldest_open_us, 100);
    expect_ms(row(&f, TIER_TOTAL, "create").oldest_open_us, 100);
    uint64_t pids[4];
    uint32_t from = 0;
    assert_int_equal(core_open_pids(f.c, 85 * MS, &from, pids, 4), 1);
    assert_int_equal(pids[0], P1);
    assert_int_equal(core_open_pids(f.c, 1, &from, pids, 4), 2);
    assert_int_equal(core_open_pids(f.c, 1, &from, pids, 1), 1);
    uint64_t first = pids[0]; /* each one in turn */
    assert_int_equal(core_open_pids(f.c, 1, &from, pids, 1), 1);
    assert_int_not_equal(pids[0], first);
    assert_int_equal(core_open_pids(f.c, 1, &from, pids, 1), 1);
    assert_int_equal(pids[0], first);
    from = 4000000000u; /* processes that have ended */
    assert_int_equal(core_open_pids(f.c, 1, &from, pids, 4), 2);
    done(&f);
}

static void notes_and_order(void **state)
{
    (void)state;
    struct fix f = fix();
    core_tier_note(f.c, B, "no such function");
    for (uint64_t i = 1; i <= 3; i++) {
        call_id(&f, (double)i, P1, i, E, M0, i == 1 ? f.create : f.del);
        ret(&f, (double)i + 0.5, P1, M0);
    }
    until(&f, 100);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 123);
    static const struct {
        uint16_t tier;
        const char *ident;
    } want[] = {{E, NULL}, {E, "delete"},      {E, "create"},          {A, NULL},
                {B, NULL}, {TIER_TOTAL, NULL}, {TIER_TOTAL, "delete"}, {TIER_TOTAL, "create"}};
    assert_int_equal(s->n_rows, sizeof want / sizeof *want);
    for (size_t i = 0; i < s->n_rows; i++) {
        assert_int_equal(s->rows[i].tier, want[i].tier);
        assert_true(want[i].ident ? !strcmp(s->rows[i].ident, want[i].ident) : !s->rows[i].ident);
    }
    assert_string_equal(s->rows[4].note, "no such function");
    assert_string_equal(s->rows[5].tier_name, "_total");
    assert_string_equal(s->rows[1].tier_mfa, "m:e/1");
    assert_string_equal(s->rows[4].tier_mfa, "m:b/1");
    assert_null(s->rows[5].tier_mfa);
    assert_int_equal(s->wall_ns, 123);
    snapshot_free(s);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_entries),
        cmocka_unit_test(stale_prev_is_a_new_request),
        cmocka_unit_test(nobody_waits_for_an_entry_that_outlasts),
        cmocka_unit_test(entry_by_a_call_of_a_nested_request),
        cmocka_unit_test(nested_entry_comes_first),
        cmocka_unit_test(entry_inside_a_request_that_is_not_known_yet),
        cmocka_unit_test(entry_inside_a_request_that_stays_unknown),
        cmocka_unit_test(calls_before_their_entry),
        cmocka_unit_test(entry_that_never_comes),
        cmocka_unit_test(unlabelled_calls),
        cmocka_unit_test(label_of_another_kprof),
        cmocka_unit_test(late_and_asynchronous),
        cmocka_unit_test(identity_is_the_first_defined),
        cmocka_unit_test(identities_are_bounded),
        cmocka_unit_test(a_new_rule_takes_the_places_of_the_old),
        cmocka_unit_test(names_of_a_former_rule_go),
        cmocka_unit_test(places_go_to_the_rule_in_force),
        cmocka_unit_test(time_of_an_exit),
        cmocka_unit_test(time_of_an_exit_at_once),
        cmocka_unit_test(exit_of_a_process),
        cmocka_unit_test(flush_expires),
        cmocka_unit_test(requests_expire),
        cmocka_unit_test(removed_tier),
        cmocka_unit_test(zero),
        cmocka_unit_test(full_tables),
        cmocka_unit_test(long_request_gives_up_what_ended),
        cmocka_unit_test(share_of_a_request_that_is_given_up),
        cmocka_unit_test(old_calls_show_before_the_request_ends),
        cmocka_unit_test(no_entry),
        cmocka_unit_test(weights),
        cmocka_unit_test(oldest_open),
        cmocka_unit_test(notes_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
