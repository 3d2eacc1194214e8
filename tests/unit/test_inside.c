/* Stack samples get the request, tier and identity that their process was in: random histories of
 * calls and samples, told to core in a random order of arrival, against what really happened.
 * KPROF_SEED=n repeats a run. */
#include "core_fixture.h"
#include "rng.h"

#include <kprof/base/scale.h>
#include <kprof/core/sample_wait.h>
#include <stdlib.h>

enum { PROCS = 6, DEPTH = 6, CALLS = 20000, REQUESTS = 6000, ARRIVALS = 60000, SAMPLES = 2000 };

/* ---- what really happened ---- */

struct tcall {
    uint64_t start, end, label;
    uint16_t tier;
    int proc;
};

struct trequest {
    uint64_t start, end, named_at;
    uint32_t ident; /* 0: none */
    bool sampled;
};

struct arrival {
    uint64_t key;
    size_t order;
    struct event ev;
    struct stack_sample sample; /* weight 0: this is an event */
};

static struct world {
    uint64_t now;
    struct tcall call[CALLS];
    int calls, open[PROCS][DEPTH], depth[PROCS];
    uint64_t token[PROCS], delay[PROCS];
    struct trequest request[REQUESTS]; /* by label; 0 is none */
    uint64_t labels;
    struct arrival arrival[ARRIVALS];
    size_t arrivals;
} w;

static uint64_t pid_of(int p)
{
    return UINT64_C(1) << 32 | (uint64_t)(100 + p);
}

static struct arrival *arrive(uint64_t at)
{
    assert_true(w.arrivals < ARRIVALS);
    struct arrival *a = &w.arrival[w.arrivals];
    *a = (struct arrival){.key = at, .order = w.arrivals++};
    return a;
}

static void tell(int p, struct event ev)
{
    ev.ts_ns = w.now;
    ev.pid = pid_of(p);
    ev.weight = 1;
    arrive(w.now + w.delay[p])->ev = ev;
}

static void begin_call(int p, uint16_t tier, uint64_t label)
{
    struct trequest *r = &w.request[label];
    struct event ev = {.kind = tier == E ? EVENT_ENTRY : EVENT_CALL, .tier = tier, .label = label};

    assert_true(w.calls < CALLS);
    ev.fn = FN_E + tier;
    if (label && r->ident && (r->named_at || rng_below(3) == 0)) {
        ev.ident = r->ident;
        r->named_at = r->named_at ? r->named_at : w.now;
    }
    w.call[w.calls] = (struct tcall){.start = w.now, .label = label, .tier = tier, .proc = p};
    w.open[p][w.depth[p]++] = w.calls++;
    w.token[p] = label;
    tell(p, ev);
}

static void end_call(int p)
{
    struct tcall *k = &w.call[w.open[p][--w.depth[p]]];

    k->end = w.now;
    if (k->tier == E)
        w.request[k->label].end = w.now;
    tell(p, (struct event){.kind = EVENT_RETURN, .fn = FN_E + k->tier});
    w.token[p] = w.depth[p] ? w.call[w.open[p][w.depth[p] - 1]].label : 0;
}

static void begin_request(int p, const struct fix *f)
{
    uint32_t ident[] = {0, f->create, f->del};

    w.request[++w.labels] = (struct trequest){.start = w.now, .ident = ident[rng_below(3)]};
    begin_call(p, E, w.labels);
}

static void happen(const struct fix *f)
{
    int p = (int)rng_below(PROCS), q = (int)rng_below(PROCS);

    w.now += 1 + rng_below(rng_below(20) ? 500000 : 30000000);
    if (rng_below(4) == 0 && w.depth[p] > 0)
        end_call(p);
    else if (w.token[p] == 0 && w.depth[p] < DEPTH && rng_below(2))
        begin_request(p, f);
    else if (w.token[p] && w.depth[q] == 0 && rng_below(3) == 0)
        begin_call(q, B, w.token[p]); /* a message took the label along */
    else if (w.depth[p] < DEPTH && rng_below(2))
        begin_call(p, rng_below(2) ? A : B, w.token[p]);
    else if (w.depth[p] > 0)
        end_call(p);
}

static int by_arrival(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void make_history(const struct fix *f, int steps)
{
    memset(&w, 0, sizeof w);
    w.now = T0;
    for (int p = 0; p < PROCS; p++)
        w.delay[p] = rng_below(10 * MS);
    for (int i = 0; i < steps; i++)
        happen(f);
    for (int p = 0; p < PROCS; p++)
        while (w.depth[p] > 0)
            end_call(p);
    uint64_t last = w.now;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t at = T0 + rng_below(last - T0);
        struct stack_sample s = {
            .time_ns = at, .weight = 1 + (uint64_t)i, .process = pid_of((int)rng_below(PROCS + 1))};
        arrive(at + rng_below(300 * MS))->sample = s;
    }
    qsort(w.arrival, w.arrivals, sizeof *w.arrival, by_arrival);
}

/* The innermost call of a process at a time; NULL: none. */
static const struct tcall *innermost(uint64_t pid, uint64_t at)
{
    const struct tcall *best = NULL;

    for (int i = 0; i < w.calls; i++) {
        const struct tcall *k = &w.call[i];
        if (pid_of(k->proc) == pid && k->start <= at && at < k->end &&
            (!best || k->start > best->start))
            best = k;
    }
    return best;
}

/* ---- the same, as core and sample_wait see it ---- */

static void play(struct fix *f, struct sample_wait *wait)
{
    for (size_t i = 0; i < w.arrivals; i++) {
        const struct arrival *a = &w.arrival[i];
        if (a->sample.weight)
            sample_wait_add(wait, &a->sample, NULL);
        else
            core_feed(f->c, &a->ev, 1);
        sample_wait_pass(wait, false);
    }
    core_advance(f->c, w.now + 2000 * MS);
    sample_wait_pass(wait, false);
    assert_int_equal(sample_wait_waiting(wait), 0);
}

static void expect_text(const struct stack_profile *p, uint32_t text, const char *want)
{
    if (want)
        assert_string_equal(stack_profile_str(p, text, NULL), want);
    else
        assert_int_equal(text, 0);
}

static void check(const struct fix *f, const struct stack_view *v, size_t i)
{
    static const char *const tier[] = {"entry", "a", "b"};
    const struct stack_profile *p = stack_view_profile(v);
    const struct stack_sample *s = stack_view_at(v, i);
    const struct tcall *k = innermost(s->process, s->time_ns);
    struct trequest *r = k && k->label ? &w.request[k->label] : NULL;

    if (!r || s->time_ns > r->end) {
        assert_int_equal(s->request, 0);
        assert_int_equal(s->tier, 0);
        assert_int_equal(s->identity, 0);
        return;
    }
    r->sampled = true;
    assert_int_equal(s->request, k->label);
    expect_text(p, s->tier, tier[k->tier]);
    bool named = r->named_at &&
                 r->named_at <=
                     r->end; /* a call after the end of the request does not give it an identity */
    if (named && r->named_at > s->time_ns + SAMPLE_WAIT_NAME_NS - 50 * MS)
        return; /* the name may have come too late */
    if (!named && r->named_at && r->named_at < r->end + 10 * MS)
        return; /* that call may have come before the return of the entry */
    expect_text(p, s->identity, named ? intern_str(f->names, r->ident) : NULL);
}

/* The requests of cells are those with samples and a duration in them. */
static void check_cells(const struct fix *f)
{
    struct view_cells q = {.tier = TIER_TOTAL, .ident = IDENT_ALL};
    size_t n, want = 0;

    if (rng_below(2))
        q.least_ns = rng_below(100 * MS);
    else
        q.low_bin = 1 + (uint32_t)rng_below(100), q.end_bin = q.low_bin + (uint32_t)rng_below(20);
    uint64_t *label = core_sampled_requests(f->c, &q, &n);
    for (uint64_t l = 1; l <= w.labels; l++) {
        uint64_t took = w.request[l].end - w.request[l].start;
        size_t bucket = hist_bucket_of(took), low = hist_bucket_low(bucket);
        size_t bin = scale_bin(low + (hist_bucket_high(bucket) - low) / 2);
        bool fits = q.low_bin ? bin >= q.low_bin && bin < q.end_bin : took >= q.least_ns;
        if (!fits || !w.request[l].sampled)
            continue;
        assert_true(want < n);
        assert_int_equal(label[want++], l);
    }
    assert_int_equal(n, want);
    free(label);
}

static void samples_get_what_their_process_was_in(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(40); round++) {
        struct core_limits l = small();
        l.open_requests = REQUESTS;
        struct fix f = fix_of(l);
        struct stack_profile *p = stack_profile_new(NULL);
        struct sample_wait *wait = sample_wait_new(f.c, p);
        core_set_returns(f.c, RETURNS_FULL);
        make_history(&f, 500 + (int)rng_below(8000));
        play(&f, wait);
        struct stack_view *v = stack_profile_view(p);
        assert_int_equal(stack_view_count(v), SAMPLES);
        for (size_t i = 0; i < SAMPLES; i++)
            check(&f, v, i);
        assert_int_equal(sample_wait_counts(wait)->resolved, SAMPLES);
        assert_int_equal(sample_wait_counts(wait)->missed, 0);
        for (int i = 0; i < 20; i++)
            check_cells(&f);
        stack_view_release(v);
        sample_wait_free(wait);
        stack_profile_free(p);
        done(&f);
    }
}

/* ---- single cases ---- */

static struct core_inside inside_at(struct fix *f, uint64_t pid, double ms)
{
    return core_inside_at(f->c, pid, T0 + (uint64_t)(ms * 1e6));
}

static size_t requests_of(struct fix *f, struct view_cells q, uint64_t *first)
{
    size_t n;
    uint64_t *label = core_sampled_requests(f->c, &q, &n);
    *first = n ? label[0] : 0;
    free(label);
    return n;
}

/* Calls that began before core began to remember are known. */
static void calls_from_before_are_known(void **state)
{
    (void)state;
    struct fix f = fix();
    call_id(&f, 0, P1, 7, E, M0, f.create);
    until(&f, 20);
    core_keep_inside(f.c, true);
    until(&f, 50);
    struct core_inside in = inside_at(&f, P1, 40);
    assert_true(in.known);
    assert_int_equal(in.request, 7);
    assert_int_equal(in.tier, E);
    assert_string_equal(in.ident, "create");
    assert_int_equal(inside_at(&f, P2, 40).tier, TIER_NONE);
    assert_false(inside_at(&f, P1, 10).known); /* before it began to remember */
    ret(&f, 60, P1, M0);
    assert_false(inside_at(&f, P1, 55).known); /* when the call began is not known */
    assert_true(inside_at(&f, P1, 65).known);
    done(&f);
}

/* Tracing was switched off: what happened before stays known; what happens now is not known. */
static void a_flush_ends_what_is_known(void **state)
{
    (void)state;
    struct fix f = fix();
    core_keep_inside(f.c, true);
    call(&f, 0, P1, 7, E, M0);
    ret(&f, 10, P1, M0);
    until(&f, 100);
    call(&f, 110, P2, 8, E, M0);
    mark(&f, 120, P3, EVENT_FLUSH, 0);
    assert_int_equal(inside_at(&f, P1, 5).request, 7);
    assert_int_equal(inside_at(&f, P2, 115).request, 0); /* its end is not known */
    assert_int_equal(inside_at(&f, P2, 130).request, 0);
    assert_true(inside_at(&f, P2, 130).known);
    call(&f, 140, P2, 9, E, M0);
    assert_int_equal(inside_at(&f, P2, 145).request, 9);
    assert_int_equal(inside_at(&f, P2, 130).tier, TIER_NONE);
    done(&f);
}

/* The labels of steps that were overwritten are forgotten, not guessed. */
static void too_late_is_not_known(void **state)
{
    (void)state;
    struct fix f = fix();
    core_keep_inside(f.c, true);
    core_feed(f.c,
              &(struct event){.ts_ns = T0,
                              .pid = P2,
                              .label = 9,
                              .kind = EVENT_ENTRY,
                              .fn = FN_E,
                              .caller = M1,
                              .weight = 1},
              1);
    for (uint32_t i = 0; i < INSIDE_STEPS; i++) {
        struct event ev = call_ev(1 + i / 1000.0, P1, 0, A, M0);
        struct event end = {.ts_ns = ev.ts_ns + 10, .pid = P1, .fn = M0, .kind = EVENT_RETURN_TO};
        core_feed(f.c, &ev, 1);
        core_feed(f.c, &end, 1);
    }
    assert_false(inside_at(&f, P1, 1).known);
    assert_false(inside_at(&f, P2, 1).known);
    assert_true(inside_at(&f, P1, 60).known);
    assert_int_equal(inside_at(&f, P2, 60).request, 9); /* it has not changed since */
    done(&f);
}

static void without_entry_a_call_has_its_tier(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_entry(f.c, TIER_NONE);
    core_keep_inside(f.c, true);
    call_id(&f, 0, P1, 0, A, M0, f.del);
    ret(&f, 10, P1, M0);
    struct core_inside in = inside_at(&f, P1, 5);
    assert_int_equal(in.request, 0);
    assert_int_equal(in.tier, A);
    assert_string_equal(in.ident, "delete");
    assert_int_equal(inside_at(&f, P1, 10).tier, TIER_NONE);
    done(&f);
}

/* An entry inside of a request, in another process: known to be part of it when both have ended. */
static void samples_of_a_merged_request_are_found(void **state)
{
    (void)state;
    struct fix f = fix();
    uint64_t first;
    core_keep_inside(f.c, true);
    call(&f, 0, P1, 7, E, M0);
    entry_prev(&f, 10, P2, 8, 7, M1);
    assert_int_equal(inside_at(&f, P2, 12).request, 8);
    core_sampled(f.c, 8);
    ret(&f, 20, P2, M1);
    ret(&f, 200, P1, M0);
    until(&f, 400);
    struct view_cells q = {.tier = TIER_TOTAL, .ident = IDENT_ALL, .least_ns = 100 * MS};
    assert_int_equal(requests_of(&f, q, &first), 2); /* 7, and 8 as a part of it */
    assert_int_equal(first, 7);
    assert_int_equal(inside_at(&f, P2, 15).request, 7);
    q.least_ns = 300 * MS;
    assert_int_equal(requests_of(&f, q, &first), 0);
    done(&f);
}

static void cells_of_a_tier(void **state)
{
    (void)state;
    struct fix f = fix();
    uint64_t first;
    core_keep_inside(f.c, true);
    for (unsigned i = 0; i < 3; i++) {
        double at = 1000 * i;
        call_id(&f, at, P1, 20 + i, E, M0, i == 2 ? f.del : f.create);
        call(&f, at + 1, P1, 20 + i, A, FN_E);
        ret(&f, at + 11 + 100 * i, P1, FN_E);
        ret(&f, at + 400, P1, M0);
        until(&f, at + 900);
        if (i != 1)
            core_sampled(f.c, 20 + i);
    }
    struct view_cells q = {.tier = A, .ident = IDENT_ALL};
    assert_int_equal(requests_of(&f, q, &first), 2); /* 21 has no samples */
    q.least_ns = 50 * MS;
    assert_int_equal(requests_of(&f, q, &first), 1);
    assert_int_equal(first, 22);
    q = (struct view_cells){.tier = A, .ident = IDENT_ALL, .to_s = f.c->windows.sec};
    assert_int_equal(requests_of(&f, q, &first), 1);
    assert_int_equal(first, 20);
    q = (struct view_cells){.tier = B, .ident = IDENT_ALL};
    assert_int_equal(requests_of(&f, q, &first), 0);
    q = (struct view_cells){.tier = A, .ident = idents_peek(&f.c->idents, f.del)};
    assert_int_equal(requests_of(&f, q, &first), 1);
    assert_int_equal(first, 22);
    core_zero(f.c);
    q.ident = IDENT_ALL;
    assert_int_equal(requests_of(&f, q, &first), 0);
    done(&f);
}

static void a_full_queue_resolves_early(void **state)
{
    (void)state;
    struct fix f = fix();
    struct stack_profile *p = stack_profile_new(NULL);
    struct sample_wait *wait = sample_wait_new(f.c, p);
    for (unsigned i = 0; i < SAMPLE_WAIT_MOST + 10; i++)
        sample_wait_add(wait, &(struct stack_sample){.time_ns = T0 + i, .weight = 1}, NULL);
    assert_int_equal(sample_wait_waiting(wait), SAMPLE_WAIT_MOST);
    assert_int_equal(sample_wait_counts(wait)->early, 10);
    assert_int_equal(stack_profile_counts(p).added, 10);
    sample_wait_pass(wait, true);
    assert_int_equal(stack_profile_counts(p).added, SAMPLE_WAIT_MOST + 10);
    sample_wait_free(wait);
    stack_profile_free(p);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_get_what_their_process_was_in),
        cmocka_unit_test(calls_from_before_are_known),
        cmocka_unit_test(a_flush_ends_what_is_known),
        cmocka_unit_test(too_late_is_not_known),
        cmocka_unit_test(without_entry_a_call_has_its_tier),
        cmocka_unit_test(samples_of_a_merged_request_are_found),
        cmocka_unit_test(cells_of_a_tier),
        cmocka_unit_test(a_full_queue_resolves_early),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
