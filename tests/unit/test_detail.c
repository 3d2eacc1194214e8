/* Requests that are followed in detail: parts in rows and in slow traces. KPROF_SEED=n repeats a
 * run. */
#include "core_fixture.h"
#include "rng.h"

#include <kprof/core/slow_trace.h>
#include <stdlib.h>

#define LABEL (EVENT_LABEL_DETAIL | UINT64_C(7) << 32 | 1)

static void sched(struct fix *f, double ms, uint64_t pid, enum event_kind kind, const char *in)
{
    feed(f, (struct event){.ts_ns = T0 + (uint64_t)(ms * 1e6),
                           .pid = pid,
                           .kind = (uint8_t)kind,
                           .tier = 1,
                           .fn = in ? intern_add(f->names, in, strlen(in)) : 0});
}

/* 40 ms: 5 ms in P1, 15 ms in the mailbox of P2, 10 ms in P2, 1 ms until P1 goes on. */
static void request(struct fix *f, double at, uint64_t label)
{
    call_id(f, at, P1, label, E, M0, f->create);
    sched(f, at + 5, P1, EVENT_OUT, "gen:do_call/4");
    call(f, at + 20, P2, label, A, M1);
    ret(f, at + 30, P2, M1);
    sched(f, at + 31, P1, EVENT_IN, "gen:do_call/4");
    sched(f, at + 33, P1, EVENT_GC, NULL);
    sched(f, at + 35, P1, EVENT_GC_END, NULL);
    ret(f, at + 40, P1, M0);
    until(f, at + 100);
}

static void expect_parts(struct fix *f, enum window w, uint16_t tier, const char *ident,
                         uint64_t calls, const double ms[PART_COUNT])
{
    struct snapshot *s = core_snapshot(f->c, w, 0);
    const struct time_part_view *v = NULL;
    double all = 0, slow = 0, sum_ms = 0;

    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == tier &&
            (ident ? s->rows[i].ident && !strcmp(s->rows[i].ident, ident) : !s->rows[i].ident))
            v = s->rows[i].parts;
    assert_int_equal(v != NULL, calls > 0);
    for (int p = 0; v && p < PART_COUNT; p++)
        sum_ms += ms[p];
    for (int p = 0; v && p < PART_COUNT; p++) {
        expect_ms(v->mean_us[p], ms[p]);
        expect_ms(v->p50_us[p], ms[p]);
        expect_ms(v->p99_us[p], ms[p]);
        expect_near(v->share[p], ms[p] / sum_ms);
        all += v->share[p];
        slow += v->slow_share[p];
    }
    if (v) {
        assert_int_equal(v->calls, calls);
        expect_near(all, 1);
        expect_near(slow, 1);
        expect_ms(v->slow_from_us, sum_ms);
    }
    snapshot_free(s);
}

static const double entry_ms[PART_COUNT] = {
    [PART_RUN] = 12, [PART_GC] = 2, [PART_MAILBOX] = 15, [PART_WAIT] = 10, [PART_RUN_QUEUE] = 1};
static const double a_ms[PART_COUNT] = {[PART_RUN] = 10};

static void rows_have_parts(void **state)
{
    struct fix f = fix();
    (void)state;
    request(&f, 0, LABEL);
    request(&f, 200, LABEL + 1);
    request(&f, 400, 5); /* not a detailed request */
    const char *idents[] = {NULL, "create"};
    for (int i = 0; i < 2; i++) {
        expect_parts(&f, WINDOW_RUN, E, idents[i], 2, entry_ms);
        expect_parts(&f, WINDOW_RUN, TIER_TOTAL, idents[i], 2, entry_ms);
        expect_parts(&f, WINDOW_RUN, A, idents[i], 2, a_ms);
    }
    expect_parts(&f, WINDOW_RUN, B, NULL, 0, a_ms);
    assert_int_equal(row(&f, E, NULL).count, 3);
    until(&f, 20000);
    expect_parts(&f, WINDOW_10S, E, NULL, 0, entry_ms);
    expect_parts(&f, WINDOW_RUN, E, NULL, 2, entry_ms);
    core_tier_remove(f.c, A);
    expect_parts(&f, WINDOW_RUN, A, NULL, 0, a_ms);
    core_zero(f.c);
    expect_parts(&f, WINDOW_RUN, E, NULL, 0, entry_ms);
    done(&f);
}

/* What is not known is not added to another part. */
static void without_events(void **state)
{
    static const double lost_ms[PART_COUNT] = {[PART_RUN] = 5, [PART_UNKNOWN] = 35};
    struct fix f = fix();
    (void)state;
    call(&f, 0, P1, LABEL, E, M0);
    sched(&f, 5, P1, EVENT_UNKNOWN, NULL);
    ret(&f, 40, P1, M0);
    until(&f, 100);
    expect_parts(&f, WINDOW_RUN, E, NULL, 1, lost_ms);
    done(&f);
}

/* The pieces of each call cover it, and have the parts of the rows. Returns the number of calls
 * that have pieces. */
static uint32_t pieces_cover(const struct slow_trace_request *r)
{
    uint32_t at = 0, seen = 0;

    while (at < r->n_pieces) {
        const struct slow_trace_call *c = &r->call[r->piece[at].call];
        uint32_t of = r->piece[at].call;
        uint64_t ns = c->start_ns;
        assert_true(of < r->n && of >= seen);
        for (; at < r->n_pieces && r->piece[at].call == of; at++) {
            assert_int_equal(r->piece[at].from_ns, ns);
            assert_true(r->piece[at].what <= r->n_whats);
            ns = r->piece[at].to_ns;
        }
        assert_int_equal(ns, c->end_ns);
        seen++;
    }
    return seen;
}

static void check_pieces(const struct slow_trace_request *r, uint32_t calls)
{
    assert_int_equal(pieces_cover(r), calls);
}

static void slow_traces_have_pieces(void **state)
{
    struct fix f = fix();
    (void)state;
    core_set_slow(f.c, 10 * MS);
    request(&f, 0, LABEL);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->n_slow_traces, 1);
    const struct slow_trace_request *r = s->slow_traces[0].request;
    check_pieces(r, 2);
    assert_int_equal(r->n_pieces, 8);
    assert_int_equal(r->piece[1].part, PART_MAILBOX);
    assert_int_equal(r->piece[1].other, P2);
    assert_string_equal(r->what[r->piece[1].what - 1], "gen:do_call/4");

    struct slow_trace_request *same = slow_trace_copy(r, r->n + 3),
                              *less = slow_trace_compact(r, 1);
    check_pieces(same, 2);
    assert_int_equal(same->n_pieces, r->n_pieces);
    check_pieces(less, 1);
    assert_int_equal(less->n_pieces, 7);
    assert_string_equal(less->what[less->piece[1].what - 1], "gen:do_call/4");
    slow_trace_unref(same);
    slow_trace_unref(less);

    call(&f, 101, P3, LABEL, B, M2); /* a late call: the trace becomes a copy */
    ret(&f, 120, P3, M2);
    until(&f, 200);
    struct snapshot *later = core_snapshot(f.c, WINDOW_RUN, 0);
    r = later->slow_traces[0].request;
    assert_int_equal(r->n, 3);
    check_pieces(r, 2);
    snapshot_free(s);
    snapshot_free(later);
    done(&f);
}

/* The process that it waits for, and the length of its mailbox. */
static void waits_for_a_server(void **state)
{
    struct fix f = fix();
    (void)state;
    core_set_slow(f.c, 10 * MS);
    call(&f, 0, P1, LABEL, E, M0);
    for (int i = 0; i < 2; i++) { /* P3 has no call of a tier */
        double at = 40 * i;
        feed(&f, (struct event){.ts_ns = T0 + (uint64_t)((at + 4) * 1e6),
                                .pid = P1,
                                .label = LABEL,
                                .prev = i ? P3 : P2,
                                .kind = EVENT_SENT});
        sched(&f, at + 5, P1, EVENT_OUT, "gen:do_call/4");
        for (int k = 1; k < 4; k++)
            feed(&f, (struct event){.ts_ns = T0 + (uint64_t)((at + 6 * k) * 1e6),
                                    .pid = i ? P3 : P2,
                                    .label = (uint64_t)(30 - k),
                                    .kind = EVENT_QUEUE});
        if (i == 0) {
            call(&f, at + 20, P2, LABEL, A, M1);
            ret(&f, at + 31, P2, M1);
        }
        sched(&f, at + 31, P1, EVENT_IN, "gen:do_call/4");
    }
    ret(&f, 80, P1, M0);
    until(&f, 200);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    const struct slow_trace_request *r = s->slow_traces[0].request;
    const struct time_part_piece *p = r->piece;
    check_pieces(r, 2);
    assert_int_equal(p[1].part, PART_MAILBOX);
    assert_int_equal(p[1].other, P2);
    assert_int_equal(p[1].queue, 29 + 1);
    assert_int_equal(p[2].part, PART_WAIT);
    assert_int_equal(p[2].other, P2);
    assert_int_equal(p[2].queue, 0); /* it works for this request */
    assert_int_equal(p[4].part, PART_WAIT);
    assert_int_equal(p[4].other, P3);
    assert_int_equal(p[4].queue, 29 + 1);
    snapshot_free(s);
    done(&f);
}

/* The copy has other positions of calls. */
static void compact_pieces(void **state)
{
    struct fix f = fix();
    (void)state;
    core_set_slow(f.c, 10 * MS);
    call(&f, 0, P1, LABEL, E, M0);
    call(&f, 1, P1, LABEL, B, M1);
    ret(&f, 2, P1, M1);
    call(&f, 3, P1, LABEL, A, M1);
    ret(&f, 20, P1, M1);
    ret(&f, 40, P1, M0);
    until(&f, 100);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    const struct slow_trace_request *r = s->slow_traces[0].request;
    check_pieces(r, 3);
    struct slow_trace_request *less = slow_trace_compact(r, 2);
    check_pieces(less, 2);
    assert_int_equal(less->call[1].tier, A);
    slow_trace_unref(less);
    snapshot_free(s);
    done(&f);
}

/* A request with so many calls that they are added to the rows before it ends. */
static void a_long_request(void **state)
{
    struct fix f = fix();
    (void)state;
    core_set_slow(f.c, 10 * MS);
    call(&f, 0, P1, LABEL, E, M0);
    for (int i = 0; i < 600; i++) {
        call(&f, 1 + i, P1, LABEL, A, M1);
        ret(&f, 1.5 + i, P1, M1);
    }
    ret(&f, 1000, P1, M0);
    until(&f, 2000);
    expect_parts(&f, WINDOW_RUN, A, NULL, 600, (double[PART_COUNT]){[PART_RUN] = 0.5});
    expect_parts(&f, WINDOW_RUN, TIER_TOTAL, NULL, 1, (double[PART_COUNT]){[PART_RUN] = 1000});
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    check_pieces(s->slow_traces[0].request, SLOW_TRACE_CALLS);
    snapshot_free(s);
    done(&f);
}

/* ---- random events ---- */

/* A call of P1 or P2, somewhere in [from, to) us of the request, with calls inside. */
static void random_calls(struct fix *f, double from, double to, uint64_t label, int depth)
{
    while (to - from > 20 && rng_below(3)) {
        double at = from + (double)rng_below((uint64_t)(to - from) / 2) + 1,
               end = at + (double)rng_below((uint64_t)(to - at)) * 0.9;
        uint64_t pid = rng_below(3) ? P1 : P2;
        uint32_t back = M1 + (uint32_t)depth;
        call(f, at / 1e3, pid, label, rng_below(2) ? A : B, back);
        if (depth < 3)
            random_calls(f, at, end, label, depth + 1);
        ret(f, end / 1e3, pid, back);
        from = end + 1;
    }
}

static void random_scheduling(struct fix *f, double from, double us)
{
    static const char *const fns[] = {"gen:do_call/4", "m:f/1", "timer:sleep/1", "prim_inet:x/0"};
    uint64_t n = rng_below(60);

    for (uint64_t i = 0; i < n; i++) {
        double at = (from + (double)rng_below((uint64_t)us)) / 1e3;
        enum event_kind kind =
            rng_below(30) ? (enum event_kind)(EVENT_OUT + rng_below(4)) : EVENT_UNKNOWN;
        sched(f, at, P1 + rng_below(2), kind, fns[rng_below(4)]);
    }
}

/* The parts of all calls of a row add up to their durations. */
static void parts_add_up(struct fix *f, uint64_t requests)
{
    struct snapshot *s = core_snapshot(f->c, WINDOW_RUN, 0);

    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        double sum = 0;
        assert_true(r->count == 0 || r->parts);
        for (int p = 0; r->parts && p < PART_COUNT; p++)
            sum += r->parts->mean_us[p];
        if (!r->parts)
            continue;
        assert_int_equal(r->parts->calls, r->count);
        if (fabs(sum - r->mean_us) > 0.001)
            fail_msg("the parts add up to %f us, not to %f us", sum, r->mean_us);
    }
    for (size_t i = 0; i < s->n_slow_traces; i++)
        assert_true(pieces_cover(s->slow_traces[i].request) > 0);
    assert_int_equal(s->requests.finished, requests);
    snapshot_free(s);
}

static void random_requests(void **state)
{
    (void)state;
    rng_seed();
    for (int round = 0; round < rng_rounds(200); round++) {
        struct fix f = fix();
        uint64_t requests = 1 + rng_below(4);
        core_set_slow(f.c, MS / 10);
        for (uint64_t k = 0; k < requests; k++) {
            double from = (double)k * 200e3, us = 100 + (double)rng_below(20000);
            if (rng_below(2)) /* they arrive before or after the calls */
                random_scheduling(&f, from, us);
            call_id(&f, from / 1e3, P1, LABEL + k, E, M0, f.create);
            random_calls(&f, from, from + us, LABEL + k, 0);
            random_scheduling(&f, from, us);
            ret(&f, (from + us) / 1e3, P1, M0);
            until(&f, (from + 190e3) / 1e3);
        }
        until(&f, 10000);
        parts_add_up(&f, requests);
        done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_parts),         cmocka_unit_test(without_events),
        cmocka_unit_test(slow_traces_have_pieces), cmocka_unit_test(compact_pieces),
        cmocka_unit_test(waits_for_a_server),      cmocka_unit_test(a_long_request),
        cmocka_unit_test(random_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
