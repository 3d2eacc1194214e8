/* VM events: the store compared with a plain list, and what snapshots have of them. */
#include "core_fixture.h"
#include "rng.h"
#include <core/vm_events.h>

#include <stdlib.h>

#define SECOND_NS (1000 * MS)
#define WALL      UINT64_C(1000000000000)

static struct event vm(enum vm_event_kind kind, uint64_t end_ms, uint64_t took_ms, uint64_t pid)
{
    return (struct event){.ts_ns = T0 + end_ms * MS,
                          .kind = EVENT_VM,
                          .tier = (uint16_t)kind,
                          .prev = took_ms * MS,
                          .pid = pid,
                          .label = 1};
}

static void take(struct vm_events *v, struct event ev)
{
    vm_events_take(v, &ev);
}

/* ---- the store ---- */

static void the_longest_of_a_second_stay(void **state)
{
    struct vm_events *v = calloc(1, sizeof *v);
    const struct vm_event *e;
    uint64_t sum = 0, more = 0;

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        take(v, vm(VM_EVENT_LONG_GC, 5000 + i, 50 + i * 37 % 100, P1));
    take(v, vm(VM_EVENT_LONG_SCHEDULE, 5000, 60, P2)); /* another kind */
    take(v, vm(VM_EVENT_LONG_GC, 6000, 50, P1));       /* another second */
    assert_int_equal(v->n, VM_EVENTS_A_SECOND + 2);
    for (size_t i = 0; (e = vm_events_newest(v, i)); i++) {
        if (e->kind != VM_EVENT_LONG_GC || e->to_ns >= T0 + 6000 * MS)
            continue;
        sum += (e->to_ns - e->from_ns) / MS;
        more += e->more;
    }
    assert_int_equal(sum, 149 + 148 + 147 + 146);
    assert_int_equal(more, 96);
    free(v);
}

static void a_queue_ends(void **state)
{
    struct vm_events *v = calloc(1, sizeof *v);
    struct event end = vm(VM_EVENT_LONG_QUEUE, 9000, 0, P1);

    (void)state;
    end.label = 0;
    take(v, end); /* its start was not seen */
    assert_int_equal(v->n, 0);
    take(v, vm(VM_EVENT_LONG_QUEUE, 4000, 0, P1));
    take(v, vm(VM_EVENT_LONG_QUEUE, 5000, 0, P2));
    take(v, end);
    const struct vm_event *e = vm_events_newest(v, 1);
    assert_false(e->open);
    assert_int_equal(e->from_ns, T0 + 4000 * MS);
    assert_int_equal(e->to_ns, T0 + 9000 * MS);
    assert_true(vm_events_newest(v, 0)->open);
    take(v, end); /* once more: nothing */
    assert_int_equal(v->n, 2);
    free(v);
}

static void a_long_run_queue_is_one_event(void **state)
{
    struct vm_events *v = calloc(1, sizeof *v);

    (void)state;
    for (uint64_t s = 1; s <= 20; s++) {
        struct event ev = vm(VM_EVENT_RUN_QUEUE, s * 1000, 1000, 0);
        ev.label = s == 7 ? 90 : 10 + s;
        if (s < 12 || s > 15)
            take(v, ev);
    }
    assert_int_equal(v->n, 2);
    const struct vm_event *first = vm_events_newest(v, 1), *second = vm_events_newest(v, 0);
    assert_int_equal(first->from_ns, T0);
    assert_int_equal(first->to_ns, T0 + 11000 * MS);
    assert_int_equal(first->value, 90);
    assert_int_equal(second->from_ns, T0 + 15000 * MS);
    assert_int_equal(second->value, 30);
    free(v);
}

/* Random events: none is lost without being counted, the limits hold, and no value of an
 * event causes a crash. */
static void nothing_is_lost_uncounted(void **state)
{
    struct vm_events *v = calloc(1, sizeof *v);
    uint64_t fed = 0, ms = 0;

    (void)state;
    for (int i = 0; i < 60000; i++) {
        ms += rng_below(60);
        struct event ev = vm((enum vm_event_kind)rng_below(VM_EVENT_COUNT + 2), ms,
                             rng_below(3) ? rng_below(3000) : UINT64_MAX / MS, rng_below(4));
        if (ev.tier == VM_EVENT_RUN_QUEUE || ev.tier == VM_EVENT_LONG_QUEUE)
            continue;
        fed += ev.tier < VM_EVENT_COUNT;
        take(v, ev);
    }
    uint64_t told = 0;
    const struct vm_event *e, *k;
    for (size_t i = 0; (e = vm_events_newest(v, i)); i++) {
        size_t same = 0;
        assert_true(e->from_ns <= e->to_ns && e->kind < VM_EVENT_COUNT);
        for (size_t j = 0; j < 64 && (k = vm_events_newest(v, i + j)); j++)
            same += k->kind == e->kind && k->to_ns / SECOND_NS == e->to_ns / SECOND_NS;
        assert_true(same <= VM_EVENTS_A_SECOND);
        told += 1 + e->more;
    }
    assert_true(v->n > VM_EVENTS_MAX && told < fed);
    assert_null(vm_events_newest(v, VM_EVENTS_MAX));
    vm_events_clear(v);
    ms = 0;
    for (fed = 0; v->n < VM_EVENTS_MAX - 1; fed++)
        take(v, vm((enum vm_event_kind)rng_below(VM_EVENT_LONG_QUEUE), ms += rng_below(60),
                   rng_below(3000), P1));
    told = 0;
    for (size_t i = 0; (e = vm_events_newest(v, i)); i++)
        told += 1 + e->more;
    assert_int_equal(told, fed);
    free(v);
}

/* ---- in snapshots ---- */

static const struct snap_vm_event *of_kind(const struct snapshot *s, enum vm_event_kind kind)
{
    for (size_t i = 0; i < s->vm.n; i++)
        if (s->vm.of[i].kind == kind)
            return &s->vm.of[i];
    fail_msg("no event of kind %s", vm_event_name(kind));
    return NULL;
}

static const char *name(void *arg, uint64_t pid, uint64_t wall_ns)
{
    (void)arg;
    (void)wall_ns;
    return pid == P1 ? "accounting" : NULL;
}

static void snapshots_have_all(void **state)
{
    struct fix f = fix();
    struct event gc = vm(VM_EVENT_LONG_GC, 3000, 84, P1);

    (void)state;
    until(&f, 0);
    gc.label = 62 << 20;
    gc.fn = f.create;
    feed(&f, (struct event){.ts_ns = T0, .kind = EVENT_GAP, .ident = GAP_NONE});
    feed(&f, gc);
    feed(&f, vm(VM_EVENT_LONG_QUEUE, 2000, 0, P2));
    feed(&f, (struct event){.ts_ns = T0 + 2500 * MS, .kind = EVENT_GAP, .ident = GAP_NONE});
    feed(&f, (struct event){.ts_ns = T0 + 4000 * MS, .kind = EVENT_GAP, .ident = GAP_OVERLOAD});
    feed(&f, (struct event){.ts_ns = T0 + 5000 * MS, .kind = EVENT_GAP, .ident = GAP_OFF});
    feed(&f, (struct event){.ts_ns = T0 + 6000 * MS, .kind = EVENT_MARK, .ident = f.del});
    until(&f, 10000);
    struct snapshot *s = core_snapshot(f.c, WINDOW_10S, WALL);
    assert_int_equal(s->vm.n, 5);
    snapshot_set_who(s, name, NULL);
    const struct snap_vm_event *e = of_kind(s, VM_EVENT_LONG_GC);
    assert_int_equal(e->wall_ns, WALL - 7084 * MS);
    assert_true(fabs(e->took_us - 84000) < 1);
    assert_string_equal(e->who, "accounting");
    assert_string_equal(e->detail, "create");
    char text[VM_EVENT_TEXT_BYTES];
    vm_event_text(e, text);
    assert_string_equal(text, "long GC of 84.0ms in <0.11.0> accounting, heap 62.0M");
    uint64_t id = e->id;
    e = of_kind(s, VM_EVENT_LONG_QUEUE);
    assert_true(e->open && !e->who && fabs(e->took_us - 8e6) < 1);
    e = of_kind(s, VM_EVENT_BREAKER);
    assert_true(!e->open && fabs(e->took_us - 1e6) < 1);
    e = of_kind(s, VM_EVENT_GAP);
    assert_true(e->open);
    assert_string_equal(e->detail, "off");
    assert_string_equal(of_kind(s, VM_EVENT_LOADED)->detail, "delete");
    for (size_t i = 1; i < s->vm.n; i++)
        assert_true(s->vm.of[i - 1].wall_ns >= s->vm.of[i].wall_ns);
    snapshot_free(s);

    until(&f, 20000);
    s = core_snapshot(f.c, WINDOW_10S, WALL + 10000 * MS);
    e = of_kind(s, VM_EVENT_LONG_GC); /* still known, with the same id, but not in the window */
    assert_int_equal(e->id, id);
    assert_false(snapshot_vm_in_window(s, e));
    assert_true(snapshot_vm_in_window(s, of_kind(s, VM_EVENT_LONG_QUEUE)));
    snapshot_free(s);
    core_zero(f.c);
    s = core_snapshot(f.c, WINDOW_10S, WALL);
    for (size_t i = 0; i < s->vm.n; i++)
        assert_int_equal(s->vm.of[i].kind, VM_EVENT_GAP); /* it goes on */
    snapshot_free(s);
    done(&f);
}

/* The text of any event fits, whatever the node has sent. */
static void texts_fit(void **state)
{
    char long_name[2000], text[VM_EVENT_TEXT_BYTES];

    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    for (int kind = 0; kind <= VM_EVENT_COUNT; kind++)
        for (int bits = 0; bits < 32; bits++) {
            struct snap_vm_event e = {.kind = (enum vm_event_kind)kind,
                                      .took_us = bits & 1 ? 1e18 : 0,
                                      .open = bits & 2,
                                      .pid = bits & 4 ? UINT64_MAX : 0,
                                      .who = bits & 8 ? long_name : NULL,
                                      .detail = bits & 16 ? long_name : NULL,
                                      .value = UINT64_MAX,
                                      .more = UINT32_MAX};
            vm_event_text(&e, text);
            assert_true(strlen(text) > 5 && strlen(text) < sizeof text);
            assert_null(strstr(text, "  "));
        }
}

/* A recording can contain any number; it was read as the number of a name. */
static void a_name_that_does_not_exist(void **state)
{
    struct fix f = fix();
    struct event gc = vm(VM_EVENT_LONG_GC, 3000, 84, P1);

    (void)state;
    until(&f, 0);
    gc.fn = UINT32_MAX;
    feed(&f, gc);
    feed(&f, (struct event){.ts_ns = T0 + 4000 * MS, .kind = EVENT_MARK, .ident = UINT32_MAX});
    until(&f, 10000);
    struct snapshot *s = core_snapshot(f.c, WINDOW_10S, WALL);
    assert_int_equal(s->vm.n, 0);
    snapshot_free(s);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_of_a_second_stay),
        cmocka_unit_test(a_queue_ends),
        cmocka_unit_test(a_long_run_queue_is_one_event),
        cmocka_unit_test_setup(nothing_is_lost_uncounted, rng_set_up),
        cmocka_unit_test(snapshots_have_all),
        cmocka_unit_test(a_name_that_does_not_exist),
        cmocka_unit_test(texts_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
