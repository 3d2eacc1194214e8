/* The parts of a call from the scheduling of its process: cases with known parts, and random
 * events: whatever arrives, the pieces cover the call and the parts add up to its duration.
 * KPROF_SEED=n repeats a run. */
#include "rng.h"

#include <core/scheduling.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { P = 7, Q = 8, R = 9 };

static struct scheduling s;
static struct scheduling_cut cut;
static struct intern *names;

static int setup(void **state)
{
    (void)state;
    scheduling_init(&s);
    names = intern_new(1000, 1 << 16);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scheduling_release(&s);
    intern_free(names);
    return 0;
}

static uint32_t fn(const char *name)
{
    return intern_add(names, name, strlen(name));
}

static void event(uint64_t pid, enum event_kind kind, uint64_t us, const char *in, int scheduler)
{
    scheduling_event(&s, &(struct event){.pid = pid,
                                         .kind = (uint8_t)kind,
                                         .ts_ns = us * 1000,
                                         .fn = in ? fn(in) : 0,
                                         .tier = (uint16_t)scheduler});
}

static void code(const char *name, bool receives)
{
    event(P, EVENT_RECEIVES, 0, name, receives);
}

/* Cuts a call of P in [from, to) us; the others are all calls of its request. */
static void cut_with(uint64_t from, uint64_t to, const struct scheduling_call *all, size_t n)
{
    struct scheduling_call call = {from * 1000, to * 1000, P};
    uint64_t at = call.start_ns, sum = 0;
    struct time_parts parts = {{0}};

    scheduling_cut(&s, names, &call, all, n, &cut);
    for (size_t i = 0; i < cut.n; i++) {
        assert_int_equal(cut.piece[i].from_ns, at);
        assert_true(cut.piece[i].to_ns > at);
        at = cut.piece[i].to_ns;
        assert_true(cut.piece[i].part < PART_COUNT);
        parts.ns[cut.piece[i].part] += at - cut.piece[i].from_ns;
    }
    assert_int_equal(at, call.end_ns > call.start_ns ? call.end_ns : call.start_ns);
    for (int p = 0; p < PART_COUNT; p++) {
        assert_int_equal(parts.ns[p], cut.parts.ns[p]);
        sum += cut.parts.ns[p];
    }
    assert_int_equal(sum, call.end_ns > call.start_ns ? call.end_ns - call.start_ns : 0);
}

static void cut_alone(uint64_t from, uint64_t to)
{
    struct scheduling_call call = {from * 1000, to * 1000, P};
    cut_with(from, to, &call, 1);
}

/* "run 10 wait 20": the pieces of the last cut, in us. */
static void expect(const char *want)
{
    char got[4000] = "";

    for (size_t i = 0; i < cut.n; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s %llu", n ? ", " : "",
                 time_part_name((enum time_part)cut.piece[i].part),
                 (unsigned long long)(cut.piece[i].to_ns - cut.piece[i].from_ns) / 1000);
    }
    assert_string_equal(got, want);
}

static void starts(uint64_t us)
{
    scheduling_runs(&s, P, us * 1000);
}

/* ---- cases ---- */

static void only_runs(void **state)
{
    (void)state;
    starts(100);
    cut_alone(100, 150);
    expect("run 50");
    cut_alone(90, 150); /* nothing is known of the time before */
    expect("unknown 10, run 50");
    cut_alone(80, 95);
    expect("unknown 15");
}

static void is_interrupted(void **state)
{
    (void)state;
    code("m:f/1", false);
    starts(100);
    event(P, EVENT_OUT, 110, "m:f/1", 1);
    event(P, EVENT_IN, 140, "m:f/1", 2);
    cut_alone(100, 150);
    expect("run 10, run queue 30, run 10");
}

static void waits_for_a_message(void **state)
{
    (void)state;
    code("m:loop/1", true);
    starts(100);
    event(P, EVENT_OUT, 110, "m:loop/1", 1);
    event(P, EVENT_IN, 140, "m:loop/1", 2);
    event(P, EVENT_OUT, 145, "timer:sleep/1", 1);
    event(P, EVENT_IN, 149, "timer:sleep/1", 2);
    event(P, EVENT_OUT, 150, "erts_internal:await_result/1", 1);
    event(P, EVENT_IN, 157, "erts_internal:await_result/1", 2);
    cut_alone(100, 160);
    expect("run 10, wait 30, run 5, wait 4, run 1, wait 7, run 3");
    assert_int_equal(cut.piece[1].what, fn("m:loop/1"));
    assert_int_equal(cut.piece[1].other, 0);
}

static void a_function_that_is_not_known(void **state)
{
    (void)state;
    starts(100);
    event(P, EVENT_OUT, 110, "m:f/1", 1);
    event(P, EVENT_IN, 140, "m:f/1", 2);
    cut_alone(100, 150);
    expect("run 10, unknown 30, run 10");
}

static void asks_a_server(void **state)
{
    struct scheduling_call all[] = {
        {100000, 200000, P}, {150000, 180000, Q}, {155000, 170000, R}, {500000, 0, Q}};
    (void)state;
    starts(100);
    event(P, EVENT_OUT, 110, "gen:do_call/4", 1);
    event(P, EVENT_IN, 190, "gen:do_call/4", 2);
    cut_with(100, 200, all, 4);
    expect("run 10, mailbox 40, wait 30, run queue 10, run 10");
    assert_int_equal(cut.piece[1].other, Q);
    assert_int_equal(cut.piece[2].other, Q);
    assert_int_equal(cut.piece[2].what, fn("gen:do_call/4"));
}

/* A server works for a request while its caller waits. A wait of the server is not attributed to
 * that caller. */
static void works_for_a_caller(void **state)
{
    struct scheduling_call all[] = {{50000, 300000, Q}, {100000, 200000, P}, {112000, 115000, R}};
    (void)state;
    starts(100);
    event(P, EVENT_OUT, 110, "m:f/1", 1);
    event(P, EVENT_IN, 120, "m:f/1", 2);
    cut_with(100, 200, all, 2);
    expect("run 10, unknown 10, run 80");
    cut_with(100, 200, all, 3);
    expect("run 10, mailbox 2, wait 3, run queue 5, run 80");
    code("m:f/1", true);
    cut_with(100, 200, all, 2);
    expect("run 10, wait 10, run 80");
    assert_int_equal(cut.piece[1].other, 0);
}

/* The server begins before the caller has left its scheduler, and is still at work when the caller
 * goes on. */
static void a_server_at_once(void **state)
{
    struct scheduling_call all[] = {{100000, 200000, P}, {108000, 0, Q}};
    (void)state;
    starts(100);
    event(P, EVENT_OUT, 110, "gen:do_call/4", 1);
    event(P, EVENT_IN, 190, "gen:do_call/4", 2);
    cut_with(100, 200, all, 2);
    expect("run 10, wait 80, run 10");
    assert_int_equal(cut.piece[1].other, Q);
}

static void sends(uint64_t us, uint64_t to)
{
    scheduling_sent(&s, P, to, us * 1000);
}

/* The message shows for which server it waits, also if no call of the server is traced, or if that
 * server calls another one. */
static void the_server_is_known(void **state)
{
    struct scheduling_call all[] = {{100000, 300000, P}, {150000, 180000, R}};
    (void)state;
    starts(100);
    sends(105, Q);
    event(P, EVENT_OUT, 110, "gen:do_call/4", 1);
    event(P, EVENT_IN, 120, "gen:do_call/4", 2); /* a signal */
    event(P, EVENT_OUT, 121, "gen:do_call/4", 1);
    event(P, EVENT_IN, 190, "gen:do_call/4", 2);
    event(P, EVENT_OUT, 390, "gen:do_call/4", 1); /* a server of another node */
    event(P, EVENT_IN, 399, "gen:do_call/4", 2);
    cut_with(100, 400, all, 2);
    expect("run 10, wait 10, run 1, wait 69, run 200, wait 9, run 1");
    assert_int_equal(cut.piece[1].other, Q);
    assert_int_equal(cut.piece[3].other, Q);
    assert_int_equal(cut.piece[5].other, 0);
    cut_with(100, 400, all, 1);
    expect("run 10, wait 10, run 1, wait 69, run 200, wait 9, run 1");
    assert_int_equal(cut.piece[1].other, Q);
}

static void lengths_of_mailboxes(void **state)
{
    (void)state;
    assert_int_equal(scheduling_queue_length(&s, Q, 0, UINT64_MAX), 0);
    for (uint64_t us = 100; us <= 500; us += 100)
        scheduling_event(&s, &(struct event){.pid = us == 200 ? R : Q,
                                             .kind = EVENT_QUEUE,
                                             .ts_ns = us * 1000,
                                             .label = us == 500 ? UINT64_MAX : us});
    assert_int_equal(scheduling_queue_length(&s, Q, 150000, 450000), 301);
    assert_int_equal(scheduling_queue_length(&s, Q, 100000, 450000), 101);
    assert_int_equal(scheduling_queue_length(&s, R, 150000, 200000), 201);
    assert_int_equal(scheduling_queue_length(&s, R, 150000, 199999), 0);
    assert_int_equal(scheduling_queue_length(&s, Q, 500000, 500000), UINT32_MAX);
    for (uint64_t i = 0; i < SCHEDULING_QUEUES; i++) /* the oldest are dropped */
        scheduling_event(&s,
                         &(struct event){.pid = R, .kind = EVENT_QUEUE, .ts_ns = i, .label = i});
    assert_int_equal(scheduling_queue_length(&s, Q, 0, UINT64_MAX), 0);
    assert_int_equal(scheduling_queue_length(&s, R, 7, UINT64_MAX), 8);
}

/* A signal wakes the caller for a moment: it still waits for the same server. */
static void a_wait_goes_on(void **state)
{
    struct scheduling_call all[] = {{100000, 200000, P}, {150000, 180000, Q}, {160000, 170000, R}};
    (void)state;
    starts(100);
    event(P, EVENT_OUT, 110, "gen:do_call/4", 1);
    event(P, EVENT_IN, 120, "gen:do_call/4", 2);
    event(P, EVENT_OUT, 121, "gen:do_call/4", 1);
    event(P, EVENT_IN, 155, "gen:do_call/4", 2);
    event(P, EVENT_OUT, 156, "gen:do_call/4", 1);
    event(P, EVENT_IN, 190, "gen:do_call/4", 2);
    cut_with(100, 200, all, 3);
    expect("run 10, mailbox 10, run 1, mailbox 29, wait 5, run 1, wait 24, run queue 10, run 10");
    for (size_t i = 0; i < cut.n; i++)
        if (cut.piece[i].part == PART_MAILBOX || cut.piece[i].part == PART_WAIT)
            assert_int_equal(cut.piece[i].other, Q);
}

static void a_dirty_job(void **state)
{
    (void)state;
    starts(100);
    event(P, EVENT_OUT, 110, "prim_file:read_nif/2", 1);
    event(P, EVENT_IN, 114, "prim_file:read_nif/2", 0);
    event(P, EVENT_OUT, 160, "erts_internal:dirty_nif_finalizer/1", 0);
    event(P, EVENT_IN, 163, "erts_internal:dirty_nif_finalizer/1", 1);
    cut_alone(100, 170);
    expect("run 10, dirty 50, run queue 3, run 7");
    assert_int_equal(cut.piece[1].what, fn("prim_file:read_nif/2"));
}

static void garbage_collections(void **state)
{
    (void)state;
    code("m:f/1", false);
    starts(100);
    event(P, EVENT_GC, 110, NULL, 0);
    event(P, EVENT_GC_END, 130, NULL, 0);
    event(P, EVENT_OUT, 140, "m:f/1", 1);
    event(P, EVENT_IN, 145, "m:f/1", 0); /* a large heap: on a dirty scheduler */
    event(P, EVENT_GC, 146, NULL, 0);
    event(P, EVENT_GC_END, 190, NULL, 0);
    event(P, EVENT_OUT, 191, "m:f/1", 0);
    event(P, EVENT_IN, 195, "m:f/1", 1);
    cut_alone(100, 200);
    expect("run 10, gc 20, run 10, gc 51, run queue 4, run 5");
}

static void a_port(void **state)
{
    (void)state;
    starts(100);
    event(P, EVENT_OUT, 110, "erts_internal:port_command/3", 1);
    event(P, EVENT_IN, 140, "erts_internal:port_command/3", 2);
    event(P, EVENT_OUT, 150, "prim_inet:recv0/3", 1);
    event(P, EVENT_IN, 170, "prim_inet:recv0/3", 2);
    cut_alone(100, 180);
    expect("run 10, port 30, run 10, port 20, run 10");
}

static void missing_events(void **state)
{
    (void)state;
    code("m:f/1", false);
    starts(100);
    event(P, EVENT_OUT, 110, "m:f/1", 1);
    event(P, EVENT_OUT, 120, "m:f/1", 1); /* IN is missing */
    event(P, EVENT_IN, 125, "m:f/1", 1);
    event(P, EVENT_IN, 130, "m:f/1", 1); /* OUT is missing */
    event(P, EVENT_UNKNOWN, 140, NULL, 0);
    event(P, EVENT_OUT, 150, "m:f/1", 1);
    event(P, EVENT_IN, 160, "m:f/1", 1);
    event(P, EVENT_GC_END, 170, NULL, 0); /* GC is missing */
    event(P, EVENT_OUT, 180, "m:f/1", 1);
    cut_alone(100, 190);
    expect("run 10, unknown 10, run queue 5, unknown 5, run 10, unknown 10, run queue 10, unknown "
           "10, run 10, unknown 10");
}

/* A nested call shows that the process runs; lost events of all processes. */
static void known_again(void **state)
{
    (void)state;
    code("m:f/1", false);
    starts(100);
    event(P, EVENT_OUT, 110, "m:f/1", 1);
    starts(130);
    cut_alone(100, 150);
    expect("run 10, unknown 20, run 20");
    event(UINT64_MAX, EVENT_UNKNOWN, 145, NULL, 0);
    cut_alone(100, 150);
    expect("run 10, unknown 40");
}

/* Events that arrive late are put where they belong. */
static void in_any_order(void **state)
{
    (void)state;
    code("m:f/1", false);
    event(P, EVENT_IN, 140, "m:f/1", 2);
    event(P, EVENT_OUT, 110, "m:f/1", 1);
    starts(100);
    event(Q, EVENT_OUT, 120, "m:f/1", 1);
    cut_alone(100, 150);
    expect("run 10, run queue 30, run 10");
}

static void old_events_are_dropped(void **state)
{
    (void)state;
    code("m:f/1", false);
    starts(100);
    for (uint32_t i = 0; i < SCHEDULING_POINTS; i++)
        event(Q, EVENT_GC, 110, NULL, 0);
    cut_alone(100, 150);
    expect("unknown 50");
    event(P, EVENT_OUT, 120, "m:f/1", 1);
    event(P, EVENT_IN, 140, "m:f/1", 2);
    cut_alone(100, 150);
    expect("unknown 20, run queue 20, run 10");
}

/* More pieces than there is room for: the rest is one piece for each part. */
static void many_pieces(void **state)
{
    (void)state;
    code("m:f/1", false);
    starts(100);
    for (uint32_t i = 0; i < 1000; i++) {
        event(P, EVENT_OUT, 110 + 20 * i, "m:f/1", 1);
        event(P, EVENT_IN, 115 + 20 * i, "m:f/1", 2);
    }
    cut_alone(100, 100 + 20 * 1000);
    assert_true(cut.n <= SCHEDULING_PIECES);
    assert_int_equal(cut.parts.ns[PART_RUN_QUEUE], 1000 * 5000);
    assert_int_equal(cut.parts.ns[PART_RUN], 1000 * 15000);
}

/* ---- random events ---- */

static uint32_t pick(uint32_t n)
{
    return (uint32_t)(rng() >> 20) % n;
}

static void random_events(void **state)
{
    static const char *const fns[] = {"m:f/1",         "m:g/1",         "gen:do_call/4",
                                      "timer:sleep/1", "prim_inet:x/0", "erlang:port_x/1"};
    struct scheduling_call all[40];
    (void)state;

    rng_seed();
    code("m:f/1", false);
    for (int round = 0; round < 3000; round++) {
        uint64_t base = 1000 * (uint64_t)round;
        size_t n = pick(30), calls = pick(40);
        for (size_t i = 0; i < n; i++) {
            if (pick(8) == 0)
                starts(base + pick(1000));
            else if (pick(8) == 0)
                sends(base + pick(1000), pick(2) ? Q : R);
            else
                event(pick(4) ? P : Q, (enum event_kind)(EVENT_OUT + pick(4)), base + pick(1000),
                      fns[pick(6)], (int)pick(3));
            if (pick(40) == 0)
                event(P, EVENT_UNKNOWN, base + pick(1000), NULL, 0);
            if (pick(200) == 0)
                event(UINT64_MAX, EVENT_UNKNOWN, base + pick(1000), NULL, 0);
        }
        for (size_t i = 0; i < calls; i++)
            all[i] =
                (struct scheduling_call){(base + 20 * i + pick(20)) * 1000,
                                         pick(3) ? (base + pick(1200)) * 1000 : 0, P + pick(3)};
        for (int i = 0; i < 5; i++) {
            uint64_t from = base + pick(1000);
            cut_with(from, from + pick(600), all, calls);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(is_interrupted, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_for_a_message, setup, teardown),
        cmocka_unit_test_setup_teardown(a_function_that_is_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(asks_a_server, setup, teardown),
        cmocka_unit_test_setup_teardown(works_for_a_caller, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(the_server_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(lengths_of_mailboxes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wait_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dirty_job, setup, teardown),
        cmocka_unit_test_setup_teardown(garbage_collections, setup, teardown),
        cmocka_unit_test_setup_teardown(a_port, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_events, setup, teardown),
        cmocka_unit_test_setup_teardown(known_again, setup, teardown),
        cmocka_unit_test_setup_teardown(in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(old_events_are_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(many_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(random_events, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
