/* The list of slow requests: one entry for each request with slow calls, and its values. */
#include "core_fixture.h"

#include <core/slow_store.h>

static struct snapshot *snap(struct fix *f)
{
    return core_snapshot(f->c, WINDOW_RUN, T0 + UINT64_C(1000) * MS);
}

/* The request, a tier in it and a tier in that are slow: one entry contains all three. */
static void one_entry_for_a_request(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, 5 * MS);
    call_id(&f, 0, P1, 77, E, M0, f.create);
    call(&f, 1, P1, 77, A, FN_E);
    call(&f, 2, P2, 77, B, M1);
    ret(&f, 9, P2, M1);
    call(&f, 9.5, P2, 77, B, M1);
    mark(&f, 10, P2, EVENT_EXIT, 0);
    ret(&f, 12, P1, FN_E);
    ret(&f, 20, P1, M0);
    until(&f, 1000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 1);
    const struct snap_slow *w = &s->slow[0];
    assert_int_equal(w->seq, 1);
    assert_int_equal(w->done, 1);
    assert_int_equal(w->n_slow, 3); /* entry, a, the first b */
    assert_int_equal(w->request, 77);
    assert_string_equal(w->ident, "create");
    assert_string_equal(w->tier_name, "entry"); /* the longest */
    expect_ms(w->duration_us, 20);
    expect_ms(w->request_us, 20);
    assert_int_equal(w->pid, P1);
    assert_int_equal(w->wall_ns, T0 + 20 * MS);
    assert_int_equal(w->first_ns, 11 * MS); /* b ended at 9 */
    assert_false(w->error);
    assert_null(w->args);
    static const char *const slow[] = {"entry", "a", "b"};
    static const double took[] = {20, 11, 7};
    assert_int_equal(w->n_calls, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(w->calls[i].tier_name, slow[i]);
        assert_int_equal(w->calls[i].calls, 1);
        assert_int_equal(w->calls[i].pid, i == 2 ? P2 : P1);
        expect_ms(w->calls[i].duration_us, took[i]);
    }
    assert_int_equal(w->n_tiers, 4);
    assert_string_equal(w->tiers[0].name, "entry");
    assert_int_equal(w->tiers[0].start_us, 0);
    assert_int_equal(w->tiers[0].duration_us, 20000);
    assert_int_equal(w->tiers[2].start_us, 2000);
    assert_int_equal(w->tiers[2].pid, P2);
    assert_true(w->tiers[3].error);
    /* total and self time of each tier: entry 20, a in it 11, b in a 7 + 0.5 */
    static const double sum[] = {20, 11, 7.5}, self[] = {9, 3.5, 7.5};
    assert_int_equal(w->n_sums, 3);
    for (size_t i = 0; i < 3; i++) {
        expect_ms(w->sums[i].sum_us, sum[i]);
        expect_ms(w->sums[i].self_us, self[i]);
        assert_int_equal(w->sums[i].calls, i == 2 ? 2 : 1);
    }
    assert_int_equal(w->tiers[0].self_us, 9000);
    snapshot_free(s);
    done(&f);
}

/* Two nested calls, the inner one in another process takes most of the time: the line names it. */
static void what_explains_a_request(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, 5 * MS);
    call_id(&f, 0, P1, 77, E, M0, f.create);
    call(&f, 1, P2, 77, B, M1);
    ret(&f, 3, P2, M1);
    call(&f, 4, P3, 77, B, M1);
    ret(&f, 18, P3, M1);
    ret(&f, 20, P1, M0);
    until(&f, 1000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 1);
    const struct snap_slow *w = &s->slow[0];
    const struct snap_slow_sum *most = slow_most(w);
    assert_non_null(most);
    assert_string_equal(most->name, "b");
    expect_ms(most->self_us, 16);
    assert_int_equal(most->calls, 2);
    assert_int_equal(most->pid, P3); /* the process of the longer one */
    assert_string_equal(slow_tier(w), "b");
    assert_int_equal(slow_pid(w), P3);
    expect_ms(slow_took_us(w), 20);
    assert_string_equal(w->tier_name, "entry");
    snapshot_free(s);
    done(&f);
}

/* A call that is longer than its request explains it only until the request ended. */
static void a_call_longer_than_its_request(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, 5 * MS);
    call_id(&f, 0, P1, 77, E, M0, f.create);
    call(&f, 1, P2, 77, B, M1);
    ret(&f, 10, P1, M0);
    ret(&f, 21, P2, M1);
    until(&f, 1000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 1);
    const struct snap_slow *w = &s->slow[0];
    expect_ms(w->request_us, 10);
    assert_int_equal(w->n_sums, 2);
    expect_ms(w->sums[0].self_us, 1);
    expect_ms(w->sums[1].sum_us, 20);
    expect_ms(w->sums[1].self_us, 9);
    expect_ms((double)w->tiers[1].self_us, 9);
    snapshot_free(s);
    done(&f);
}

/* More slow tiers than fit in an entry: all are counted, the longest are stored. */
static void more_slow_tiers_than_are_kept(void **state)
{
    (void)state;
    struct slow_entry e = {.seq = 1};
    for (uint8_t tier = 0; tier < 2 * SLOW_ENTRY_SLOW; tier++)
        for (int i = 0; i < 2; i++)
            slow_entry_note(&e, &(struct slow_entry_slow){.end_ns = 100u - tier,
                                                          .duration_ns = 10u * tier + 1,
                                                          .calls = 1,
                                                          .tier = tier});
    assert_int_equal(e.n_slow, 4 * SLOW_ENTRY_SLOW);
    assert_int_equal(e.slow_tiers, SLOW_ENTRY_SLOW);
    assert_int_equal(e.end_ns, 100);
    assert_int_equal(e.soonest_ns, 100 - 2 * SLOW_ENTRY_SLOW + 1);
    for (uint8_t i = 0; i < e.slow_tiers; i++) {
        assert_true(e.slow[i].tier >= SLOW_ENTRY_SLOW);
        assert_int_equal(e.slow[i].calls, 2);
    }
    assert_int_equal(slow_entry_longest(&e)->tier, 2 * SLOW_ENTRY_SLOW - 1);
}

/* For the slow log, which reads new entries. */
static void calls_since_a_number(void **state)
{
    (void)state;
    struct fix f = fix(); /* 8 entries */
    core_set_slow(f.c, MS);
    assert_int_equal(core_slow_done(f.c), 0);
    for (uint64_t i = 1; i <= 12; i++) {
        call_id(&f, (double)i * 10, P1, i, E, M0, f.create);
        ret(&f, (double)i * 10 + 5, P1, M0);
    }
    until(&f, 300);
    assert_int_equal(core_slow_done(f.c), 12);
    static const size_t since[] = {0, 4, 9, 12, 13}, want[] = {8, 8, 3, 0, 0};
    for (size_t i = 0; i < 5; i++) {
        struct snapshot *s = core_slow_since(f.c, since[i], T0 + 300 * MS);
        assert_int_equal(s->n_slow, want[i]);
        for (size_t k = 0; k < s->n_slow; k++) {
            assert_int_equal(s->slow[k].done, 12 - k);
            assert_string_equal(s->slow[k].ident, "create");
            assert_int_equal(s->slow[k].wall_ns, T0 + ((12 - k) * 10 + 5) * MS);
        }
        snapshot_free(s);
    }
    done(&f);
}

static void the_filter(void **state)
{
    (void)state;
    struct snap_slow w = {.tier_name = "db",
                          .ident = "Create",
                          .who = "kv_db:loop/1",
                          .args = "{get,42}",
                          .pid = (uint64_t)7 << 32 | 99,
                          .wall_ns = 5000,
                          .first_ns = 200};
    static const struct {
        struct slow_filter f;
        bool set, matches;
    } all[] = {
        {{.text = ""}, false, true},
        {{.text = "create"}, true, true},
        {{.text = "kv_db"}, true, true},
        {{.text = "get,4"}, true, true},
        {{.text = "<0.99.7>"}, true, true},
        {{.text = "web"}, true, false},
        {{.from_ns = 5000}, true, true},
        {{.from_ns = 5001}, true, false},
        {{.from_ns = 4000, .to_ns = 5001}, true, true},
        {{.to_ns = 4801}, true, true}, /* a slow call of it ended at 4800 */
        {{.to_ns = 4800}, true, false},
        {{.text = "web", .from_ns = 4000, .to_ns = 5001}, true, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(slow_filter_set(&all[i].f), all[i].set);
        if (slow_matches(&all[i].f, &w) != all[i].matches)
            fail_msg("filter %zu", i);
    }
    w.who = w.args = NULL;
    assert_false(slow_matches(&(struct slow_filter){.text = "kv_db"}, &w));
}

static void off_until_a_threshold_is_set(void **state)
{
    (void)state;
    struct fix f = fix();
    for (uint64_t i = 0; i < 3; i++) {
        core_set_slow(f.c, i == 1 ? MS : 0);
        call(&f, (double)i * 100, P1, i + 1, E, M0);
        ret(&f, (double)i * 100 + 5, P1, M0);
        until(&f, (double)i * 100 + 50);
    }
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 1);
    assert_int_equal(s->slow[0].request, 2);
    assert_string_equal(s->slow[0].ident, "undefined");
    assert_int_equal(s->slow_since_wall_ns, 0); /* off again */
    snapshot_free(s);
    core_set_slow(f.c, 2 * MS); /* now, at 250 ms; a later, higher one stores no more */
    until(&f, 300);
    core_set_slow(f.c, 3 * MS);
    s = snap(&f);
    assert_int_equal((s->wall_ns - s->slow_since_wall_ns) / MS, 50);
    snapshot_free(s);
    core_zero(f.c);
    s = snap(&f);
    assert_int_equal(s->n_slow, 0);
    snapshot_free(s);
    done(&f);
}

static void the_oldest_go_first(void **state)
{
    (void)state;
    struct fix f = fix(); /* 8 entries */
    core_set_slow(f.c, MS);
    for (uint64_t i = 1; i <= 20; i++) {
        call(&f, (double)i * 10, P1, i, E, M0);
        ret(&f, (double)i * 10 + 5, P1, M0);
    }
    until(&f, 300);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow_recent, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(s->slow[i].seq, 20 - i);
        assert_int_equal(s->slow[i].request, 20 - i);
    }
    snapshot_free(s);
    done(&f);
}

/* The slowest of each identity are stored for three hours, in order, however many come after them.
 */
static void the_slowest_of_each_identity_stay(void **state)
{
    (void)state;
    struct fix f = fix(); /* 8 entries */
    core_set_slow(f.c, MS);
    for (uint64_t i = 1; i <= 200; i++) {
        double t = (double)i * 100;
        bool two = i % 2;
        call_id(&f, t, P1, i, E, M0, two ? f.create : f.del);
        ret(&f, t + (i == 9 || i == 20 ? 60 : i % 50 == 0 ? 30 : 2 + two), P1, M0);
    }
    until(&f, 30000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow_recent, 8);
    assert_int_equal(s->n_slow, 8 + 2 * SLOW_KEPT_EACH);
    static const uint64_t of_del[] = {20, 50, 100, 150};
    size_t create = 0, del = 0, nines = 0;
    for (size_t i = 0; i < s->n_slow; i++) {
        const struct snap_slow *w = &s->slow[i];
        assert_true(i == 0 || w->done < s->slow[i - 1].done);
        if (i < 8)
            continue;
        create += !strcmp(w->ident, "create");
        nines += w->request == 9;
        for (size_t k = 0; k < 4; k++)
            del += w->request == of_del[k];
    }
    assert_int_equal(create, SLOW_KEPT_EACH);
    assert_int_equal(del, SLOW_KEPT_EACH);
    assert_int_equal(nines, 1); /* the slowest of create were early */
    snapshot_free(s);
    s = core_slow_since(f.c, 0, T0); /* the slow log has already read them */
    assert_int_equal(s->n_slow, 8);
    snapshot_free(s);
    double hours = 2 * 3600 * 1e3;
    for (uint64_t i = 1; i <= 20; i++) { /* none is as slow */
        call_id(&f, hours + (double)i * 100, P1, 500 + i, E, M0, f.create);
        ret(&f, hours + (double)i * 100 + 2, P1, M0);
    }
    until(&f, hours + 10000);
    s = snap(&f);
    size_t early = 0;
    for (size_t i = 0; i < s->n_slow; i++)
        early += s->slow[i].request <= 200;
    assert_int_equal(early, 2 * SLOW_KEPT_EACH);
    snapshot_free(s);
    double later = 4 * 3600 * 1e3;
    for (uint64_t i = 1; i <= 20; i++) {
        call_id(&f, later + (double)i * 100, P1, 1000 + i, E, M0, f.create);
        ret(&f, later + (double)i * 100 + 5, P1, M0);
    }
    until(&f, later + 10000);
    s = snap(&f);
    assert_int_equal(s->n_slow, 8 + SLOW_KEPT_EACH);
    assert_true(s->slow[s->n_slow - 1].request > 1000);
    core_zero(f.c);
    snapshot_free(s);
    s = snap(&f);
    assert_int_equal(s->n_slow, 0);
    snapshot_free(s);
    done(&f);
}

/* An open request: its other values are added when they are known, and later slow calls are added
 * to the earlier ones. The slow log receives it once, complete. */
static void logged_before_the_request_ends(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, 5 * MS);
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    ret(&f, 100, P1, FN_E);
    until(&f, 5000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 1);
    assert_true(s->slow[0].request_us == 0);
    assert_int_equal(s->slow[0].done, 0);
    assert_int_equal(s->slow[0].n_slow, 1);
    assert_null(slow_most(&s->slow[0]));
    assert_string_equal(slow_tier(&s->slow[0]), "a");
    snapshot_free(s);
    call(&f, 5100, P2, 8, E, M0); /* another one, which ends at once */
    ret(&f, 5110, P2, M0);
    until(&f, 5500);
    s = core_slow_since(f.c, 0, T0);
    assert_int_equal(s->n_slow, 1); /* only this one */
    assert_int_equal(s->slow[0].request, 8);
    snapshot_free(s);
    ret(&f, 6000, P1, M0);
    until(&f, 6100);
    s = snap(&f);
    assert_int_equal(s->n_slow, 2);
    const struct snap_slow *w = &s->slow[0]; /* it ended last */
    assert_int_equal(w->request, 7);
    assert_int_equal(w->seq, 1);
    assert_int_equal(w->done, 2);
    expect_ms(w->request_us, 6000);
    assert_int_equal(w->n_slow, 2);
    assert_int_equal(w->n_tiers, 2);
    assert_string_equal(w->tiers[0].name, "entry");
    assert_string_equal(w->tiers[1].name, "a");
    assert_int_equal(w->tiers[1].start_us, 1000);
    assert_int_equal(w->tiers[1].duration_us, 99000);
    assert_int_equal(w->n_sums, 2);
    snapshot_free(s);
    s = core_slow_since(f.c, 1, T0);
    assert_int_equal(s->n_slow, 1);
    assert_int_equal(s->slow[0].request, 7);
    snapshot_free(s);
    done(&f);
}

/* Expired requests, and requests that are open when the slow log reads for the last time. */
static void logged_though_the_request_never_ends(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct core_limits l = small();
        l.expire_ns = 20000 * MS;
        struct fix f = fix_of(l);
        core_set_slow(f.c, 5 * MS);
        call(&f, 0, P1, 7, E, M0);
        call(&f, 1, P1, 7, A, FN_E);
        ret(&f, 100, P1, FN_E);
        until(&f, 5000);
        if (!all)
            until(&f, 30000);
        if (all)
            core_slow_end_all(f.c);
        assert_int_equal(core_slow_done(f.c), 1);
        struct snapshot *s = core_slow_since(f.c, 0, T0);
        assert_int_equal(s->n_slow, 1);
        assert_int_equal(s->slow[0].n_slow, 1);
        assert_true(s->slow[0].request_us == 0);
        snapshot_free(s);
        done(&f);
    }
}

/* More open requests than the store has room for: the values of the first are not lost. */
static void more_open_requests_than_are_kept(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.slow_entries = 1000;
    l.open_requests = l.processes = 2 * SLOW_STORE_OPEN;
    struct fix f = fix_of(l);
    core_set_slow(f.c, 5 * MS);
    for (uint64_t i = 0; i < SLOW_STORE_OPEN + 6; i++) {
        double t = (double)i * 20;
        call(&f, t, 1000 + i, 1 + i, E, M0);
        call(&f, t + 1, 1000 + i, 1 + i, A, FN_E);
        ret(&f, t + 10, 1000 + i, FN_E);
    }
    until(&f, 8000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, SLOW_STORE_OPEN + 6);
    assert_int_equal(core_slow_done(f.c), 6);
    snapshot_free(s);
    for (uint64_t i = 0; i < SLOW_STORE_OPEN + 6; i++)
        ret(&f, 9000 + (double)i, 1000 + i, M0);
    until(&f, 20000);
    s = snap(&f);
    uint64_t calls = 0;
    for (size_t i = 0; i < s->n_slow; i++)
        calls += s->slow[i].n_slow;
    assert_int_equal(calls, 2 * (SLOW_STORE_OPEN + 6));
    snapshot_free(s);
    done(&f);
}

static void args_call(struct fix *f, double ms, uint64_t label, uint64_t args)
{
    struct event ev = call_ev(ms, P1, label, A, FN_E);
    ev.args = args;
    feed(f, ev);
}

static void arguments(void **state)
{
    (void)state;
    struct fix f = fix();
    struct text_ring *text_ring = text_ring_new(0);
    uint64_t args = text_ring_add(text_ring, "[1,2]", 5);
    core_set_text_ring(f.c, text_ring);
    core_set_slow(f.c, 5 * MS);
    call(&f, 0, P1, 7, E, M0);
    args_call(&f, 1, 7, args);
    ret(&f, 10, P1, FN_E);
    ret(&f, 11, P1, M0);
    until(&f, 40);
    call(&f, 52, P1, 8, E, M0); /* the slot is reused, but not its arguments */
    args_call(&f, 53, 8, 0);
    ret(&f, 60, P1, FN_E);
    ret(&f, 61, P1, M0);
    until(&f, 100);
    call(&f, 110, P1, 9, E, M0); /* a text that was overwritten */
    args_call(&f, 111, 9, args);
    for (int i = 0; i < 10000; i++)
        text_ring_add(text_ring, "another one", 11);
    ret(&f, 120, P1, FN_E);
    ret(&f, 121, P1, M0);
    until(&f, 200);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 3);
    size_t with = 0;
    for (size_t i = 0; i < s->n_slow; i++)
        for (size_t k = 0; k < s->slow[i].n_calls; k++)
            if (s->slow[i].calls[k].args) {
                with++;
                assert_string_equal(s->slow[i].calls[k].args, "[1,2]");
                assert_string_equal(s->slow[i].calls[k].tier_name, "a");
                assert_int_equal(s->slow[i].request, 7);
                assert_true(slow_matches(&(struct slow_filter){.text = "[1,"}, &s->slow[i]));
            }
    assert_int_equal(with, 1);
    snapshot_free(s);
    done(&f);
    text_ring_free(text_ring);
}

static void calls_without_a_request(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_entry(f.c, TIER_NONE);
    core_set_slow(f.c, 5 * MS);
    call_id(&f, 0, P1, 0, A, M0, f.del);
    ret(&f, 10, P1, M0);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 1);
    assert_string_equal(s->slow[0].ident, "delete");
    assert_int_equal(s->slow[0].request, 0);
    assert_int_equal(s->slow[0].n_tiers, 0);
    snapshot_free(s);
    done(&f);
}

static void removed_tiers_leave(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, 1 * MS);
    for (uint64_t i = 1; i <= 6; i++) { /* more than the ring holds */
        double t = (double)i * 100;
        call(&f, t, P1, i, E, M0);
        call(&f, t + 1, P1, i, A, FN_E);
        ret(&f, t + 5, P1, FN_E);
        ret(&f, t + 6, P1, M0);
    }
    until(&f, 700);
    call(&f, 700, P1, 0, A, M0); /* only a is left of it, so it is removed */
    ret(&f, 710, P1, M0);
    until(&f, 790);
    core_tier_remove(f.c, A);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 6);
    for (size_t i = 0; i < s->n_slow; i++) {
        assert_string_equal(s->slow[i].tier_name, "entry");
        assert_int_equal(s->slow[i].n_slow, 1);
        assert_int_equal(s->slow[i].request, 6 - i);
    }
    snapshot_free(s);
    call(&f, 800, P1, 9, E, M0);
    ret(&f, 810, P1, M0);
    until(&f, 900);
    s = snap(&f);
    assert_int_equal(s->n_slow, 7);
    assert_int_equal(s->slow[0].request, 9);
    snapshot_free(s);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_entry_for_a_request),
        cmocka_unit_test(what_explains_a_request),
        cmocka_unit_test(a_call_longer_than_its_request),
        cmocka_unit_test(more_slow_tiers_than_are_kept),
        cmocka_unit_test(off_until_a_threshold_is_set),
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(the_slowest_of_each_identity_stay),
        cmocka_unit_test(logged_before_the_request_ends),
        cmocka_unit_test(logged_though_the_request_never_ends),
        cmocka_unit_test(more_open_requests_than_are_kept),
        cmocka_unit_test(arguments),
        cmocka_unit_test(calls_since_a_number),
        cmocka_unit_test(the_filter),
        cmocka_unit_test(calls_without_a_request),
        cmocka_unit_test(removed_tiers_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
