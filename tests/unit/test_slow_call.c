/* The slow log: which calls it holds and what it says of their request. */
#include "core_fixture.h"

static struct snapshot *snap(struct fix *f)
{
    return core_snapshot(f->c, WINDOW_RUN, T0 + UINT64_C(1000) * MS);
}

static void slow_calls_of_a_request(void **state)
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
    assert_int_equal(s->n_slow, 3); /* entry, a, the first b */
    const struct snap_slow *b = NULL;
    for (size_t i = 0; i < s->n_slow; i++) {
        const struct snap_slow *w = &s->slow[i];
        assert_int_equal(w->seq, 3 - i);
        assert_int_equal(w->request, 77);
        assert_string_equal(w->ident, "create");
        expect_ms(w->request_us, 20);
        assert_int_equal(w->n_tiers, 4);
        assert_null(w->args);
        if (!strcmp(w->tier_name, "b"))
            b = w;
    }
    assert_non_null(b);
    expect_ms(b->duration_us, 7);
    assert_int_equal(b->pid, P2);
    assert_int_equal(b->wall_ns, T0 + 9 * MS);
    assert_false(b->error);
    assert_string_equal(b->tiers[0].name, "entry");
    assert_int_equal(b->tiers[0].start_us, 0);
    assert_int_equal(b->tiers[0].duration_us, 20000);
    assert_int_equal(b->tiers[2].start_us, 2000);
    assert_int_equal(b->tiers[2].pid, P2);
    assert_true(b->tiers[3].error);
    /* each tier's sum and self: entry 20, a 11 in it, b 7 + 0.5 in that */
    static const double sum[] = {20, 11, 7.5}, self[] = {9, 3.5, 7.5};
    assert_int_equal(b->n_sums, 3);
    for (size_t i = 0; i < 3; i++) {
        expect_ms(b->sums[i].sum_us, sum[i]);
        expect_ms(b->sums[i].self_us, self[i]);
        assert_int_equal(b->sums[i].calls, i == 2 ? 2 : 1);
    }
    assert_int_equal(b->tiers[0].self_us, 9000);
    snapshot_free(s);
    done(&f);
}

/* For whoever writes them down as they come. */
static void calls_since_a_number(void **state)
{
    (void)state;
    struct fix f = fix(); /* 8 entries */
    core_set_slow(f.c, MS);
    assert_int_equal(core_slow_seq(f.c), 0);
    for (uint64_t i = 1; i <= 12; i++) {
        call_id(&f, (double)i * 10, P1, i, E, M0, f.create);
        ret(&f, (double)i * 10 + 5, P1, M0);
    }
    until(&f, 300);
    assert_int_equal(core_slow_seq(f.c), 12);
    static const size_t since[] = {0, 4, 9, 12, 13}, want[] = {8, 8, 3, 0, 0};
    for (size_t i = 0; i < 5; i++) {
        struct snapshot *s = core_slow_since(f.c, since[i], T0 + 300 * MS);
        assert_int_equal(s->n_slow, want[i]);
        for (size_t k = 0; k < s->n_slow; k++) {
            assert_int_equal(s->slow[k].seq, 12 - k);
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
                          .wall_ns = 5000};
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
        {{.to_ns = 5000}, true, false},
        {{.from_ns = 4000, .to_ns = 5001}, true, true},
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
    assert_int_equal(s->n_slow, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(s->slow[i].seq, 20 - i);
        assert_int_equal(s->slow[i].request, 20 - i);
    }
    snapshot_free(s);
    done(&f);
}

/* A request that stays open: its duration is filled in when it is known. */
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
    snapshot_free(s);
    ret(&f, 6000, P1, M0);
    until(&f, 6100);
    s = snap(&f);
    assert_int_equal(s->n_slow, 2);
    expect_ms(s->slow[0].request_us, 6000);
    expect_ms(s->slow[1].request_us, 6000);
    for (size_t i = 0; i < 2; i++) { /* both have all of it, the entry's line above all */
        assert_int_equal(s->slow[i].n_tiers, 2);
        assert_string_equal(s->slow[i].tiers[0].name, "entry");
        assert_string_equal(s->slow[i].tiers[1].name, "a");
        assert_int_equal(s->slow[i].tiers[1].start_us, 1000);
        assert_int_equal(s->slow[i].tiers[1].duration_us, 99000);
        assert_int_equal(s->slow[i].n_sums, 2);
    }
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
    call(&f, 52, P1, 8, E, M0); /* the slot is used again: not its arguments */
    args_call(&f, 53, 8, 0);
    ret(&f, 60, P1, FN_E);
    ret(&f, 61, P1, M0);
    until(&f, 100);
    call(&f, 110, P1, 9, E, M0); /* a text that has been overwritten since */
    args_call(&f, 111, 9, args);
    for (int i = 0; i < 10000; i++)
        text_ring_add(text_ring, "another one", 11);
    ret(&f, 120, P1, FN_E);
    ret(&f, 121, P1, M0);
    until(&f, 200);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 6);
    size_t with = 0;
    for (size_t i = 0; i < s->n_slow; i++)
        if (s->slow[i].args) {
            with++;
            assert_string_equal(s->slow[i].args, "[1,2]");
            assert_string_equal(s->slow[i].tier_name, "a");
            assert_int_equal(s->slow[i].request, 7);
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
    core_tier_remove(f.c, A);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 4);
    for (size_t i = 0; i < s->n_slow; i++) {
        assert_string_equal(s->slow[i].tier_name, "entry");
        assert_int_equal(s->slow[i].request, 6 - i);
    }
    snapshot_free(s);
    call(&f, 800, P1, 9, E, M0);
    ret(&f, 810, P1, M0);
    until(&f, 900);
    s = snap(&f);
    assert_int_equal(s->n_slow, 5);
    assert_int_equal(s->slow[0].request, 9);
    snapshot_free(s);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_calls_of_a_request),
        cmocka_unit_test(off_until_a_threshold_is_set),
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(logged_before_the_request_ends),
        cmocka_unit_test(arguments),
        cmocka_unit_test(calls_since_a_number),
        cmocka_unit_test(the_filter),
        cmocka_unit_test(calls_without_a_request),
        cmocka_unit_test(removed_tiers_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
