/* The rules of core/why: for each, a snapshot in which it finds its cause, and one that is almost
 * the same in which it does not. In the quiet snapshot, on which all are based, no rule finds
 * anything. */
#include "why_scene.h"

#include <kprof/base/buf.h>
#include <kprof/core/why.h>
#include <kprof/export/export.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- tests ---- */

static void quiet_is_quiet(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    why_add(&c->s, NULL, NULL);
    if (c->s.why.n)
        fail_msg("%s: %s", c->s.why.of[0].rule, c->s.why.of[0].text);
    static const char *const unknown[] = {"queue", "lock", "gc", "dirty", "port", "slower"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (!scene_unknown(c, unknown[i]))
            fail_msg("%s has no data, but counts as examined", unknown[i]);
    static const char *const known[] = {"gap",     "lost",  "run_queue", "tier",   "differs",
                                        "repeats", "hangs", "errors",    "memory", "frequent"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (scene_unknown(c, known[i]))
            fail_msg("%s has data, but counts as not known", known[i]);
    scene_free(c);
}

/* Nothing is claimed about an empty table, a node that has just been attached, or a few calls. */
static void without_calls(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    for (size_t i = 0; i < ROWS; i++)
        c->row[i].count = 20;
    scene_row(c, DB, KINDS)->errors = 15;
    scene_row(c, DB, READ)->share = 0.9;
    why_add(&c->s, NULL, NULL);
    assert_int_equal(c->s.why.n, 0);
    assert_true(scene_unknown(c, "tier"));
    assert_true(scene_unknown(c, "errors"));
    c->s = (struct snapshot){.window = WINDOW_10S};
    why_add(&c->s, NULL, NULL);
    assert_int_equal(c->s.why.n, 0);
    assert_true(scene_unknown(c, "run_queue"));
    free(c);
}

static void tier(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    const double most_db[TIERS] = {5, 3, 34, 1}, mixed[TIERS] = {14, 10, 18, 1};
    const struct snap_finding *w;

    scene_row(c, DB, WRITE)->share = 0.81;
    w = scene_first(c, "tier", "the mean of write is 10.0ms: 81 % of it is self time of db");
    assert_int_equal(w->proof, PROOF_TABLE);
    assert_ptr_equal(w->row, scene_row(c, DB, WRITE));
    /* five slow requests of this kind, longer than its p95 (30 ms) */
    for (int i = 0; i < 5; i++)
        scene_slow(c, WRITE, most_db, 40 + (uint64_t)i);
    w = scene_first(
        c, "tier",
        "p99 of write is 40.0ms: in its 5 slowest requests, 79 % of the time is self time of "
        "db");
    assert_int_equal(w->proof, PROOF_WATERFALL);
    assert_int_equal(w->trace, 1);
    for (int i = 0; i < 5; i++)
        c->sum[i][DB].pid = 87;
    w = scene_first(
        c, "tier",
        "p99 of write is 40.0ms: in its 5 slowest requests, 79 % of the time is self time of "
        "db, always in process <0.87.0> (accounting)");
    assert_int_equal(w->pid, 87);
    /* not if they were before the window */
    for (int i = 0; i < 5; i++)
        c->slow[i].wall_ns -= 20 * SEC;
    scene_first(c, "tier", "the mean of write is 10.0ms: 81 % of it is self time of db");
    scene_free(c);

    c = scene_quiet(); /* the same mean, but no tier has half of the time of the slow ones */
    scene_row(c, DB, WRITE)->share = 0.81;
    for (int i = 0; i < 5; i++)
        scene_slow(c, WRITE, mixed, 40);
    scene_none(c, "tier");
    scene_free(c);

    c = scene_quiet();
    scene_row(c, WEB, WRITE)->share = 0.6;
    scene_first(
        c, "tier",
        "the mean of write is 10.0ms: 60 % of it is self time of web itself, outside of the other "
        "tiers");
    for (int t = PARSE; t <= ACC; t++) /* the only tier always has all of it */
        scene_row(c, t, KINDS)->count = 0;
    scene_none(c, "tier");
    scene_free(c);

    c = scene_quiet(); /* a kind that seldom calls another tier: only if most of the time is of this
                          kind */
    for (int t = PARSE; t <= ACC; t++)
        scene_row(c, t, WRITE)->count = 20;
    scene_row(c, WEB, WRITE)->share = 1;
    scene_row(c, TIERS, WRITE)->mean_us = 5000;
    scene_row(c, TIERS, KINDS)->mean_us = 7500;
    scene_none(c, "tier");
    scene_row(c, TIERS, WRITE)->mean_us = 100000;
    scene_row(c, TIERS, KINDS)->mean_us = 55000;
    scene_first(
        c, "tier",
        "the mean of write is 100ms: 100 % of it is self time of web itself, outside of the other "
        "tiers");
    scene_free(c);
}

static void differs(void **state)
{
    (void)state;
    struct scene *c = scene_of("differs");
    const struct snap_finding *w =
        scene_first(c, "differs",
                    "write takes 31.0ms on average, read 10.0ms: the difference is mostly self "
                    "time of db (24.5ms instead "
                    "of 4.00ms)");
    assert_ptr_equal(w->row, scene_row(c, DB, WRITE));
    scene_row(c, DB, WRITE)->self_us = 16000; /* some of it is elsewhere */
    scene_row(c, PARSE, WRITE)->self_us = 11000;
    scene_none(c, "differs");
    scene_row(c, DB, WRITE)->self_us = 24500;
    scene_row(c, PARSE, WRITE)->self_us = 2000;
    scene_row(c, TIERS, WRITE)->mean_us = 29000; /* less than three times as long */
    scene_none(c, "differs");
    scene_free(c);
}

/* A difference of three times shows with 20 calls. With fewer, the check says that it has too few,
 * not that there is nothing to find. */
static void differs_few_calls(void **state)
{
    (void)state;
    struct scene *c = scene_of("differs");
    for (int t = 0; t <= TIERS; t++)
        scene_row(c, t, WRITE)->count = 20;
    assert_non_null(scene_found(c, "differs"));
    for (int t = 0; t <= TIERS; t++)
        scene_row(c, t, READ)->count = 20;
    assert_non_null(scene_found(c, "differs"));
    for (int t = 0; t <= TIERS; t++)
        scene_row(c, t, READ)->count = 19; /* nothing to compare with */
    scene_none(c, "differs");
    assert_int_equal(scene_missing(c, "differs"), MISSING_CALLS);
    for (int t = 0; t <= TIERS; t++) {
        scene_row(c, t, READ)->count = 1000;
        scene_row(c, t, WRITE)->count = 19;
    }
    scene_none(c, "differs");
    assert_int_equal(scene_missing(c, "differs"), MISSING_CALLS);
    scene_free(c);
}

/* The same with a third identity, which no check examines: is it slow or not? */
static void differs_seldom_called(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    struct snap_row row[ROWS + 1];

    memcpy(row, c->row, sizeof c->row);
    row[ROWS] = *scene_row(c, TIERS, WRITE);
    row[ROWS].ident = "acme";
    row[ROWS].ident_n = KINDS;
    row[ROWS].count = 19;
    row[ROWS].mean_us = 84000;
    c->s.rows = row;
    c->s.n_rows = ROWS + 1;
    scene_none(c, "differs");
    assert_int_equal(scene_missing(c, "differs"), MISSING_CALLS);
    row[ROWS].mean_us = 12000;
    scene_none(c, "differs");
    assert_int_equal(scene_missing(c, "differs"), MISSING_COUNT);
    scene_free(c);
}

static void repeats(void **state)
{
    (void)state;
    struct scene *c = scene_of("repeats");
    const struct snap_finding *w = scene_first(
        c, "repeats", "read calls db 43 times per request, 93.0us each: 40 % of the time");
    assert_ptr_equal(w->row, scene_row(c, DB, READ));
    scene_row(c, DB, READ)->mean_us = 30; /* many calls, but little time */
    scene_none(c, "repeats");
    scene_row(c, DB, READ)->mean_us = 93;
    scene_row(c, DB, READ)->count = 7000;
    scene_none(c, "repeats");
    scene_free(c);
}

static void queue(void **state)
{
    (void)state;
    struct scene *c = scene_of("queue");
    const struct snap_finding *w = scene_first(
        c, "queue",
        "80 % of the time of the 30 newest slow requests is spent waiting for process <0.87.0> "
        "(accounting), which is 97 % busy with calls of acc, 4.85ms each");
    assert_int_equal(w->proof, PROOF_WATERFALL);
    assert_int_equal(w->pid, 87);
    assert_true(w->trace >= 1 && w->trace <= 30);
    /* The self time of web is this wait. */
    scene_row(c, WEB, KINDS)->share = scene_row(c, WEB, READ)->share = 0.9;
    scene_row(c, WEB, WRITE)->share = 0.9;
    scene_none(c, "tier");
    scene_row(c, ACC, KINDS)->mean_us = 600; /* it is mostly idle, so it is no queue */
    scene_first(c, "queue",
                "80 % of the time of the 30 newest slow requests passes before process <0.87.0> "
                "(accounting) begins a call of acc, though these calls keep it only 12 % busy");
    scene_row(c, ACC, KINDS)->p99_us = 48000; /* a few of its calls take long */
    scene_first(c, "queue",
                "80 % of the time of the 30 newest slow requests passes before process <0.87.0> "
                "(accounting) begins a call of acc: some of these calls take 48.0ms (p99; mean "
                "600us), and the others wait for them");
    scene_none(c, "tier");
    scene_free(c);

    c = scene_quiet(); /* the wait is short */
    scene_queued(c, 30, 10, true);
    scene_row(c, ACC, KINDS)->mean_us = 4850;
    scene_none(c, "queue");
    assert_false(scene_unknown(c, "queue"));
    scene_free(c);

    c = scene_quiet(); /* many processes: no queue at one of them */
    scene_queued(c, 30, 48, false);
    scene_row(c, ACC, KINDS)->mean_us = 4850;
    scene_none(c, "queue");
    scene_free(c);

    c = scene_quiet(); /* too few */
    scene_queued(c, 10, 48, true);
    scene_none(c, "queue");
    assert_true(scene_unknown(c, "queue"));
    scene_free(c);

    c = scene_quiet(); /* the calls may be waiting for a scheduler instead */
    scene_queued(c, 30, 48, true);
    for (size_t i = 0; i < LOADS; i++)
        c->load[i].run_queue = 40;
    scene_none(c, "queue");
    assert_true(scene_unknown(c, "queue"));
    scene_free(c);
}

static void queue_by_parts(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    struct time_part_view *p = &c->parts[0];

    *p = (struct time_part_view){.calls = 100, .slow_from_us = 40000};
    p->share[PART_MAILBOX] = 0.78;
    scene_row(c, WEB, KINDS)->parts = p;
    scene_first(
        c, "queue",
        "78 % of the time of the calls of web (100 of them were followed) is spent waiting in the "
        "mailbox of another process");
    p->share[PART_MAILBOX] = 0.2;
    scene_none(c, "queue");
    assert_false(scene_unknown(c, "queue"));
    p->share[PART_MAILBOX] = 0.78;
    p->calls = 9;
    scene_none(c, "queue");
    p->calls = 100; /* the slow requests tell whose mailbox it is */
    scene_piece(c, PART_MAILBOX, 87);
    const struct snap_finding *w = scene_first(
        c, "queue",
        "78 % of the time of the calls of web (100 of them were followed) is spent waiting in the "
        "mailbox of another process, mostly <0.87.0> (accounting)");
    assert_int_equal(w->pid, 87);
    scene_free(c);
}

static void lock(void **state)
{
    (void)state;
    struct scene *c = scene_of("lock");
    const struct snap_finding *w = scene_first(
        c, "lock",
        "acc runs in one process at a time, as behind a lock: its 40 calls in 20 processes do "
        "not overlap and fill 93 % of the time, while 18 requests are open");
    assert_int_equal(w->proof, PROOF_WATERFALL);
    assert_true(w->trace >= 1 && w->trace <= 40);
    scene_row(c, TIERS, KINDS)->mean_us = 10000; /* nobody waits */
    scene_none(c, "lock");
    scene_free(c);

    c = scene_quiet();
    scene_locked(c, 40, 6.5, 0.2); /* they overlap */
    scene_none(c, "lock");
    scene_free(c);

    c = scene_quiet();
    scene_locked(c, 40, 2, 0); /* they are too few to overlap by chance */
    scene_none(c, "lock");
    scene_free(c);
}

static void hangs(void **state)
{
    (void)state;
    struct scene *c = scene_of("hangs");
    const struct snap_finding *w = scene_first(
        c, "hangs",
        "2 calls are open far longer than usual: db in process <0.87.0> (accounting) for "
        "41.0s; its p99 is 16.0ms");
    assert_int_equal(w->proof, PROOF_OPEN_CALLS);
    assert_int_equal(w->pid, 87);
    assert_int_equal(w->start_ns, 6);
    c->s.breaker.state = BREAKER_OPEN; /* they may have ended meanwhile */
    scene_none(c, "hangs");
    assert_true(scene_unknown(c, "hangs"));
    c->s.breaker.state = BREAKER_CLOSED;
    c->open[0].age_us = c->open[1].age_us = 0.9e6; /* not a second */
    scene_none(c, "hangs");
    c->open[0].age_us = c->open[1].age_us = 41e6;
    scene_row(c, WEB, KINDS)->p99_us = scene_row(c, DB, KINDS)->p99_us =
        5e6; /* they are often that long */
    scene_none(c, "hangs");
    scene_free(c);
}

static void part(enum time_part p, const char *rule, const char *text, const char *slow)
{
    struct scene *c = scene_quiet();
    struct time_part_view *v = &c->parts[0];
    char named[400];

    *v = (struct time_part_view){.calls = 100, .slow_from_us = 41000};
    v->share[p] = 0.63;
    v->slow_share[p] = 0.9; /* one call proves nothing */
    scene_row(c, DB, KINDS)->parts = v;
    const struct snap_finding *w = scene_first(c, rule, text);
    assert_ptr_equal(w->row, scene_row(c, DB, KINDS));
    assert_int_equal(w->proof, PROOF_PARTS);
    v->share[p] = 0.29;
    scene_none(c, rule);
    assert_false(scene_unknown(c, rule));
    v->calls = 500;
    scene_first(c, rule, slow);
    scene_row(c, DB, KINDS)->mean_us = 400; /* all its calls are 4 % of the time of the requests */
    scene_none(c, rule);
    scene_row(c, DB, KINDS)->mean_us = 4000;
    v->calls = 9;
    scene_none(c, rule);
    assert_true(scene_unknown(c, rule));
    v->calls = 100;
    v->share[p] = 0.63;
    scene_piece(c, p, 0);
    snprintf(named, sizeof named, "%s, mostly prim_file:read_nif/2", text);
    scene_first(c, rule, named);
    scene_free(c);
}

static void parts(void **state)
{
    (void)state;
#define ALL  " 63 % of the time of the calls of db (100 of them were followed)"
#define SLOW " 90 % of the time of the slowest 1 % of the calls of db (41.0ms and longer)"
    part(PART_GC, "gc", "garbage collection is" ALL, "garbage collection is" SLOW);
    part(PART_DIRTY, "dirty", "dirty jobs (files, crypto, other native code) are" ALL,
         "dirty jobs (files, crypto, other native code) are" SLOW);
    part(PART_PORT, "port", "waiting for a port is" ALL, "waiting for a port is" SLOW);
}

/* Three waits of one request at the same time are more than its duration. */
static void queue_in_parallel(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    for (int i = 0; i < 30; i++) {
        struct made_call call[] = {{WEB, 0, 60, 40 + (uint64_t)i},
                                   {ACC, 41, 46, 87},
                                   {ACC, 46, 51, 87},
                                   {ACC, 51, 56, 87}};
        scene_trace(c, WRITE, 5 * i, call, 4);
        for (uint32_t k = 1; k < 4; k++) {
            c->made->call[k].flags |= SLOW_TRACE_MAILBOX;
            c->made->call[k].mailbox_us = 35000 + 5000 * k;
        }
    }
    scene_row(c, ACC, KINDS)->mean_us = 5000;
    const struct snap_finding *w = scene_found(c, "queue");
    assert_non_null(w);
    assert_true(w->score <= 1);
    assert_non_null(strstr(w->text, "100 % of the time"));
    scene_free(c);
}

/* A measured time below 1 us counts as measured: the server was idle, and the time since the last
 * event of the request was spent in its caller. */
static void measured_time_of_an_idle_server(void **state)
{
    (void)state;
    struct scene *c = scene_of("queue");
    assert_non_null(scene_found(c, "queue"));
    for (size_t i = 0; i < c->s.n_slow_traces; i++) {
        struct slow_trace_request *r = (struct slow_trace_request *)c->trace[i].request;
        r->call[2].flags |= SLOW_TRACE_MAILBOX;
        r->call[2].mailbox_us = 0;
    }
    scene_none(c, "queue");
    assert_false(scene_unknown(c, "queue"));
    scene_free(c);
}

/* Some VMs do not trace garbage collections inside requests. */
static void no_gc_on_this_vm(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    scene_part(c, DB, PART_RUN_QUEUE, 0.1);
    assert_false(scene_unknown(c, "gc"));
    c->s.node.no_gc = true;
    assert_true(scene_unknown(c, "gc"));
    assert_int_equal(scene_missing(c, "gc"), MISSING_VM);
    assert_false(scene_unknown(c, "dirty"));
    scene_free(c);
}

/* The parts of web include those of db: db is named, if it has most of them. */
static void innermost_part(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    scene_row(c, DB, KINDS)->mean_us = 8000; /* of 10 ms of web */
    scene_part(c, WEB, PART_DIRTY, 0.75);
    scene_part(c, DB, PART_DIRTY, 0.8);
    assert_ptr_equal(scene_found(c, "dirty")->row, scene_row(c, DB, KINDS));
    assert_non_null(
        strstr(scene_found(c, "dirty")->text, "are 80 % of the time of the calls of db"));
    scene_part(c, DB, PART_DIRTY, 0.7); /* 5.6 of 7.5 ms */
    assert_ptr_equal(scene_found(c, "dirty")->row, scene_row(c, WEB, KINDS));
    scene_part(c, DB, PART_DIRTY, 0.8);
    struct time_part_view *web = scene_part(c, WEB, PART_DIRTY, 0.75); /* of all calls */
    web->calls = 500;
    web->slow_share[PART_DIRTY] = 0.99; /* of its slowest ones */
    assert_ptr_equal(scene_found(c, "dirty")->row, scene_row(c, DB, KINDS));
    web->calls = 100;
    scene_part(c, DB, PART_DIRTY, 0.8)->calls = 9; /* too few */
    assert_ptr_equal(scene_found(c, "dirty")->row, scene_row(c, WEB, KINDS));
    scene_free(c);
}

/* For every rule there is a scene in which its finding is the first. In the quiet scene, the rule
 * finds nothing. */
static void every_rule(void **state)
{
    (void)state;
    const struct why_rule_text *r;
    for (size_t i = 0; (r = why_rule(i)); i++) {
        struct scene *c = scene_of(r->name);
        const struct snap_finding *w = scene_found(c, r->name);
        if (!w || w != c->s.why.of)
            fail_msg("%s is not the first finding of its scene", r->name);
        assert_false(scene_unknown(c, r->name));
        scene_free(c);
        c = scene_quiet();
        scene_none(c, r->name);
        scene_free(c);
    }
}

/* What a rule lacks is said: it is not always the number of calls. */
static void what_is_missing(void **state)
{
    (void)state;
    static const char *const parts[] = {"gc", "dirty", "port"}, *const slow[] = {"queue", "lock"};
    struct scene *c = scene_quiet();

    for (size_t i = 0; i < 3; i++) {
        c->s.detail.state = DETAIL_ON;
        assert_int_equal(scene_missing(c, parts[i]), MISSING_CALLS);
        c->s.detail.state = DETAIL_NOT_HERE;
        assert_int_equal(scene_missing(c, parts[i]), MISSING_VM);
        c->s.detail.state = DETAIL_OFF;
        assert_int_equal(scene_missing(c, parts[i]), MISSING_DETAIL);
        c->s.detail.state = DETAIL_NO_ENTRY;
        assert_int_equal(scene_missing(c, parts[i]), MISSING_ENTRY);
    }
    for (size_t i = 0; i < 2; i++) {
        c->s.slow_ns = 20 * MS;
        assert_int_equal(scene_missing(c, slow[i]), MISSING_CALLS);
        c->s.slow_ns = 0;
        assert_int_equal(scene_missing(c, slow[i]), MISSING_THRESHOLD);
    }
    scene_run_queue(c, 0, 48);
    assert_int_equal(scene_missing(c, "queue"), MISSING_SHORT_QUEUE);
    assert_int_equal(scene_missing(c, "slower"), MISSING_CALLS);
    c->s.compared[0] = 0;
    assert_int_equal(scene_missing(c, "slower"), MISSING_REFERENCE);
    assert_int_equal(scene_missing(c, "tier"), MISSING_COUNT);
    c->s.has_entry = false;
    assert_int_equal(scene_missing(c, "tier"), MISSING_ENTRY);
    for (unsigned i = 0; i < MISSING_COUNT; i++) {
        assert_non_null(why_missing_name((enum snap_missing)i));
        assert_true(why_missing_text((enum snap_missing)i, true).s[0]);
    }
    scene_free(c);
}

/* On the screen a key gives a check what it needs; a report names the option. */
static void keys_or_options(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "Needs a slow-call threshold (--slow TIME): waiting for",
        "Needs a reference to compare with (--baseline FILE): changes since"};
    struct scene *c = scene_quiet();
    struct buf out;

    c->s.slow_ns = 0;
    c->s.compared[0] = 0;
    why_add(&c->s, NULL, NULL);
    buf_init(&out, 0);
    export_write(&out, &c->s, EXPORT_TEXT, true);
    buf_addch(&out, '\0');
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(out.data, wanted[i]))
            fail_msg("no \"%s\" in: %s", wanted[i], out.data);
    assert_null(strstr(out.data, "(S, then s)"));
    buf_release(&out);
    scene_free(c);
    assert_string_equal(why_missing_text(MISSING_ENTRY, true).s,
                        "Needs an entry (E, in the table)");
    assert_string_equal(why_missing_text(MISSING_ENTRY, false).s, "Needs an entry (--entry NAME)");
}

/* Without slow requests: a process that is always busy. */
static void queue_by_use(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    struct snap_row *r = scene_row(c, ACC, KINDS);

    r->busiest_pid = 87;
    r->busiest = r->busiest_all = r->load = 0.97;
    r->processes = 1;
    r->busy = 0.96;
    c->s.slow_ns = 0;
    const struct snap_finding *w = scene_first(c, "queue",
                                               "process <0.87.0> (accounting) is 97 % busy with "
                                               "calls of acc, 1.00ms each: calls wait for it");
    assert_ptr_equal(w->row, r);
    assert_int_equal(w->proof, PROOF_TABLE);
    assert_int_equal(w->pid, 87);
    r->waits = 400;
    r->wait_mean_us = 31000;
    scene_first(
        c, "queue",
        "process <0.87.0> (accounting) is 97 % busy with calls of acc, 1.00ms each: calls wait for "
        "it, 31.0ms on average");
    r->wait_mean_us = 90; /* it has one client: no call waits for another */
    scene_none(c, "queue");
    r->waits = 0;
    scene_row(c, TIERS, KINDS)->mean_us = 5000;
    scene_none(c, "queue");
    scene_row(c, TIERS, KINDS)->mean_us = 100000;
    scene_first(c, "queue",
                "process <0.87.0> (accounting) is 97 % busy with calls of acc, 1.00ms each: calls "
                "wait for it");
    r->late = 1900; /* nobody waits for most of them */
    scene_none(c, "queue");
    r->late = 0;
    r->busiest = r->busiest_all = r->load = 0.8;
    scene_none(c, "queue");
    assert_false(scene_unknown(c, "queue"));
    r->busiest = r->busiest_all = 0.97; /* one of eight processes: the others have time */
    r->processes = 8;
    r->busy = r->load = 2.4;
    scene_none(c, "queue");
    r->busy = r->load = 7.5;
    r->waits = 0;
    scene_first(c, "queue",
                "8 processes are 94 % busy with calls of acc, 1.00ms each: calls wait for one of "
                "them");
    scene_run_queue(c, 0, 48); /* its calls may wait for a scheduler */
    scene_none(c, "queue");
    scene_free(c);
}

/* A queue is before a process, not before the calls of one tier. */
static void queue_of_several_tiers(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    struct snap_row *acc = scene_row(c, ACC, KINDS), *db = scene_row(c, DB, KINDS);

    acc->busiest_pid = db->busiest_pid = 87;
    acc->busiest_all = db->busiest_all = acc->load = db->load = 0.9;
    acc->processes = db->processes = 1;
    acc->busiest = 0.3;
    db->busiest = 0.6;
    scene_row(c, TIERS, KINDS)->mean_us = 100000;
    c->s.slow_ns = 0;
    const struct snap_finding *w =
        scene_first(c, "queue",
                    "process <0.87.0> (accounting) is 90 % busy, 60 % with calls of db (4.00ms "
                    "each) and 30 % with those of other tiers: calls wait for it");
    assert_ptr_equal(w->row, db);
    assert_int_equal(w->pid, 87);
    acc->busiest = 0.6;
    db->busiest = 0.3;
    assert_ptr_equal(scene_found(c, "queue")->row, acc);
    acc->processes = 2; /* another process has time */
    acc->load = 1.0;
    db->processes = 2;
    db->load = 1.0;
    scene_none(c, "queue");
    acc->processes = db->processes = 4;
    acc->busy = 2.4;
    db->busy = 1.2;
    acc->load = db->load = 3.6;
    scene_first(c, "queue",
                "4 processes are 90 % busy, 60 % with calls of acc (1.00ms each) and 30 % with "
                "those of other tiers: calls wait for one of them");
    scene_free(c);

    c = scene_of("queue"); /* with slow requests */
    acc = scene_row(c, ACC, KINDS);
    acc->busiest_pid = 87;
    acc->busiest = 0.4;
    acc->busiest_all = 0.8;
    acc->mean_us = 2000;
    scene_first(c, "queue",
                "80 % of the time of the 30 newest slow requests is spent waiting for process "
                "<0.87.0> (accounting), which is 80 % busy, 40 % with calls of acc (2.00ms each) "
                "and 40 % with those of other tiers");
    acc->busiest_all = 0.5;
    scene_first(c, "queue",
                "80 % of the time of the 30 newest slow requests passes before process <0.87.0> "
                "(accounting) begins a call of acc, though the calls of all tiers keep it only 50 "
                "% busy");
    acc->busiest_pid = 88; /* it is not known what else this process does */
    scene_first(c, "queue",
                "80 % of the time of the 30 newest slow requests passes before process <0.87.0> "
                "(accounting) begins a call of acc, though these calls keep it only 40 % busy");
    scene_free(c);
}

/* The polls of the slow requests tell where a tier spends its time. */
static void tier_is_polled(void **state)
{
    (void)state;
    struct scene *c = scene_of("tier");
    static const struct snap_place place[] = {
        {"prim_file:read_nif/2 < prim_file:read/2", "running", 0.75},
        {"kprof_sample:db/2", "waiting", 0.25}};

#define TEXT                                                                                       \
    "p99 of write is 40.0ms: in its 5 slowest requests, 79 % of the time is self time of db"
    for (int i = 0; i < 5; i++) {
        c->slow[i].polls = 4;
        c->slow[i].places = place;
        c->slow[i].n_places = 2;
    }
    scene_first(c, "dirty",
                "in 75 % of 20 polls the slow requests were in dirty jobs: prim_file:read_nif/2 < "
                "prim_file:read/2");
    assert_string_equal(
        scene_found(c, "tier")->text, TEXT
        "; 75 % of 20 polls found its slow requests in prim_file:read_nif/2 < prim_file:read/2");
    scene_part(c, DB, PART_GC, 0.1); /* where the parts are known, they count */
    scene_none(c, "dirty");
    scene_row(c, DB, KINDS)->parts = NULL;
    for (int i = 0; i < 5; i++) /* too few */
        c->slow[i].polls = 1;
    scene_first(c, "tier", TEXT);
    for (int i = 0; i < 5; i++) /* the polls began when most of their time had passed */
        c->slow[i].polls = 4;
    scene_row(c, TIERS, KINDS)->p90_us = 25000;
    scene_first(c, "tier", TEXT);
    scene_row(c, TIERS, KINDS)->p90_us = 15000;
    for (int i = 0; i < 5; i++) { /* no place has most of them */
        c->slow[i].polls = 4;
        c->slow[i].places = place + 1;
        c->slow[i].n_places = 1;
    }
    scene_first(c, "tier", TEXT);
    scene_free(c);
}

/* At most five, by score, and a text with hostile names stays within its bounds. */
static void at_most_five(void **state)
{
    (void)state;
    struct scene *c = scene_quiet();
    static char name[1000];
    memset(name, 'x', sizeof name - 1);
    memcpy(name + 50, "\xf0\x9f\x98\x80", 4); /* the cut is inside of a character */

    for (size_t i = 0; i < ROWS; i++) {
        c->row[i].then_count = 1000;
        c->row[i].d_p99 = 2;
        if (c->row[i].tier == DB)
            c->row[i].tier_name = name;
        if (c->row[i].ident && strcmp(c->row[i].ident, "write") == 0)
            c->row[i].ident = name;
    }
    memset(c->s.compared, 'y', sizeof c->s.compared - 1);
    c->s.lost.ring = 1;
    c->s.gap_s = 9;
    scene_row(c, TIERS, WRITE)->mean_us = 31000;
    scene_row(c, DB, WRITE)->self_us = 24500;
    scene_row(c, DB, WRITE)->share = 0.9;
    scene_row(c, DB, KINDS)->errors = scene_row(c, DB, WRITE)->errors = 500;
    for (size_t i = 0; i < LOADS; i++)
        c->load[i].run_queue = 48;
    why_add(&c->s, scene_who, NULL);
    assert_int_equal(c->s.why.n, SNAP_FINDINGS);
    for (size_t i = 0; i + 1 < c->s.why.n; i++)
        assert_true(c->s.why.of[i].score >= c->s.why.of[i + 1].score);
    const struct snap_finding *w = scene_found(c, "errors");
    assert_non_null(w);
    assert_true(strlen(w->text) < 200);
    assert_null(strchr(w->text, '\xf0'));
    scene_free(c);
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_is_quiet),
        cmocka_unit_test(without_calls),
        cmocka_unit_test(tier),
        cmocka_unit_test(differs),
        cmocka_unit_test(differs_few_calls),
        cmocka_unit_test(keys_or_options),
        cmocka_unit_test(differs_seldom_called),
        cmocka_unit_test(repeats),
        cmocka_unit_test(queue),
        cmocka_unit_test(queue_by_parts),
        cmocka_unit_test(lock),
        cmocka_unit_test(hangs),
        cmocka_unit_test(parts),
        cmocka_unit_test(every_rule),
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(queue_by_use),
        cmocka_unit_test(queue_of_several_tiers),
        cmocka_unit_test(tier_is_polled),
        cmocka_unit_test(no_gc_on_this_vm),
        cmocka_unit_test(queue_in_parallel),
        cmocka_unit_test(measured_time_of_an_idle_server),
        cmocka_unit_test(innermost_part),
        cmocka_unit_test(at_most_five),
    };
    return cmocka_run_group_tests_name("why", tests, NULL, NULL);
}
