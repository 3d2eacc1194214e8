/* Stored slow requests and their waterfalls: cases written by hand, random requests run through
 * core, and more requests than fit in the store. KPROF_SEED=n repeats a run. */
#include "core_fixture.h"
#include "rng.h"

#include <core/state.h>
#include <kprof/core/waterfall.h>
#include <kprof/engine/engine.h>
#include <stdlib.h>
#include <time.h>

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

/* ---- invariants ---- */

static uint64_t within(const struct waterfall *w, uint64_t ns)
{
    return ns < w->whole_ns ? ns : w->whole_ns;
}

static void check_row(const struct waterfall *w, const struct waterfall_row *r, bool exact)
{
    uint64_t at = r->start_ns, sum[3] = {0};
    for (uint32_t i = r->first; i < r->first + r->n; i++) {
        const struct waterfall_segment *s = &w->segment[i];
        assert_int_equal(s->from_ns, at);
        assert_true(s->to_ns > s->from_ns);
        assert_int_equal(s->kind == WATERFALL_WAIT, s->other != WATERFALL_NIL);
        if (s->kind == WATERFALL_WAIT) {
            assert_true(w->row[s->other].call->pid != r->call->pid);
            assert_true(w->row[s->other].start_ns <= s->from_ns);
            assert_true(w->row[s->other].end_ns >= s->to_ns);
        }
        sum[s->kind] += s->to_ns - s->from_ns;
        at = s->to_ns;
    }
    assert_int_equal(at, within(w, r->end_ns) > r->start_ns ? within(w, r->end_ns) : r->start_ns);
    assert_int_equal(sum[WATERFALL_INNER], r->inner_ns);
    assert_int_equal(sum[WATERFALL_WAIT], r->wait_ns);
    if (exact)
        assert_int_equal(sum[WATERFALL_SELF], r->self_ns);
}

/* Invariant: the self times and the time of calls that were not stored add up to the request.
 * exact: all its calls are stored, so that every instant belongs to a row. */
static void check_fall(const struct waterfall *w, bool exact)
{
    uint64_t self = w->omitted_ns;
    struct waterfall_wait waited[SLOW_TRACE_CALLS];
    for (uint32_t i = 0; i < w->n - w->late; i++) {
        const struct waterfall_row *r = &w->row[i];
        assert_true(i == 0 || r->start_ns >= w->row[i - 1].start_ns);
        assert_true(r->parent == WATERFALL_NIL ? i == 0 : r->parent < i);
        check_row(w, r, exact);
        self += r->self_ns;
        uint64_t waits = 0;
        size_t n = waterfall_waits(w, i, waited, SLOW_TRACE_CALLS);
        for (size_t k = 0; k < n; k++) {
            waits += waited[k].ns;
            assert_true(k == 0 || waited[k].ns <= waited[k - 1].ns);
        }
        assert_int_equal(waits, r->wait_ns);
    }
    for (uint32_t i = w->n - w->late; i < w->n; i++) {
        assert_true(w->row[i].call->flags & SLOW_TRACE_LATE);
        assert_int_equal(w->row[i].n, 0);
    }
    assert_int_equal(self, w->whole_ns);
    if (exact)
        assert_int_equal(w->omitted_ns, 0);
}

/* ---- by hand ---- */

static struct snapshot *snap(struct fix *f)
{
    return core_snapshot(f->c, WINDOW_RUN, T0 + UINT64_C(100000) * MS);
}

static void across_processes(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, 15 * MS);
    call_id(&f, 0, P1, 77, E, M0, f.create);
    call(&f, 1, P1, 77, A, FN_E);
    call(&f, 2, P2, 77, B, M1);
    ret(&f, 9, P2, M1);
    call(&f, 9.5, P2, 77, B, M1);
    mark(&f, 10, P2, EVENT_EXIT, 0);
    ret(&f, 12, P1, FN_E);
    call(&f, 19, P3, 77, B, M2); /* continues */
    ret(&f, 20, P1, M0);
    until(&f, 500);
    call(&f, 510, P2, 77, A, M1); /* late */
    ret(&f, 514, P2, M1);
    ret(&f, 600, P3, M2);
    until(&f, 1000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow_traces, 1);
    assert_int_equal(s->slow[s->n_slow - 1].trace, s->slow_traces[0].request->id);
    assert_int_equal(s->slow_traces[0].wall_ns, T0 + UINT64_C(100000) * MS - 1000 * MS);
    struct waterfall w;
    waterfall_make(&w, s->slow_traces[0].request);
    snapshot_free(s); /* the waterfall has its own reference */
    core_zero(f.c);
    check_fall(&w, true);
    assert_string_equal(w.request->ident, "create");
    assert_int_equal(w.n, 6);
    assert_int_equal(w.late, 1);
    static const uint64_t self[] = {8000, 3500, 7000, 500, 1000}, wait[] = {1000, 7500, 0, 0, 0};
    static const uint32_t parent[] = {WATERFALL_NIL, 0, 1, 1, 0};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(w.row[i].self_ns, self[i] * 1000);
        assert_int_equal(w.row[i].wait_ns, wait[i] * 1000);
        assert_int_equal(w.row[i].parent, parent[i]);
    }
    struct waterfall_wait waited[2];
    assert_int_equal(waterfall_waits(&w, 1, waited, 2), 1); /* the same server twice */
    assert_int_equal(waited[0].times, 2);
    assert_int_equal(waited[0].other, 2);
    assert_int_equal(w.row[3].call->flags, SLOW_TRACE_ERROR);
    assert_int_equal(w.row[4].call->flags, SLOW_TRACE_ASYNC);
    assert_int_equal(w.row[4].end_ns, 600 * MS);
    assert_int_equal(w.row[5].start_ns, 510 * MS);
    assert_int_equal(w.row[5].self_ns, 4 * MS);
    waterfall_release(&w);
    done(&f);
}

static void late_work_goes_into_a_copy(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, MS);
    call(&f, 0, P1, 77, E, M0);
    ret(&f, 20, P1, M0);
    call(&f, 21, P2, 77, B, M1); /* ends before the request is finalized */
    ret(&f, 22, P2, M1);
    until(&f, 100);
    struct snapshot *before = snap(&f);
    call(&f, 110, P2, 77, A, M1);
    ret(&f, 114, P2, M1);
    until(&f, 200);
    struct snapshot *after = snap(&f);
    assert_int_equal(before->slow_traces[0].request->n, 2);
    assert_int_equal(before->slow_traces[0].request->call[1].tier, B);
    assert_int_equal(after->slow_traces[0].request->n, 3);
    assert_int_equal(after->slow_traces[0].request->call[2].tier, A);
    assert_int_equal(before->slow_traces[0].request->id, after->slow_traces[0].request->id);
    snapshot_free(before);
    snapshot_free(after);
    done(&f);
}

static void only_slow_requests_are_kept(void **state)
{
    (void)state;
    struct fix f = fix();
    for (uint64_t i = 1; i <= 3 * SLOW_STORE_REQUESTS; i++) {
        bool slow = i % 2;
        core_set_slow(f.c, i <= 4 ? 0 : 10 * MS);
        struct event ev[] = {call_ev((double)i * 100, P1, i, E, M0),
                             {.pid = P1, .fn = M0, .kind = EVENT_RETURN_TO}};
        ev[1].ts_ns = ev[0].ts_ns + (slow ? 20 : 5) * MS;
        core_feed(f.c, ev, 2);
    }
    until(&f, 100000);
    struct snapshot *s = snap(&f);
    assert_int_equal(s->n_slow_traces, SLOW_STORE_REQUESTS + SLOW_KEPT_EACH);
    for (size_t i = 0; i < SLOW_STORE_REQUESTS; i++)
        assert_int_equal(s->slow_traces[i].request->label, 3 * SLOW_STORE_REQUESTS - 1 - 2 * i);
    for (size_t i = 0; i < s->n_slow_recent; i++)
        assert_int_equal(s->slow[i].trace, s->slow_traces[i].request->id);
    snapshot_free(s);
    done(&f);
}

/* A request of an identity that took ms, with 150 calls in it. */
static void one_of(struct fix *f, uint64_t label, uint32_t ident, uint64_t ms)
{
    double t = (double)label * 1000;
    call_id(f, t, P1, label, E, M0, ident);
    for (uint64_t i = 0; i < 150; i++) {
        uint64_t at = T0 + label * 1000 * MS + MS / 2 + i * 10000;
        struct event ev[] = {
            call_ev(0, P1, label, A, FN_E),
            {.pid = P1, .fn = FN_E, .kind = EVENT_RETURN_TO, .ts_ns = at + (i == 77 ? 9000 : 500)}};
        ev[0].ts_ns = at;
        core_feed(f->c, ev, 2);
    }
    ret(f, t + (double)ms, P1, M0);
}

static const struct slow_trace_request *trace_with(const struct snapshot *s, uint64_t label)
{
    for (size_t i = 0; i < s->n_slow_traces; i++)
        if (s->slow_traces[i].request->label == label)
            return s->slow_traces[i].request;
    return NULL;
}

/* However many come after them; and either the line or the calls may be removed first. */
static void the_slowest_keep_their_waterfalls(void **state)
{
    (void)state;
    static const uint32_t entries[] = {8, 100, 1000};
    const uint64_t all = rng_full_size() ? 700 : 200;
    for (size_t k = rng_full_size() ? 0 : 1; k < (rng_full_size() ? 3 : 2); k++) {
        struct core_limits l = small();
        l.slow_entries = entries[k];
        struct fix f = fix_of(l);
        uint64_t slowest[2][SLOW_KEPT_EACH] = {{0}}, took[2][SLOW_KEPT_EACH] = {{0}};
        core_set_slow(f.c, MS);
        for (uint64_t i = 1; i <= all; i++) {
            uint64_t ms = 3 + i * (269 + k) % 701, who = i % 2; /* all different */
            size_t at = SLOW_KEPT_EACH;
            one_of(&f, i, who ? f.create : f.del, ms);
            while (at > 0 && took[who][at - 1] < ms)
                at--;
            for (size_t j = SLOW_KEPT_EACH; j-- > at;) {
                took[who][j] = j > at ? took[who][j - 1] : ms;
                slowest[who][j] = j > at ? slowest[who][j - 1] : i;
            }
        }
        until(&f, (double)(all + 1) * 1000.0);
        struct snapshot *s = snap(&f);
        for (size_t who = 0; who < 2; who++)
            for (size_t i = 0; i < SLOW_KEPT_EACH; i++) {
                const struct slow_trace_request *r = trace_with(s, slowest[who][i]);
                struct waterfall w;
                assert_non_null(r);
                waterfall_make(&w, r);
                check_fall(&w, false);
                assert_int_equal(w.whole_ns, took[who][i] * MS);
                assert_int_equal(r->n + r->omitted, 151);
                waterfall_release(&w);
            }
        for (size_t i = s->n_slow_recent; i < s->n_slow; i++) /* each listed request has one */
            assert_non_null(trace_with(s, s->slow[i].request));
        for (size_t i = 0; i < s->n_slow_traces; i++) /* no request twice */
            assert_ptr_equal(trace_with(s, s->slow_traces[i].request->label),
                             s->slow_traces[i].request);
        snapshot_free(s);
        core_zero(f.c);
        s = snap(&f);
        assert_int_equal(s->n_slow_traces, 0);
        snapshot_free(s);
        done(&f);
    }
}

/* The limit of slow_kept.h: more identities than fit, long requests. */
static void what_is_kept_is_bounded(void **state)
{
    (void)state;
    struct core_limits l = small();
    l.slow_entries = 50;
    l.identities = 150;
    struct fix f = fix_of(l);
    char name[20];
    size_t bytes = 0, kept = 0;
    int all = rng_full_size() ? 1500 : 300;
    seed = 7;
    core_set_slow(f.c, MS);
    for (int i = 1; i <= all; i++) {
        int n = snprintf(name, sizeof name, "name %u", pick(150));
        one_of(&f, (uint64_t)i, intern_add(f.names, name, (size_t)n), 3 + pick(900));
    }
    until(&f, (all + 1) * 1000.0);
    const struct slow_kept *k = &f.c->slow.kept;
    if (rng_full_size())
        assert_int_equal(k->n, SLOW_KEPT); /* full */
    for (uint32_t i = 0; i < k->n; i++) {
        const struct slow_trace_request *r = k->of[i].trace;
        assert_non_null(r);
        assert_true(i == 0 || k->of[i].entry->done > k->of[i - 1].entry->done);
        if (!k->of[i].compact)
            continue; /* shared with the ring of the newest */
        kept++;
        assert_true(r->n <= SLOW_KEPT_CALLS && r->cap == r->n);
        bytes += sizeof *r + r->cap * sizeof r->call[0];
    }
    assert_true(kept > SLOW_KEPT / (rng_full_size() ? 2 : 8));
    assert_true(bytes <= SLOW_KEPT * (sizeof(struct slow_trace_request) +
                                      SLOW_KEPT_CALLS * sizeof(struct slow_trace_call)));
    assert_true(SLOW_KEPT * (sizeof(struct slow_trace_request) +
                             SLOW_KEPT_CALLS * sizeof(struct slow_trace_call)) <
                1100000);
    done(&f);
}

/* Random calls: the entry and the longest calls are stored, in order, with the sum of the others.
 */
static void a_compact_waterfall_adds_up(void **state)
{
    (void)state;
    seed = 3;
    for (int round = 0; round < rng_rounds(200); round++) {
        struct slow_store k;
        slow_store_init(&k, 0);
        uint64_t whole = 1000 + pick(100000), spent = 0;
        struct slow_trace_call e = {.start_ns = 5000, .end_ns = 5000 + whole, .pid = P1};
        int at = slow_store_begin(&k, 7, 5000);
        uint32_t n = pick(SLOW_TRACE_CALLS), max = 1 + pick(SLOW_TRACE_CALLS);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t start = 5000 + pick((uint32_t)whole), took = pick(1 + (uint32_t)whole / 400);
            bool late = pick(20) == 0;
            struct slow_trace_call c = {.start_ns = late ? start + whole : start,
                                        .end_ns = start + took + (late ? whole : 0),
                                        .self_ns = took,
                                        .pid = P1 + pick(3),
                                        .tier = A,
                                        .flags = late ? SLOW_TRACE_LATE : 0};
            spent += late ? 0 : took;
            assert_true(slow_store_add(&k, at, &c) || i + 2 > SLOW_TRACE_CALLS);
        }
        e.self_ns = whole > spent ? whole - spent : 0;
        k.building[at]->end_ns = 5000 + whole;
        slow_store_close(&k, at, &e);
        const struct slow_trace_request *r = slow_store_request(&k, 0);
        struct slow_trace_request *c = slow_trace_compact(r, max);
        assert_int_equal(c->n, r->n < max ? r->n : max);
        assert_int_equal(c->n + c->omitted, r->n);
        assert_int_equal(c->call[0].end_ns, e.end_ns);
        uint64_t least = UINT64_MAX, self = c->omitted_self_ns, all = 0;
        for (uint32_t i = 0; i < c->n; i++) {
            bool late = c->call[i].flags & SLOW_TRACE_LATE;
            uint64_t took = late ? 0 : 1 + c->call[i].end_ns - c->call[i].start_ns;
            least = took < least ? took : least;
            self += late ? 0 : c->call[i].self_ns;
        }
        uint32_t longer = 0;
        for (uint32_t i = 0; i < r->n; i++) {
            bool late = r->call[i].flags & SLOW_TRACE_LATE;
            uint64_t took = late ? 0 : 1 + r->call[i].end_ns - r->call[i].start_ns;
            longer += took > least;
            all += late ? 0 : r->call[i].self_ns;
        }
        assert_true(longer < c->n || least == 0);
        assert_int_equal(self, all);
        if (spent <= whole) {
            struct waterfall w;
            waterfall_make(&w, c);
            check_fall(&w, false);
            waterfall_release(&w);
        }
        slow_trace_unref(c);
        slow_store_release(&k);
    }
}

/* The calls of a long request are read while it is open: the first are stored, the others counted.
 */
static void more_calls_than_are_kept(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct fix f = fix();
        core_set_slow(f.c, slow ? MS : 100000 * MS);
        call(&f, 0, P1, 77, E, M0);
        for (int i = 0; i < 700; i++) {
            struct event ev[] = {
                call_ev(1 + i, P1, 77, A, FN_E),
                {.pid = P1, .fn = FN_E, .kind = EVENT_RETURN_TO, .ts_ns = T0 + MS + MS / 2}};
            ev[1].ts_ns += (uint64_t)i * MS;
            core_feed(f.c, ev, 2);
        }
        ret(&f, 1000, P1, M0);
        until(&f, 2000);
        struct snapshot *s = snap(&f);
        assert_int_equal(s->n_slow_traces, slow);
        if (slow) {
            const struct slow_trace_request *r = s->slow_traces[0].request;
            struct waterfall w;
            assert_int_equal(r->n, SLOW_TRACE_CALLS);
            assert_int_equal(r->omitted, 701 - SLOW_TRACE_CALLS);
            waterfall_make(&w, r);
            assert_int_equal(w.omitted_ns, (701 - SLOW_TRACE_CALLS) * MS / 2);
            assert_int_equal(r->omitted_self_ns, w.omitted_ns);
            assert_int_equal(w.row[0].call->tier, E);
            check_fall(&w, false);
            waterfall_release(&w);
        }
        snapshot_free(s);
        done(&f);
    }
}

/* Many long requests at once, not slow in the end, or expired: all places become free. */
static void places_are_given_back(void **state)
{
    (void)state;
    struct fix f = fix();
    core_set_slow(f.c, 30000 * MS);
    for (uint64_t r = 0; r < 5 * SLOW_STORE_BUILDING; r++) {
        double t = (double)r * 10000;
        uint64_t pid = P1 + r;
        struct event ev[] = {call_ev(t, pid, r + 1, E, M0),
                             call_ev(t + 1, pid, r + 1, A, FN_E),
                             {.ts_ns = T0 + (uint64_t)((t + 2) * 1e6),
                              .pid = pid,
                              .fn = FN_E,
                              .kind = EVENT_RETURN_TO}};
        core_feed(f.c, ev, 3);
        until(&f, t + 9000);
        if (r % 2)
            ret(&f, t + 9500, pid, M0);
    }
    until(&f, 5 * SLOW_STORE_BUILDING * 10000.0 + 200000);
    for (int i = 0; i < SLOW_STORE_BUILDING; i++)
        assert_null(f.c->slow.building[i]);
    EXPECT_REQUESTS(&f, 5 * SLOW_STORE_BUILDING, 5 * SLOW_STORE_BUILDING / 2, 0,
                    5 * SLOW_STORE_BUILDING / 2);
    done(&f);
}

/* More time counted before the end was known than the request took: the fuzzer found such a stream.
 */
static void more_self_than_time(void **state)
{
    (void)state;
    struct slow_store k;
    struct waterfall w;
    slow_store_init(&k, 0);
    int at = slow_store_begin(&k, 7, 1000);
    struct slow_trace_call a = {
        .start_ns = 1100, .end_ns = 9000, .self_ns = 7900, .pid = 1, .tier = A};
    struct slow_trace_call e = {
        .start_ns = 1000, .end_ns = 2000, .self_ns = 100, .pid = 1, .tier = E};
    assert_true(slow_store_add(&k, at, &a));
    k.building[at]->end_ns = 2000;
    slow_store_close(&k, at, &e);
    waterfall_make(&w, slow_store_request(&k, 0));
    check_fall(&w, true);
    assert_int_equal(w.row[1].self_ns, 900);
    waterfall_release(&w);
    slow_store_release(&k);
}

/* ---- random requests ---- */

enum { PROCS = 4, DEPTH = 6, STEPS = 60 };

struct walk {
    struct fix f;
    uint64_t t_ns, label;
    uint32_t depth[PROCS];
    uint16_t tier[PROCS][DEPTH + 1];
};

static void tell(struct walk *w, uint32_t proc, uint8_t kind, uint16_t tier)
{
    struct event ev = {.ts_ns = w->t_ns,
                       .pid = P1 + proc,
                       .label = w->label,
                       .tier = tier,
                       .fn = FN_E + tier,
                       .weight = 1,
                       .kind = kind};
    core_feed(w->f.c, &ev, 1);
    w->t_ns += pick(4) ? pick(3000) : 0; /* sometimes several at one instant */
}

static void leave(struct walk *w, uint32_t p)
{
    tell(w, p, pick(8) ? EVENT_RETURN : EVENT_EXCEPTION, w->tier[p][--w->depth[p]]);
}

static void enter(struct walk *w, uint32_t p)
{
    uint16_t t = pick(2) ? A : B;
    w->tier[p][w->depth[p]++] = t;
    tell(w, p, EVENT_CALL, t);
}

static void random_request(struct walk *w, bool async)
{
    w->label++;
    tell(w, 0, EVENT_ENTRY, E);
    w->tier[0][0] = E;
    w->depth[0] = 1;
    for (uint32_t n = pick(STEPS); n > 0; n--) {
        uint32_t p = pick(PROCS);
        bool at_bottom = w->depth[p] == (p == 0);
        if (at_bottom || (w->depth[p] < DEPTH && pick(2)))
            enter(w, p);
        else
            leave(w, p);
    }
    for (uint32_t p = 1; p < PROCS && !async; p++)
        while (w->depth[p])
            leave(w, p);
    while (w->depth[0])
        leave(w, 0);
    for (uint32_t n = async ? pick(20) : 0; n > 0; n--) {
        uint32_t p = pick(PROCS);
        if (n == 7)
            w->t_ns += 100 * MS; /* finalized by now */
        if (w->depth[p] < DEPTH && pick(2))
            enter(w, p);
        else if (w->depth[p])
            leave(w, p);
    }
    for (uint32_t p = 0; p < PROCS; p++)
        while (w->depth[p])
            leave(w, p);
    w->t_ns += 100 * MS;
    core_advance(w->f.c, w->t_ns);
}

static double self_of_row(const struct snapshot *s, uint16_t tier)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == tier && !s->rows[i].ident)
            return s->rows[i].self_us * (double)s->rows[i].count;
    return 0;
}

static void random_requests(bool async)
{
    static const uint16_t tiers[] = {E, A, B};
    struct walk w = {.f = fix(), .t_ns = T0};
    double self[TIERS] = {0};
    uint32_t rows = 0, late = 0, waits = 0;
    core_set_returns(w.f.c, RETURNS_FULL);
    core_set_slow(w.f.c, 1);
    for (int i = 0; i < SLOW_STORE_REQUESTS - 5; i++)
        random_request(&w, async);
    struct snapshot *s = snap(&w.f);
    assert_true(s->n_slow_traces > SLOW_STORE_REQUESTS / 2);
    for (size_t i = 0; i < s->n_slow_traces; i++) {
        struct waterfall fall;
        waterfall_make(&fall, s->slow_traces[i].request);
        check_fall(&fall, true);
        for (uint32_t k = 0; k < fall.n; k++) {
            self[fall.row[k].call->tier] += (double)fall.row[k].self_ns / 1e3;
            waits += fall.row[k].wait_ns > 0;
            assert_false(fall.row[k].call->flags & SLOW_TRACE_RUNNING);
        }
        rows += fall.n;
        late += fall.late;
        waterfall_release(&fall);
    }
    assert_true(rows > 1000 && waits > 100 && (late > 50) == async);
    for (size_t i = 0; i < TIERS && !async; i++) /* the table has the same values */
        if (fabs(self[i] - self_of_row(s, tiers[i])) > 0.001 * (double)rows)
            fail_msg("tier %zu: %f in waterfalls, %f in the table", i, self[i],
                     self_of_row(s, tiers[i]));
    snapshot_free(s);
    done(&w.f);
}

static void random_requests_agree_with_the_table(void **state)
{
    (void)state;
    const char *given = getenv("KPROF_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
    printf("seed %llu (KPROF_SEED repeats it)\n", (unsigned long long)seed);
    random_requests(false);
    random_requests(true);
}

/* ---- a recording of the sample node, through all layers except the socket ---- */

static void a_recording(void **state)
{
    (void)state;
    struct settings all_at_once = {.slow_ns = 1, .sample = 1, .cooldown_ns = 1};
    struct engine_hooks hooks = {0};
    struct err e = {{0}};
    double self[TIER_MAX] = {0};
    struct engine *g = engine_new(&all_at_once, &hooks, &e);
    if (!g || engine_replay(g, "tests/golden/demo.rec", &e) < 0)
        fail_msg("%s (run in the top directory)", e.text);
    while (engine_poll(g))
        ;
    struct snapshot *s = engine_snapshot(g, WINDOW_RUN, true);
    assert_true(s->n_slow_traces > 10 && s->n_slow_traces == s->requests.finished);
    size_t late = 0;
    for (size_t i = 0; i < s->n_slow_traces; i++) {
        struct waterfall w;
        waterfall_make(&w, s->slow_traces[i].request);
        check_fall(&w, true);
        for (uint32_t k = 0; k < w.n; k++)
            self[w.row[k].call->tier] += (double)w.row[k].self_ns / 1e3;
        late += w.late;
        waterfall_release(&w);
    }
    assert_true(late > 0);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        double table = r->self_us * (double)r->count;
        if (r->ident || r->tier == TIER_TOTAL)
            continue;
        if (fabs(self[r->tier] - table) > 1)
            fail_msg("%s: %f us in waterfalls, %f in the table", r->tier_name, self[r->tier],
                     table);
    }
    for (size_t i = 0; i < s->n_slow; i++) /* made with --slow-args */
        assert_true(s->slow[i].args && s->slow[i].args[0] == '[');
    snapshot_free(s);
    engine_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(across_processes),
        cmocka_unit_test(late_work_goes_into_a_copy),
        cmocka_unit_test(only_slow_requests_are_kept),
        cmocka_unit_test(the_slowest_keep_their_waterfalls),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(a_compact_waterfall_adds_up),
        cmocka_unit_test(more_calls_than_are_kept),
        cmocka_unit_test(places_are_given_back),
        cmocka_unit_test(more_self_than_time),
        cmocka_unit_test(random_requests_agree_with_the_table),
        cmocka_unit_test(a_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
