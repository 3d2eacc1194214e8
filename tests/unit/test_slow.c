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
    snapshot_free(s);
    done(&f);
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
    snapshot_free(s);
    done(&f);
}

static void arguments(void **state)
{
    (void)state;
    struct fix f = fix();
    uint32_t args = intern_add(f.names, "[1,2]", 5);
    core_set_slow(f.c, 5 * MS);
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, A, FN_E);
    feed(&f, (struct event){.ts_ns = T0 + MS, .pid = P1, .ident = args, .kind = EVENT_ARGS});
    ret(&f, 10, P1, FN_E);
    ret(&f, 11, P1, M0);
    until(&f, 40);
    call(&f, 52, P1, 8, E, M0); /* the slot is used again: not its arguments */
    call(&f, 53, P1, 8, A, FN_E);
    ret(&f, 60, P1, FN_E);
    ret(&f, 61, P1, M0);
    feed(&f, (struct event){.ts_ns = T0 + 62 * MS, .pid = P3, .ident = args, .kind = EVENT_ARGS});
    until(&f, 100);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow, 4);
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
        cmocka_unit_test(calls_without_a_request),
        cmocka_unit_test(removed_tiers_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
