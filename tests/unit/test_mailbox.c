/* The time of messages in mailboxes: which message belongs to which call, whatever the order of
 * arrival; and how busy the processes of a tier are. */
#include "core_fixture.h"
#include "rng.h"

#include <core/state.h>

#include <stdlib.h>

enum { CALLER_FN = 300 };

static void sent(struct fix *f, double ms, uint64_t from, uint64_t to, uint64_t label)
{
    feed(f, (struct event){.ts_ns = T0 + (uint64_t)(ms * 1e6),
                           .pid = from,
                           .prev = to,
                           .label = label,
                           .caller = CALLER_FN,
                           .weight = 1,
                           .kind = EVENT_SENT});
}

/* One request: P1 sends at `sent_ms`, P2 begins at `begin_ms` and needs `ms`. */
static void served(struct fix *f, uint64_t label, double sent_ms, double begin_ms, double ms)
{
    call(f, sent_ms - 1, P1, label, E, M0);
    sent(f, sent_ms, P1, P2, label);
    call(f, begin_ms, P2, label, A, M1);
    ret(f, begin_ms + ms, P2, M1);
    ret(f, begin_ms + ms + 0.5, P1, CALLER_FN);
    ret(f, begin_ms + ms + 1, P1, M0);
}

static void wait_of_a_call(void **state)
{
    (void)state;
    struct fix f = fix();
    served(&f, 7, 2, 5, 4);
    until(&f, 100);
    struct snap_row r = row(&f, A, NULL);
    assert_int_equal(r.waits, 1);
    expect_ms(r.wait_p50_us, 3);
    expect_ms(r.wait_p999_us, 3);
    expect_ms(r.wait_mean_us, 3);
    expect_ms(r.wait_max_us, 3);
    expect_ms(r.max_us, 4); /* the service time stays what it was */
    assert_int_equal(orphan_returns(&f), 0);
    EXPECT_CALLS(&f, 2, 2, 0, 0, 0); /* a message is no call */
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, E, NULL).waits, 0);
    assert_true(isnan(row(&f, E, NULL).wait_p50_us));
    assert_int_equal(row(&f, TIER_TOTAL, NULL).waits, 0);
    done(&f);
}

static void self_times_do_not_change(void **state)
{
    (void)state;
    struct fix f = fix(), g = fix();
    served(&f, 7, 2, 5, 4);
    call(&g, 1, P1, 7, E, M0);
    call(&g, 5, P2, 7, A, M1);
    ret(&g, 9, P2, M1);
    ret(&g, 10, P1, M0);
    until(&f, 100);
    until(&g, 100);
    expect_near(row(&f, E, NULL).self_us, row(&g, E, NULL).self_us);
    expect_near(row(&f, A, NULL).self_us, row(&g, A, NULL).self_us);
    expect_near(row(&f, A, NULL).share, row(&g, A, NULL).share);
    done(&f);
    done(&g);
}

/* Only the first call that the server makes for a message has waited. */
static void only_the_first_call(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    sent(&f, 1, P1, P2, 7);
    call(&f, 3, P2, 7, A, M1);
    call(&f, 4, P2, 7, B, FN_A);
    ret(&f, 5, P2, FN_A);
    ret(&f, 6, P2, M1);
    call(&f, 7, P2, 7, A, M1); /* after its answer, on its own */
    ret(&f, 8, P2, M1);
    ret(&f, 9, P1, CALLER_FN);
    ret(&f, 10, P1, M0);
    until(&f, 100);
    assert_int_equal(row(&f, A, NULL).count, 2);
    assert_int_equal(row(&f, A, NULL).waits, 1);
    expect_ms(row(&f, A, NULL).wait_max_us, 2);
    assert_int_equal(row(&f, B, NULL).waits, 0);
    done(&f);
}

/* The sender's events may arrive after those of the server. */
static void message_arrives_after_its_call(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 3, P2, 7, A, M1);
    ret(&f, 4, P2, M1);
    sent(&f, 1, P1, P2, 7);
    ret(&f, 5, P1, CALLER_FN);
    ret(&f, 6, P1, M0);
    until(&f, 100);
    assert_int_equal(row(&f, A, NULL).waits, 1);
    expect_ms(row(&f, A, NULL).wait_max_us, 2);
    done(&f);
}

/* No tier was called for the first message. The sender has continued. */
static void a_message_without_a_call(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    sent(&f, 1, P1, P2, 7);
    ret(&f, 2, P1, CALLER_FN);
    sent(&f, 5, P1, P2, 7);
    call(&f, 6, P2, 7, A, M1);
    ret(&f, 7, P2, M1);
    ret(&f, 8, P1, M0); /* its return was lost */
    until(&f, 100);
    assert_int_equal(row(&f, A, NULL).waits, 1);
    expect_ms(row(&f, A, NULL).wait_max_us, 1);
    done(&f);
}

static void message_to_another_process_or_request(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    sent(&f, 1, P1, P3, 7);
    call(&f, 2, P2, 7, A, M1);
    ret(&f, 3, P2, M1);
    sent(&f, 4, P1, P2, 8);
    call(&f, 5, P2, 7, A, M1);
    ret(&f, 6, P2, M1);
    ret(&f, 7, P1, M0);
    until(&f, 100);
    assert_int_equal(row(&f, A, NULL).count, 2);
    assert_int_equal(row(&f, A, NULL).waits, 0);
    assert_true(isnan(row(&f, A, NULL).wait_p99_us));
    done(&f);
}

/* A tier whose last action is the call of the server: one return ends both. */
static void tail_call_of_a_server(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    call(&f, 1, P1, 7, B, CALLER_FN);
    sent(&f, 2, P1, P2, 7);
    call(&f, 3, P2, 7, A, M1);
    ret(&f, 4, P2, M1);
    ret(&f, 5, P1, CALLER_FN);
    ret(&f, 6, P1, M0);
    until(&f, 100);
    expect_ms(row(&f, B, NULL).max_us, 4);
    EXPECT_CALLS(&f, 3, 3, 0, 0, 0);
    assert_int_equal(orphan_returns(&f), 0);
    done(&f);
}

/* The entry runs in a server, inside of another request. */
static void entry_that_is_served(void **state)
{
    (void)state;
    struct fix f = fix();
    call(&f, 0, P1, 7, E, M0);
    sent(&f, 1, P1, P2, 7);
    entry_prev(&f, 3, P2, 9, 7, M1);
    ret(&f, 4, P2, M1);
    ret(&f, 5, P1, CALLER_FN);
    ret(&f, 6, P1, M0);
    until(&f, 100);
    EXPECT_REQUESTS(&f, 1, 1, 0, 0);
    assert_int_equal(row(&f, E, NULL).waits, 1);
    expect_ms(row(&f, E, NULL).wait_max_us, 2);
    done(&f);
}

/* The process of the entry still has the label of its last request. */
static void entry_with_an_old_label(void **state)
{
    (void)state;
    struct fix f = fix();
    for (uint64_t i = 0; i < 5; i++) {
        entry_prev(&f, 10 * (double)i, P1, 10 + i, 9 + i, M0);
        call(&f, 10 * (double)i + 1, P2, 10 + i, A, M1);
        ret(&f, 10 * (double)i + 2, P2, M1);
        ret(&f, 10 * (double)i + 3, P1, M0);
    }
    until(&f, 100);
    assert_true(row(&f, A, NULL).busy > 0);
    assert_true(isnan(row(&f, E, NULL).busy));
    done(&f);
}

static void busy(void **state)
{
    (void)state;
    struct fix f = fix();
    struct snap_row r;
    for (int i = 0; i < 21; i++)
        served(&f, 10 + (uint64_t)i, 100 * i + 2, 100 * i + 5, 40);
    until(&f, 2200);
    r = row(&f, A, NULL);
    /* the first call does not count: P2 may be a process that serves one request */
    expect_near(r.busy, 20 * 0.040 / ((double)2200 / 1000 - 0.001));
    assert_int_equal(r.busiest_pid, P2);
    assert_int_equal(r.processes, 1);
    /* of the time since the first of these calls began, not of the last 5 to 10 s */
    expect_near(r.busiest, 20 * 0.040 / ((double)(2200 - 105) / 1000));
    assert_true(isnan(row(&f, E, NULL).busy));
    assert_true(isnan(row(&f, TIER_TOTAL, NULL).busy));
    done(&f);
}

static void traced(struct fix *f, double ms, enum gap_reason reason)
{
    feed(f, (struct event){.ts_ns = T0 + (uint64_t)(ms * 1e6),
                           .pid = UINT64_MAX,
                           .ident = (uint32_t)reason,
                           .kind = EVENT_GAP});
}

/* Always half of the time in which it was traced, however long tracing was off in between. */
static void busy_is_of_the_time_that_was_traced(void **state)
{
    (void)state;
    struct fix f = fix();
    traced(&f, 0, GAP_NONE);
    for (int i = 0; i < 21; i++)
        served(&f, 10 + (uint64_t)i, 100 * i + 2, 100 * i + 5, 50);
    traced(&f, 2105, GAP_OFF);
    until(&f, 4605);
    expect_near(row(&f, A, NULL).busy, 20 * 0.050 / (2.105 - 0.001));
    expect_near(row(&f, A, NULL).busiest, 0.5); /* from 105 ms on */
    traced(&f, 4605, GAP_NONE);
    for (int i = 0; i < 20; i++)
        served(&f, 50 + (uint64_t)i, 4605 + 100 * i, 4607 + 100 * i, 50);
    until(&f, 6605);
    expect_near(row(&f, A, NULL).busy, 40 * 0.050 / (4.105 - 0.001));
    expect_near(row(&f, A, NULL).busiest, 0.5);
    /* soon after a long gap: not of the first 100 ms */
    traced(&f, 6605, GAP_OFF);
    until(&f, 21605);
    traced(&f, 21605, GAP_NONE);
    served(&f, 90, 21610, 21612, 90);
    until(&f, 21705);
    expect_near(row(&f, A, NULL).busiest, 0);
    done(&f);
}

/* A call that is longer than the time that is shown: only its part in that time counts. */
static void busiest_is_not_more_than_all(void **state)
{
    (void)state;
    struct fix f = fix();
    served(&f, 10, 2, 5, 4);
    served(&f, 11, 12, 15, 4);
    served(&f, 12, 1000, 1002, 30000);
    until(&f, 31100);
    expect_near(row(&f, A, NULL).busiest, (32.002 - 25) / (32.1 - 25));
    done(&f);
}

/* The tier of the last call gets no more than its own time, and calls of both tiers wait for the
 * whole process. */
static void process_of_two_tiers(void **state)
{
    (void)state;
    struct fix f = fix();
    for (int i = 0; i < 30; i++) { /* the first call does not count */
        uint16_t tier = i % 3 == 1 ? B : A;
        double ms = 200 * i;
        call(&f, ms, P1, 10 + (uint64_t)i, E, M0);
        call(&f, ms + 1, P2, 10 + (uint64_t)i, tier, M1);
        ret(&f, ms + 91, P2, M1);
        ret(&f, ms + 92, P1, M0);
        until(&f, ms + 200);
        double seen_s = (ms + 200 - 201) / 1e3;
        if (seen_s <= 1)
            continue;
        double a = (i - (i + 2) / 3) * 0.090 / seen_s, b = (i + 2) / 3 * 0.090 / seen_s;
        struct snap_row ra = row(&f, A, NULL), rb = row(&f, B, NULL);
        assert_int_equal(ra.busiest_pid, P2);
        assert_int_equal(rb.busiest_pid, P2);
        assert_int_equal(ra.processes, 1);
        assert_int_equal(rb.processes, 1);
        expect_near(ra.busiest, a);
        expect_near(rb.busiest, b);
        expect_near(ra.busiest_all, a + b);
        expect_near(rb.busiest_all, a + b);
        expect_near(ra.load, a + b);
        expect_near(rb.load, a + b);
    }
    done(&f);
}

/* The load of a tier is that of its processes with all their calls. */
static void load_of_several_processes(void **state)
{
    (void)state;
    struct fix f = fix();
    for (int i = 0; i < 40; i++) { /* P2: A and B in turn; P3: only B, for a third of the time */
        uint64_t label = 10 + (uint64_t)i;
        double ms = 200 * i;
        call(&f, ms, P1, label, E, M0);
        call(&f, ms + 1, P2, label, i % 2 ? A : B, M1);
        call(&f, ms + 1, P3, label, B, M2);
        ret(&f, ms + 31, P3, M2);
        ret(&f, ms + 61, P2, M1);
        ret(&f, ms + 92, P1, M0);
        until(&f, ms + 200);
    }
    double s = (8000 - 201) / 1e3;
    struct snap_row a = row(&f, A, NULL), b = row(&f, B, NULL);
    assert_int_equal(a.processes, 1);
    assert_int_equal(b.processes, 2);
    expect_near(a.busiest, 20 * 0.060 / s);
    expect_near(a.busiest_all, 39 * 0.060 / s);
    expect_near(a.load, 39 * 0.060 / s);
    assert_int_equal(b.busiest_pid, P3);
    expect_near(b.busiest, 39 * 0.030 / s);
    expect_near(b.busiest_all, 39 * 0.030 / s);
    expect_near(b.load, 39 * 0.090 / s);
    core_tier_remove(f.c, A); /* its calls are not seen any more */
    expect_near(row(&f, B, NULL).load, (19 * 0.060 + 39 * 0.030) / s);
    done(&f);
}

static void busy_is_scaled_by_the_sampling(void **state)
{
    (void)state;
    struct fix f = fix();
    for (int i = 0; i < 11; i++) {
        struct event ev = call_ev(100 * i + 1, P1, 10 + (uint64_t)i, E, M0);
        ev.weight = 8;
        feed(&f, ev);
        call(&f, 100 * i + 2, P2, 10 + (uint64_t)i, A, M1);
        ret(&f, 100 * i + 12, P2, M1);
        ret(&f, 100 * i + 13, P1, M0);
    }
    until(&f, 1101);
    expect_near(row(&f, A, NULL).busy, 8 * 10 * 0.010 / 1.1);
    done(&f);
}

/* A process that handles only one request does not count as a server. */
static void processes_that_serve_once(void **state)
{
    (void)state;
    struct fix f = fix();
    for (uint64_t i = 0; i < 20; i++) {
        call(&f, 100 * (double)i + 1, P1, 10 + i, E, M0);
        call(&f, 100 * (double)i + 2, 1000 + i, 10 + i, A, M1);
        ret(&f, 100 * (double)i + 40, 1000 + i, M1);
        ret(&f, 100 * (double)i + 50, P1, M0);
    }
    until(&f, 2100);
    assert_true(isnan(row(&f, A, NULL).busy));
    assert_int_equal(row(&f, A, NULL).processes, 0);
    done(&f);
}

static void waits_are_in_windows_and_go_with_the_tier(void **state)
{
    (void)state;
    struct fix f = fix();
    served(&f, 7, 2, 5, 4);
    served(&f, 8, 15002, 15010, 4);
    until(&f, 16000);
    assert_int_equal(row(&f, A, NULL).waits, 2);
    assert_int_equal(row_in(&f, WINDOW_10S, A, NULL).waits, 1);
    expect_ms(row_in(&f, WINDOW_10S, A, NULL).wait_max_us, 8);
    core_tier_remove(f.c, A);
    uint16_t again = core_tier_add(f.c, "a", "m:a/1");
    until(&f, 16100);
    assert_int_equal(row(&f, again, NULL).waits, 0);
    core_zero(f.c);
    assert_int_equal(row(&f, E, NULL).waits, 0);
    done(&f);
}

/* Slow requests have the time of each call, in the list of calls and in the waterfall. */
static void slow_requests_have_the_waits(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, MS);
    served(&f, 7, 2, 5.5, 4);
    until(&f, 100);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->n_slow, 1);
    assert_int_equal(s->slow[0].n_tiers, 2);
    assert_false(s->slow[0].tiers[0].mailbox_known);
    assert_true(s->slow[0].tiers[1].mailbox_known);
    assert_int_equal(s->slow[0].tiers[1].mailbox_us, 3500);
    assert_int_equal(s->n_slow_traces, 1);
    const struct slow_trace_request *r = s->slow_traces[0].request;
    assert_false(r->call[0].flags & SLOW_TRACE_MAILBOX);
    assert_true(r->call[1].flags & SLOW_TRACE_MAILBOX);
    assert_int_equal(r->call[1].mailbox_us, 3500);
    snapshot_free(s);
    done(&f);
}

/* Senders that never get an answer: the tables stay bounded. */
static void tables_are_bounded(void **state)
{
    (void)state;
    struct fix f = fix();
    for (uint64_t i = 0; i < 3 * (uint64_t)MAILBOX_SENT; i++) {
        struct event ev = {.ts_ns = T0 + i,
                           .pid = 1000 + i,
                           .prev = 5 + i % 3, /* long chains */
                           .label = 1 + i % 7,
                           .kind = EVENT_SENT};
        core_feed(f.c, &ev, 1);
    }
    for (uint64_t i = 0; i < 3 * (uint64_t)MAILBOX_SERVERS; i++) {
        struct event ev[] = {
            call_ev(1, 1000000 + i, 1 + i % 7, A, M1),
            {.ts_ns = T0 + MS, .pid = 1000000 + i, .fn = M1, .kind = EVENT_RETURN_TO}};
        core_feed(f.c, ev, 2);
    }
    until(&f, 50);
    served(&f, 99, 55, 58, 1);
    until(&f, 100);
    assert_int_equal(f.c->mailbox.high, MAILBOX_SENT);
    assert_int_equal(row(&f, A, NULL).waits, 1);
    done(&f);
}

/* Many servers with several tiers each: those that are kept are bounded, and new ones have room. */
static void servers_are_bounded(void **state)
{
    (void)state;
    struct fix f = fix();
    uint16_t tier[6];
    for (uint16_t i = 0; i < 6; i++) {
        char name[8], mfa[16];
        snprintf(name, sizeof name, "t%u", i);
        snprintf(mfa, sizeof mfa, "m:t%u/1", i);
        tier[i] = core_tier_add(f.c, name, mfa);
        core_tier_set_fn(f.c, tier[i], 1000 + i);
    }
    uint64_t n = MAILBOX_SHARES / 6 + 100;
    for (uint64_t i = 0; i < 7 * n; i++) {
        uint64_t label = 1 + i % 50, pid = 1000 + i / 7, ts_ns = T0 + i * 2000;
        struct event ev[] = {{.ts_ns = ts_ns,
                              .pid = P1,
                              .label = label,
                              .fn = FN_E,
                              .caller = M0,
                              .tier = E,
                              .weight = 1,
                              .kind = EVENT_ENTRY},
                             {.ts_ns = ts_ns + 1,
                              .pid = pid,
                              .label = label,
                              .fn = 1000 + (uint32_t)(i % 7 % 6),
                              .caller = M1,
                              .tier = tier[i % 7 % 6],
                              .weight = 1,
                              .kind = EVENT_CALL},
                             {.ts_ns = ts_ns + 2, .pid = pid, .fn = M1, .kind = EVENT_RETURN_TO},
                             {.ts_ns = ts_ns + 3, .pid = P1, .fn = M0, .kind = EVENT_RETURN_TO}};
        core_feed(f.c, ev, 4);
        assert_true(f.c->mailbox.shares <= MAILBOX_SHARES);
        assert_true(f.c->mailbox.servers <= MAILBOX_SERVERS);
    }
    core_advance(f.c, T0 + 7 * n * 2000 + 100 * MS);
    assert_in_range(f.c->mailbox.servers, 1, n - 1); /* the others were forgotten */
    done(&f);
}

/* ---- property: a server with a queue ---- */

enum { CLIENTS = 5, SERVERS = 3, MESSAGES = 400 };

struct happened {
    struct event ev;
    uint64_t arrives_ns; /* at kprof-top */
};

static int by_arrival(const void *a, const void *b)
{
    const struct happened *x = a, *y = b;
    return x->arrives_ns != y->arrives_ns ? (x->arrives_ns < y->arrives_ns ? -1 : 1)
           : x->ev.ts_ns != y->ev.ts_ns   ? (x->ev.ts_ns < y->ev.ts_ns ? -1 : 1)
                                          : 0;
}

struct run {
    struct happened e[6 * MESSAGES];
    size_t n;
    uint64_t delay[CLIENTS + SERVERS + 1]; /* of the events of each process */
    double wait_us[TIERS];                 /* the truth */
    uint64_t waits[TIERS];
};

static void happen(struct run *r, size_t proc, struct event ev)
{
    ev.pid = 100 + proc;
    ev.weight = 1;
    r->e[r->n++] = (struct happened){ev, ev.ts_ns + r->delay[proc]};
}

/* Clients call servers, one message at a time; a server takes the messages in order. */
static void simulate(struct run *r)
{
    uint64_t client_free[CLIENTS], server_free[SERVERS] = {0};

    for (size_t i = 0; i < CLIENTS; i++)
        client_free[i] = T0 + rng() % 1000;
    for (size_t i = 0; i <= CLIENTS + SERVERS; i++)
        r->delay[i] = rng() % 5000000;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        size_t k = 0, s = rng() % SERVERS;
        for (size_t j = 1; j < CLIENTS; j++)
            k = client_free[j] < client_free[k] ? j : k;
        uint64_t begin = client_free[k], send = begin + 1 + rng() % 1000000, label = 1 + i;
        uint64_t starts = send > server_free[s] ? send : server_free[s];
        uint64_t ends = (starts += 1) + 1 + rng() % 3000000;
        uint16_t tier = rng() % 2 ? A : B;
        server_free[s] = ends;
        client_free[k] = ends + 1000;
        happen(r, k,
               (struct event){.ts_ns = begin,
                              .label = label,
                              .tier = E,
                              .fn = FN_E,
                              .caller = M0,
                              .kind = EVENT_ENTRY});
        happen(r, k,
               (struct event){.ts_ns = send,
                              .label = label,
                              .prev = 100 + CLIENTS + s,
                              .caller = CALLER_FN,
                              .kind = EVENT_SENT});
        happen(r, CLIENTS + s,
               (struct event){.ts_ns = starts,
                              .label = label,
                              .tier = tier,
                              .fn = FN_E + tier,
                              .caller = M1,
                              .kind = EVENT_CALL});
        happen(r, CLIENTS + s, (struct event){.ts_ns = ends, .fn = M1, .kind = EVENT_RETURN_TO});
        happen(r, k, (struct event){.ts_ns = ends + 1, .fn = CALLER_FN, .kind = EVENT_RETURN_TO});
        happen(r, k, (struct event){.ts_ns = ends + 2, .fn = M0, .kind = EVENT_RETURN_TO});
        r->waits[tier]++;
        r->wait_us[tier] += (double)(starts - send) / 1e3;
    }
    qsort(r->e, r->n, sizeof *r->e, by_arrival);
}

static void every_wait_is_found(void **state)
{
    (void)state;
    rng_seed();
    for (int round = 0; round < 20; round++) {
        struct fix f = fix();
        struct run *r = calloc(1, sizeof *r);
        assert_non_null(r);
        simulate(r);
        for (size_t i = 0; i < r->n; i++)
            core_feed(f.c, &r->e[i].ev, 1);
        until(&f, 20000);
        for (uint16_t t = A; t <= B; t++) {
            struct snap_row got = row(&f, t, NULL);
            assert_int_equal(got.waits, r->waits[t]);
            assert_int_equal(got.waits, got.count);
            if (fabs(got.wait_mean_us * (double)got.waits - r->wait_us[t]) > 1)
                fail_msg("waits of %f us, not %f", got.wait_mean_us * (double)got.waits,
                         r->wait_us[t]);
        }
        assert_int_equal(orphan_returns(&f), 0);
        free(r);
        done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_of_a_call),
        cmocka_unit_test(self_times_do_not_change),
        cmocka_unit_test(only_the_first_call),
        cmocka_unit_test(message_arrives_after_its_call),
        cmocka_unit_test(a_message_without_a_call),
        cmocka_unit_test(message_to_another_process_or_request),
        cmocka_unit_test(tail_call_of_a_server),
        cmocka_unit_test(entry_that_is_served),
        cmocka_unit_test(entry_with_an_old_label),
        cmocka_unit_test(busy),
        cmocka_unit_test(busy_is_of_the_time_that_was_traced),
        cmocka_unit_test(busiest_is_not_more_than_all),
        cmocka_unit_test(process_of_two_tiers),
        cmocka_unit_test(load_of_several_processes),
        cmocka_unit_test(busy_is_scaled_by_the_sampling),
        cmocka_unit_test(processes_that_serve_once),
        cmocka_unit_test(waits_are_in_windows_and_go_with_the_tier),
        cmocka_unit_test(slow_requests_have_the_waits),
        cmocka_unit_test(tables_are_bounded),
        cmocka_unit_test(servers_are_bounded),
        cmocka_unit_test(every_wait_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
