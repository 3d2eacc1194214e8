/* The rules of core/why about the node, the tracing of it, and changes: for each, a snapshot in
 * which it finds its cause, and one that is almost the same in which it does not. */
#include "why_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void run_queue(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();

    for (size_t i = 90; i < LOADS; i++)
        c->load[i].run_queue = 48;
    c->load[100].run_queue = 0; /* a short pause does not end it */
    const struct snap_finding *w = scene_first(c, "run_queue",
                                               "since 03:03:35, 12 processes per scheduler have "
                                               "been ready and waiting to run (4 schedulers)");
    assert_int_equal(w->proof, PROOF_PROCESSES);
    c->load[100].run_queue = 48;
    for (size_t i = 0; i < 90; i++)
        c->load[i].run_queue = 48;
    scene_first(c, "run_queue",
                "since 03:02:05 or before, 12 processes per scheduler have been ready and waiting "
                "to run (4 "
                "schedulers)");
    struct time_part_view *p = &c->parts[0];
    *p = (struct time_part_view){.calls = 100};
    p->share[PART_RUN_QUEUE] = 0.43;
    scene_row(c, DB, KINDS)->parts = p;
    scene_first(
        c, "run_queue",
        "since 03:02:05 or before, 12 processes per scheduler have been ready and waiting to run "
        "(4 "
        "schedulers); 43 % of the time of the calls of db (100 of them were followed) is spent "
        "waiting "
        "for a scheduler");
    for (size_t i = LOADS - 4; i < LOADS; i++) /* it is over */
        c->load[i].run_queue = 0;
    scene_none(c, "run_queue");
    c->s.node.schedulers = 0; /* an old recording */
    assert_true(scene_unknown(c, "run_queue"));
    scene_free(c);

    c = scene_quiet();
    for (size_t i = 0; i < LOADS; i++)
        c->load[i].scheduler_use = 0.97;
    scene_first(c, "run_queue", "the schedulers were 97 % busy in the last 10 s");
    scene_free(c);
}

static void memory(void **state)
{
    (void)state;
    struct scene *c = scene_of("memory");

    scene_first(c, "memory",
                "the memory of the node grows: 500M at 03:02:05, 976M now, about 4.00M per second");
    c->load[0].memory_bytes += 50u << 20; /* the least value is that of the next second */
    scene_first(c, "memory",
                "the memory of the node grows: 504M at 03:02:06, 976M now, about 4.00M per second");
    for (size_t i = 80; i < LOADS; i++) /* it fell once, by a garbage collection */
        c->load[i].memory_bytes -= 200u << 20;
    scene_none(c, "memory");
    scene_free(c);
}

static void gap(void **state)
{
    (void)state;
    struct scene *c = scene_of("gap");
    const struct snap_finding *w = scene_first(
        c, "gap",
        "the values do not cover 42 % of the window: nothing was traced for 4.2 s (the breaker was "
        "open: a trace message was 1.3 s old)");
    assert_int_equal(w->proof, PROOF_LOG);
    c->s.gap_s = 0.5;
    scene_none(c, "gap");
    scene_free(c);
}

static void lost(void **state)
{
    (void)state;
    struct scene *c = scene_of("lost");
    const struct snap_finding *w =
        scene_first(c, "lost", "8123 events were lost since the start: some calls are missing");
    assert_int_equal(w->proof, PROOF_INTERNALS);
    scene_free(c);
}

static void errors(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();

    scene_row(c, WEB, KINDS)->errors = scene_row(c, DB, KINDS)->errors = 200;
    scene_row(c, DB, READ)->errors = scene_row(c, DB, WRITE)->errors = 100;
    const struct snap_finding *w =
        scene_first(c, "errors", "10 % of the calls of db end in an exception (200 of 2000)");
    assert_ptr_equal(w->row, scene_row(c, DB, KINDS));
    scene_row(c, DB, READ)->errors = 5;
    scene_row(c, DB, WRITE)->errors = 195;
    scene_row(c, DB, WRITE)->exits = 3;
    scene_first(
        c, "errors",
        "20 % of the calls of db for write end in an exception (195 of 1000); in 3 of them the "
        "process died");
    scene_row(c, WEB, KINDS)->errors = scene_row(c, DB, KINDS)->errors = 80;
    scene_row(c, DB, READ)->errors = scene_row(c, DB, WRITE)->errors = 40;
    scene_none(c, "errors");
    scene_free(c);
}

/* Few calls of a tier fail, but many of those for one identity. */
static void errors_of_one_identity(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();

    for (int t = WEB; t <= DB; t += DB) {
        scene_row(c, t, KINDS)->errors = 60;
        scene_row(c, t, READ)->errors = 2;
        scene_row(c, t, WRITE)->errors = 58;
    }
    const struct snap_finding *w = scene_first(
        c, "errors", "5.8 % of the calls of db for write end in an exception (58 of 1000)");
    assert_ptr_equal(w->row, scene_row(c, DB, WRITE));
    scene_row(c, WEB, WRITE)->former = scene_row(c, DB, WRITE)->former = true;
    scene_none(c, "errors");
    scene_free(c);
}

static void frequent(void **state)
{
    (void)state;
    struct scene *c = scene_of("frequent");
    float *rate = c->rate[scene_row(c, TIERS, READ) - c->row];
    const struct snap_finding *w =
        scene_first(c, "frequent",
                    "read: 320 requests per second in the last 10 s, and 100 in the 50 s before");
    assert_int_equal(w->proof, PROOF_HEAT);
    assert_ptr_equal(w->row, scene_row(c, TIERS, READ));
    for (size_t i = 0; i < 35; i++) /* not known: it was not traced */
        rate[i] = NAN;
    scene_none(c, "frequent");
    for (size_t i = 0; i < 35; i++)
        rate[i] = 250;
    scene_none(c, "frequent");
    scene_free(c);
}

/* On a slower machine all tiers are slower: the one with the most time is named. */
static void slower_with_most_time(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    snprintf(c->s.compared, sizeof c->s.compared, "before.rec");
    for (size_t i = 0; i < c->s.n_rows; i++) {
        struct snap_row *r = (struct snap_row *)&c->s.rows[i];
        r->d_p99 = 2;
        r->count = r->then_count = 1000;
        r->mean_us = 1000;
        r->self_us = r->tier == TIER_TOTAL ? 1000 : 0;
    }
    struct snap_row *less = scene_row(c, ACC, KINDS), *more = scene_row(c, DB, KINDS);
    less->mean_us = less->self_us = 300;
    more->mean_us = more->self_us = 600;
    assert_ptr_equal(scene_found(c, "slower")->row, more);
    less->mean_us = less->self_us = 700;
    assert_ptr_equal(scene_found(c, "slower")->row, less);
    scene_free(c);
}

static void slower(void **state)
{
    (void)state;
    struct scene *c = scene_of("slower");
    struct snap_row *r = scene_row(c, DB, WRITE);
    const struct snap_finding *w =
        scene_first(c, "slower", "p99 of db for write is 16.0ms, +40% compared with yesterday.rec");
    assert_ptr_equal(w->row, r);
    r->then_count = 100; /* a p99 of 100 calls is one call */
    scene_none(c, "slower");
    r->then_count = 1000;
    r->d_p99 = 0.2;
    scene_none(c, "slower");
    scene_free(c);
}

/* A tier with many calls has a small share of errors, but they pass through its caller. */
static void errors_of_the_innermost(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();

    scene_row(c, DB, KINDS)->count = 20000;
    for (int t = WEB; t <= DB; t += DB) {
        scene_row(c, t, KINDS)->errors = 400;
        scene_row(c, t, WRITE)->errors = 400;
    }
    const struct snap_finding *w = scene_first(
        c, "errors", "40 % of the calls of db for write end in an exception (400 of 1000)");
    assert_ptr_equal(w->row, scene_row(c, DB, WRITE));
    scene_row(c, DB, KINDS)->errors = scene_row(c, DB, WRITE)->errors = 100; /* web has its own */
    scene_first(c, "errors",
                "40 % of the calls of web for write end in an exception (400 of 1000)");
    scene_free(c);
}

/* Errors that are new count more, and fewer of them are enough. */
static void errors_have_risen(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    struct snap_row *r = scene_row(c, DB, WRITE);
    float *errors = c->errors[r - c->row];

    scene_row(c, DB, KINDS)->errors = r->errors = 30; /* 1.5 % of the tier, 3 % of its kind */
    scene_none(c, "errors");
    for (size_t i = SNAP_TREND - 10; i < SNAP_TREND; i++)
        c->errors[scene_row(c, DB, KINDS) - c->row][i] = 0.015F;
    for (size_t i = 0; i < SNAP_TREND; i++)
        errors[i] = i < SNAP_TREND - 10 ? 0.002F : 0.03F;
    const struct snap_finding *w = scene_first(
        c, "errors",
        "3.0 % of the calls of db for write end in an exception (30 of 1000); in the last 10 s 3.0 "
        "%, in the 50 s before 0.2 %");
    assert_true(w->score > 0.7);
    for (size_t i = 0; i < 35; i++) /* what was before is not known */
        c->rate[scene_row(c, DB, KINDS) - c->row][i] = c->rate[r - c->row][i] = NAN;
    scene_none(c, "errors");
    scene_free(c);

    c = scene_of("errors"); /* many, but as before */
    for (size_t i = 0; i < SNAP_TREND; i++)
        c->errors[scene_row(c, DB, WRITE) - c->row][i] = 0.195F;
    w = scene_first(c, "errors",
                    "20 % of the calls of db for write end in an exception (195 of 1000)");
    assert_true(w->score < 0.6);
    scene_free(c);
}

/* The run queue of the node contains that of the dirty schedulers, which says something else. */
static void dirty_queue(void **state)
{
    (void)state;
    struct scene *c = scene_of("dirty_queue");
    const struct snap_finding *w =
        scene_first(c, "dirty_queue",
                    "since 03:03:35, 3.5 processes per scheduler have been waiting for a dirty "
                    "CPU scheduler: for "
                    "garbage collection of a large heap, or native code");
    assert_int_equal(w->proof, PROOF_PROCESSES);
    scene_none(c, "run_queue");
    scene_part(c, DB, PART_GC, 0.63); /* the parts tell more */
    assert_non_null(scene_found(c, "dirty_queue"));
    assert_string_equal(c->s.why.of[0].rule, "gc");
    scene_row(c, DB, KINDS)->parts = NULL;
    for (size_t i = 0; i < LOADS; i++)
        c->load[i].dirty_queue = 3; /* less than one per scheduler */
    scene_none(c, "dirty_queue");
    scene_first(c, "run_queue",
                "since 03:03:35, 3 processes per scheduler have been ready and waiting to run (4 "
                "schedulers)");
    for (size_t i = 0; i < LOADS; i++)
        c->load[i].dirty_queue = -1; /* an older agent */
    assert_true(scene_unknown(c, "dirty_queue"));
    scene_free(c);
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_queue),
        cmocka_unit_test(memory),
        cmocka_unit_test(gap),
        cmocka_unit_test(lost),
        cmocka_unit_test(errors),
        cmocka_unit_test(errors_of_one_identity),
        cmocka_unit_test(frequent),
        cmocka_unit_test(slower),
        cmocka_unit_test(slower_with_most_time),
        cmocka_unit_test(errors_of_the_innermost),
        cmocka_unit_test(errors_have_risen),
        cmocka_unit_test(dirty_queue),
    };
    return cmocka_run_group_tests_name("why_change", tests, NULL, NULL);
}
