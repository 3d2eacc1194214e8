/* Core against a small simulated VM: processes run random programs; what they do is recorded, and
 * sent to core as trace messages, delayed between processes. If no event is lost, all counts,
 * durations, errors and shares must equal the record; with lost or invalid events, every call is
 * still counted once. KPROF_SEED=n repeats a run. */
#include "core_test.h"
#include "rng.h"

#include <core/returns.h>
#include <core/state.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TIERS = 5, UNTRACED = 8, PROCS = 7, FN_TIER = 100, FN_PLAIN = 200, FN_BASE = 300 };
enum { DELAY_NS = 8000000 }; /* of the events of a process, at most */
enum { DEPTH = 40, CHAIN = 12, IDENTS = 4, CALLS = 40000, REQS = 20000, EVENTS = 150000 };

static uint32_t pick(uint32_t n)
{
    return (uint32_t)(rng() >> 20) % n;
}

static bool chance(uint32_t percent)
{
    return pick(100) < percent;
}

/* ---- what really happened ---- */

struct tcall {
    uint64_t start, end, child, label;
    int req, parent; /* parent: the calling call in its process; -1: none */
    uint32_t ident, weight;
    uint16_t tier;
    bool late, error, unattributed, folded;
};

struct treq {
    uint64_t start, end; /* end 0: open */
    int entry, proc;
    int outer; /* the request that it is nested in if it ends inside of it; -1: none */
    uint32_t ident, weight;
    bool error;
};

struct frame {
    uint32_t fn, ret_to;
    uint32_t was[CHAIN]; /* functions of this frame so far: each tail-called the next */
    int call[CHAIN];     /* traced calls that end when it does */
    int n_was, n_call;
};

struct tproc {
    uint64_t pid, token, delay;
    uint64_t caught, returned; /* as in core/calls */
    struct frame f[DEPTH];
    int depth;
};

struct delivery {
    struct event ev;
    uint64_t key;
    size_t order;
};

static struct vm {
    enum returns_mode mode;
    bool has_entry;
    uint64_t now, next_pid, next_label;
    struct tproc p[PROCS];
    struct tcall call[CALLS];
    int calls;
    struct treq req[REQS];
    int reqs;
    int req_of[REQS * 2]; /* by label */
    struct delivery out[EVENTS];
    size_t outs;
    uint32_t ident[IDENTS]; /* 0: undefined */
} vm;

static void tell(const struct tproc *p, struct event ev)
{
    assert_true(vm.outs < EVENTS);
    ev.ts_ns = vm.now;
    ev.pid = p->pid;
    vm.out[vm.outs] = (struct delivery){ev, vm.now + p->delay, vm.outs};
    vm.outs++;
}

static uint32_t current(const struct tproc *p)
{
    return p->depth ? p->f[p->depth - 1].fn : FN_BASE + (uint32_t)(p - vm.p) * 2;
}

/* the base function of every second process is "undefined" */
static uint32_t as_caller(uint32_t fn)
{
    return fn >= FN_BASE && fn % 4 == 0 ? 0 : fn;
}

static bool on_stack(const struct tproc *p, uint32_t fn)
{
    for (int i = 0; i < p->depth; i++) {
        if (p->f[i].fn == fn)
            return true;
        for (int k = 0; k < p->f[i].n_was; k++)
            if (p->f[i].was[k] == fn)
                return true;
    }
    return false;
}

static int top_call(const struct tproc *p)
{
    for (int i = p->depth - 1; i >= 0; i--)
        if (p->f[i].n_call)
            return p->f[i].call[p->f[i].n_call - 1];
    return -1;
}

/* req if it is open, or the request around it that is still open; -1: none is open */
static int going_on(int req)
{
    while (req >= 0 && vm.req[req].end != 0)
        req = vm.req[req].outer;
    return req;
}

/* the open request of the call that the process is in */
static int inside_of(const struct tproc *p)
{
    for (int i = p->depth - 1; i >= 0; i--)
        for (int k = p->f[i].n_call - 1; k >= 0; k--) {
            int req = going_on(vm.call[p->f[i].call[k]].req);
            if (req >= 0)
                return req;
        }
    return -1;
}

static int labelled(uint64_t label)
{
    return label ? vm.req_of[label] : -1;
}

/* ---- what processes do ---- */

/* True: req is `outer`, or may be nested in it. */
static bool descends(int req, int outer)
{
    while (req >= 0 && req != outer)
        req = vm.req[req].outer;
    return req >= 0;
}

/* The request that req belongs to after all have ended. */
static int whole(int req)
{
    int outer = req >= 0 && vm.req[req].outer >= 0 ? whole(vm.req[req].outer) : -1;

    return outer >= 0 && vm.req[req].end <= vm.req[outer].end ? outer : req;
}

static int new_req(const struct tproc *p, int outer)
{
    struct treq *r = &vm.req[vm.reqs];

    assert_true(vm.reqs < REQS);
    outer = going_on(outer) >= 0 ? outer : -1;
    *r = (struct treq){.start = vm.now,
                       .entry = vm.calls,
                       .proc = (int)(p - vm.p),
                       .outer = outer,
                       .ident = outer >= 0 ? vm.req[outer].ident : vm.ident[pick(IDENTS)],
                       .weight = outer >= 0 ? vm.req[outer].weight : 1 + pick(3)};
    return vm.reqs++;
}

static void describe(struct tproc *p, uint16_t tier, bool tail, struct event *ev, struct tcall *c)
{
    c->req = -1;
    if (!vm.has_entry) {
        c->ident = ev->ident = vm.ident[pick(IDENTS)];
        c->weight = ev->weight = 1 + pick(3);
        return;
    }
    if (tier == 0) {
        int own = inside_of(p), prev = labelled(p->token);
        bool surely = own >= 0 && vm.req[own].proc == (int)(p - vm.p);
        ev->kind = EVENT_ENTRY;
        ev->prev = p->token;
        ev->label = p->token = vm.next_label++;
        c->req = vm.req_of[ev->label] = surely ? own : new_req(p, own >= 0 ? own : prev);
        ev->ident = vm.req[c->req].ident;
    } else {
        int own = inside_of(p);
        bool lost_token = !tail && own >= 0 && vm.req[own].proc == (int)(p - vm.p) && chance(5);
        ev->label = lost_token ? 0 : p->token;
        c->req = lost_token ? own : labelled(p->token);
        c->late = c->req >= 0 && vm.req[c->req].end != 0;
        c->unattributed = c->req < 0;
        if (c->req >= 0 && chance(30))
            ev->ident = vm.req[c->req].ident;
    }
    c->label = ev->label;
    if (c->req >= 0) {
        c->ident = vm.req[c->req].ident;
        c->weight = ev->weight = vm.req[c->req].weight;
    }
}

static void traced_call(struct tproc *p, uint16_t tier, bool tail)
{
    uint32_t fn = FN_TIER + tier;
    struct frame *f = p->depth ? &p->f[p->depth - 1] : NULL;
    uint32_t caller = tail ? f->ret_to : current(p);
    struct event ev = {.tier = tier, .fn = fn, .kind = EVENT_CALL};
    struct tcall *c = &vm.call[vm.calls];
    int parent = top_call(p);

    if (vm.mode == RETURNS_LEAN)
        ev.caller = as_caller(caller);
    assert_true(vm.calls < CALLS);
    *c = (struct tcall){.start = vm.now, .tier = tier, .parent = parent};
    describe(p, tier, tail, &ev, c);
    if (vm.mode == RETURNS_LEAN && tail && f->n_call && parent >= 0 &&
        vm.call[parent].tier == tier && f->fn == fn && vm.call[parent].req == c->req &&
        vm.call[parent].late == c->late)
        c->folded = true;
    tell(p, ev);
    if (!tail) {
        f = &p->f[p->depth++];
        *f = (struct frame){.fn = fn, .ret_to = caller};
    } else {
        f->was[f->n_was++] = f->fn;
        f->fn = fn;
    }
    if (!c->folded)
        f->call[f->n_call++] = vm.calls;
    vm.calls++;
}

static void end_call(int i, bool error)
{
    struct tcall *c = &vm.call[i];

    c->end = vm.now;
    c->error |= error;
    if (c->parent >= 0)
        vm.call[c->parent].child += c->end - c->start;
    if (c->req >= 0 && vm.req[c->req].entry == i) {
        vm.req[c->req].end = vm.now;
        vm.req[c->req].error = c->error;
    }
}

static void leave_frame(struct tproc *p, bool error, uint8_t kind)
{
    struct frame *f = &p->f[p->depth - 1];

    for (int k = f->n_call - 1; k >= 0; k--) {
        if (kind)
            tell(p, (struct event){.fn = FN_TIER + vm.call[f->call[k]].tier, .kind = kind});
        end_call(f->call[k], error);
    }
    p->depth--;
}

static void do_return(struct tproc *p)
{
    struct frame *f = &p->f[p->depth - 1];
    bool any = f->n_call > 0;
    uint32_t to = as_caller(f->ret_to);

    leave_frame(p, false, vm.mode == RETURNS_FULL ? EVENT_RETURN : 0);
    if (any) {
        p->caught = 0;
        p->returned = top_call(p) < 0 ? 0 : p->returned | returns_function_bit(to);
    }
    if (any && vm.mode == RETURNS_LEAN)
        tell(p, (struct event){.fn = to, .kind = EVENT_RETURN_TO});
}

/* The tracker treats calls that were open when an exception was caught between tiers as ended, if
 * an event shows that they cannot be open. */
static bool in_doubt(const struct tproc *p)
{
    int top = top_call(p);
    return top >= 0 && vm.call[top].start < p->caught;
}

/* an exception that the frame below `from` catches */
static void do_raise(struct tproc *p, int from)
{
    int with = 0, first = -1;

    for (int i = from; i < p->depth; i++)
        if (p->f[i].n_call) {
            with++;
            first = first < 0 ? i : first;
        }
    if (vm.mode == RETURNS_FULL) {
        while (p->depth > from)
            leave_frame(p, true, EVENT_EXCEPTION);
        return;
    }
    uint32_t to = as_caller(p->f[from].ret_to);
    bool by_caller = first == from; /* the tracker sees: the caller of the lowest frame, */
    bool by_tier =
        from > 0 && p->f[from - 1].n_call && p->f[from - 1].fn < FN_PLAIN; /* or a tier */
    /* Documented: these cannot be distinguished with lean returns. */
    if (with > 1 && !by_caller && !by_tier)
        return;
    if (with && in_doubt(p) && (by_tier || with > 1))
        return;
    bool between = with && !by_caller && !by_tier;
    if (between && p->returned & returns_function_bit(to))
        return;
    bool error = with > 1 || !by_caller;
    while (p->depth > from)
        leave_frame(p, error, 0);
    if (between)
        p->caught = vm.now;
    else if (by_caller)
        p->caught = 0;
    p->returned = top_call(p) < 0 ? 0
                  : by_caller     ? p->returned | returns_function_bit(to)
                                  : p->returned;
    if (with)
        tell(p, (struct event){.fn = to, .kind = EVENT_RETURN_TO});
}

static void do_die(struct tproc *p)
{
    tell(p, (struct event){.kind = EVENT_EXIT});
    while (p->depth)
        leave_frame(p, true, 0);
    p->pid = vm.next_pid++;
    p->token = p->caught = p->returned = 0;
}

static bool same_request(const struct tproc *p)
{
    const struct tcall *c = &vm.call[top_call(p)];
    int req = labelled(p->token);

    return c->label == p->token && c->req == req &&
           (req < 0 || (c->late == (vm.req[req].end != 0) && !(c->late && vm.req[req].outer >= 0)));
}

/* The request of a call that the process is in has ended, and the event of its end may arrive after
 * the present events. Core then takes that request for the outer one of an entry. */
static bool has_just_ended(const struct tproc *p)
{
    for (int i = 0; i < p->depth; i++)
        for (int k = 0; k < p->f[i].n_call; k++)
            for (int r = vm.call[p->f[i].call[k]].req; r >= 0; r = vm.req[r].outer)
                if (vm.req[r].end != 0 && vm.now - vm.req[r].end < DELAY_NS)
                    return true;
    return false;
}

static void do_call(struct tproc *p)
{
    bool tail = p->depth > 0 && chance(25) && p->f[p->depth - 1].n_was + 2 < CHAIN &&
                p->f[p->depth - 1].n_call + 2 < CHAIN;
    bool plain = chance(25);
    uint32_t n = plain ? pick(UNTRACED) : chance(30) ? 0 : pick(TIERS);
    uint32_t fn = (plain ? FN_PLAIN : FN_TIER) + n;
    bool self_tail = tail && !plain && p->f[p->depth - 1].fn == fn;

    if (p->depth == DEPTH)
        return;
    if (on_stack(p, fn) && !self_tail && (plain || vm.mode == RETURNS_LEAN))
        return;
    if (self_tail && vm.has_entry && (n == 0 || !same_request(p)))
        return; /* a loop that continues with the next request: another test covers this case */
    if (!plain && vm.has_entry && n != 0 && !p->token && !chance(10))
        return; /* no token, no message */
    if (!plain && vm.has_entry && n == 0 && has_just_ended(p))
        return; /* its nesting is not known in time */
    if (!plain) {
        traced_call(p, (uint16_t)n, tail);
    } else if (tail) {
        struct frame *f = &p->f[p->depth - 1];
        f->was[f->n_was++] = f->fn;
        f->fn = fn;
    } else {
        p->f[p->depth] = (struct frame){.fn = fn, .ret_to = current(p)};
        p->depth++;
    }
}

/* During a call, a process receives only messages of the same request, or of one nested in it.
 * Otherwise the nesting would depend on the order of timestamps of different processes, which is
 * not known in time. */
static bool may_hear(const struct tproc *q, uint64_t label)
{
    int own = inside_of(q);

    return own >= 0 && descends(labelled(label), own);
}

static void step(void)
{
    struct tproc *p = &vm.p[pick(PROCS)];

    vm.now += 1 + rng() % (chance(3) ? 20000000 : 300000);
    if (chance(12)) { /* a message with its token */
        struct tproc *q = &vm.p[pick(PROCS)];
        if (q != p && p->token && (q->depth == 0 || (chance(20) && may_hear(q, p->token))))
            q->token = p->token;
    } else if (p->depth && chance(45)) {
        if (chance(12))
            do_raise(p, (int)pick((uint32_t)p->depth));
        else
            do_return(p);
    } else if (chance(1)) {
        do_die(p);
    } else {
        do_call(p);
    }
}

static int by_key(const void *a, const void *b)
{
    const struct delivery *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->order < y->order ? -1 : 1;
}

static void run_vm(int steps, struct intern *names)
{
    static const char *const ident[IDENTS] = {"", "create", "read", "delete"};

    vm.calls = vm.reqs = 0;
    vm.outs = 0;
    vm.now = 1000000000;
    vm.next_pid = 1000;
    vm.next_label = 1;
    vm.mode = chance(70) ? RETURNS_LEAN : RETURNS_FULL;
    vm.has_entry = chance(85);
    for (int i = 0; i < IDENTS; i++)
        vm.ident[i] = i ? intern_add(names, ident[i], strlen(ident[i])) : 0;
    for (int i = 0; i < PROCS; i++)
        vm.p[i] = (struct tproc){.pid = vm.next_pid++, .delay = rng() % DELAY_NS};
    for (int i = 0; i < steps; i++)
        step();
    for (int i = 0; i < PROCS; i++)
        while (vm.p[i].depth) {
            vm.now += 1000;
            do_return(&vm.p[i]);
        }
    qsort(vm.out, vm.outs, sizeof *vm.out, by_key);
}

/* ---- every call is counted once ---- */

static void check_books(const struct core *c)
{
    uint64_t open = 0, stacked = 0, depth = 0, members = 0, listed = 0;

    assert_int_equal(c->account.calls.received,
                     c->account.calls.aggregated + c->account.calls.open +
                         c->account.calls.expired + c->account.calls.unattributed);
    assert_int_equal(c->account.requests.started, c->account.requests.finished +
                                                      c->account.requests.open +
                                                      c->account.requests.expired);
    for (uint32_t i = 0; i < c->calls.high; i++) {
        const struct call *f = &c->calls.call[i];
        open += f->kind != CALL_FREE && f->kind != CALL_ACCOUNTED;
        stacked += (f->flags & CALL_ON_STACK) != 0;
        members += f->kind != CALL_FREE && f->req != CALL_NIL;
        assert_true(f->kind == CALL_FREE || f->flags & CALL_ON_STACK || f->req != CALL_NIL);
    }
    for (uint32_t i = 0; i < c->calls.proc_high; i++)
        depth += c->calls.proc[i].depth;
    for (uint32_t i = 0; i < c->requests.high; i++)
        if (c->requests.req[i].state != REQ_FREE)
            listed += c->requests.req[i].n_calls;
    assert_int_equal(c->account.calls.open, open);
    assert_int_equal(stacked, depth);
    (void)members;
    (void)listed;
}

static struct core *core_of(struct core_limits l, struct intern *names)
{
    struct core *c = core_new(&l, names);
    static const char *const name[TIERS] = {"entry", "a", "b", "c", "d"};

    for (uint16_t i = 0; i < TIERS; i++) {
        core_tier_add(c, name[i], "m:f/1");
        core_tier_set_fn(c, i, FN_TIER + i);
    }
    core_set_identity(c, true);
    core_set_returns(c, vm.mode);
    core_set_entry(c, vm.has_entry ? 0 : TIER_NONE);
    return c;
}

/* ---- the naive model ---- */

struct sums {
    uint64_t count, est, errors, late, min, max; /* est: the sum of the weights */
    uint64_t total, share, self;                 /* each duration times its weight */
};

static struct sums want[TIERS + 1][IDENTS]; /* the last: _total */

static int ident_index(uint32_t ident)
{
    int i = 0;
    while (vm.ident[i] != ident)
        i++;
    return i;
}

static void add(struct sums *s, uint64_t duration, uint32_t weight, bool error, bool late)
{
    s->min = s->count == 0 || duration < s->min ? duration : s->min;
    s->max = duration > s->max ? duration : s->max;
    s->count++;
    s->est += weight;
    s->errors += error;
    s->late += late;
    s->total += duration * weight;
}

static int by_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Between two timestamps, the time of a request belongs to the open call that started last. */
static void share_out(int req, const int *member, int n)
{
    static uint64_t stamp[2 * CALLS];
    const struct treq *r = &vm.req[req];
    int stamps = 0;

    for (int i = 0; i < n; i++) {
        stamp[stamps++] = vm.call[member[i]].start;
        stamp[stamps++] = vm.call[member[i]].end;
    }
    qsort(stamp, (size_t)stamps, sizeof *stamp, by_u64);
    for (int k = 0; k + 1 < stamps; k++) {
        int owner = -1;
        if (stamp[k] < r->start || stamp[k + 1] > r->end || stamp[k] == stamp[k + 1])
            continue;
        for (int i = 0; i < n; i++) /* by start time */
            if (vm.call[member[i]].start <= stamp[k] && vm.call[member[i]].end > stamp[k])
                owner = member[i];
        assert_true(owner >= 0);
        want[vm.call[owner].tier][ident_index(r->ident)].share +=
            (stamp[k + 1] - stamp[k]) * r->weight;
    }
}

static void sum_up(uint64_t *unattributed, uint64_t *requests)
{
    static int member[CALLS], first[REQS], next[CALLS];

    memset(want, 0, sizeof want);
    *unattributed = 0;
    for (int i = 0; i < vm.reqs; i++)
        first[i] = -1;
    for (int i = vm.calls - 1; i >= 0; i--) {
        struct tcall *c = &vm.call[i];
        *unattributed += c->unattributed;
        c->req = whole(c->req);
        c->late = c->req >= 0 && c->start > vm.req[c->req].end;
        if (c->unattributed || c->folded)
            continue;
        uint64_t all = c->end - c->start;
        struct sums *s = &want[c->tier][ident_index(c->ident)];
        add(s, all, c->weight, c->error, c->late);
        s->self += all > c->child ? (all - c->child) * c->weight : 0;
        if (c->req >= 0 && !c->late) {
            next[i] = first[c->req];
            first[c->req] = i;
        }
        if (!vm.has_entry)
            add(&want[TIERS][ident_index(c->ident)], all, c->weight, c->error, false);
    }
    *requests = 0;
    for (int r = 0; r < vm.reqs; r++) {
        int n = 0;
        if (whole(r) != r)
            continue;
        ++*requests;
        for (int i = first[r]; i >= 0; i = next[i])
            member[n++] = i;
        share_out(r, member, n);
        add(&want[TIERS][ident_index(vm.req[r].ident)], vm.req[r].end - vm.req[r].start,
            vm.req[r].weight, vm.req[r].error, false);
    }
}

static void near(const char *what, const struct snap_row *r, double got, double expected)
{
    if (fabs(got - expected) > 1e-9 * (1 + fabs(expected)))
        fail_msg("%s of %s/%s is %.6f, not %.6f", what, r->tier_name, r->ident, got, expected);
}

static void compare(const struct snapshot *s)
{
    static const char *const name[IDENTS] = {"undefined", "create", "read", "delete"};
    uint64_t rows = 0, expected = 0;

    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        if (!r->ident || r->count == 0)
            continue;
        int tier = r->tier == TIER_TOTAL ? TIERS : r->tier, id = 0;
        while (strcmp(name[id], r->ident) != 0)
            id++;
        const struct sums *w = &want[tier][id];
        near("count", r, (double)r->count, (double)w->count);
        near("est", r, (double)r->est_count, (double)w->est);
        near("errors", r, (double)r->errors, (double)w->errors);
        near("mean", r, r->mean_us, (double)w->total / (double)w->est / 1e3);
        near("min", r, r->min_us, (double)w->min / 1e3);
        near("max", r, r->max_us, (double)w->max / 1e3);
        if (tier < TIERS)
            near("late", r, (double)r->late, (double)w->late);
        if (tier < TIERS && vm.has_entry && want[TIERS][id].total)
            near("share", r, r->share, (double)w->share / (double)want[TIERS][id].total);
        else if (!vm.has_entry && !isnan(r->share))
            fail_msg("%s has a share of requests: %f", r->tier_name, r->share);
        if (tier < TIERS && !vm.has_entry)
            near("self", r, r->self_us, (double)w->self / (double)w->est / 1e3);
        rows++;
    }
    for (int t = 0; t <= TIERS; t++)
        for (int i = 0; i < IDENTS; i++)
            expected += want[t][i].count > 0;
    assert_int_equal(rows, expected);
}

/* ---- tests ---- */

enum { SLOW_NS = 300000, SLOW_ENTRIES = 8192 };

/* Every slow call is in exactly one entry of the slow log, and a request has one. */
static void check_slow(const struct snapshot *s)
{
    uint64_t slow = 0, told = 0;

    for (int i = 0; i < vm.calls; i++) {
        const struct tcall *k = &vm.call[i];
        slow += !k->unattributed && !k->folded && k->end - k->start >= SLOW_NS;
    }
    for (size_t i = 0; i < s->n_slow; i++) {
        const struct snap_slow *w = &s->slow[i];
        told += w->n_slow;
        assert_true(w->done && w->duration_us * 1e3 >= SLOW_NS);
        for (size_t k = 0; k < i && w->request; k++)
            assert_int_not_equal(s->slow[k].request, w->request);
    }
    assert_true(s->n_slow < SLOW_ENTRIES);
    assert_int_equal(told, slow);
}

static void nothing_lost(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(150); round++) {
        struct intern *names = intern_new(100, 4096);
        uint64_t at_start = rng_state(), unattributed, requests;
        struct core_limits l;

        run_vm(200 + (int)pick(3000), names);
        core_limits_default(&l);
        l.open_requests = 4096;
        l.processes = 4096;
        l.request_calls = 4096;
        l.slow_entries = SLOW_ENTRIES;
        struct core *c = core_of(l, names);
        if (round % 3 == 0)
            core_set_slow(c, SLOW_NS);
        for (size_t i = 0; i < vm.outs; i++) {
            core_feed(c, &vm.out[i].ev, 1);
            if (i % 64 == 0)
                check_books(c);
        }
        core_advance(c, vm.now + 1000000000);
        check_books(c);
        sum_up(&unattributed, &requests);
        struct snapshot *s = core_snapshot(c, WINDOW_RUN, 0);
        if (s->calls.received != (uint64_t)vm.calls || s->calls.open || s->calls.expired ||
            s->calls.unattributed != unattributed || s->requests.finished != requests)
            print_error("round %d, seed at its start %llu: received %llu of %d, open %llu, expired "
                        "%llu, unattributed %llu of %llu, requests %llu of %llu\n",
                        round, (unsigned long long)at_start, (unsigned long long)s->calls.received,
                        vm.calls, (unsigned long long)s->calls.open,
                        (unsigned long long)s->calls.expired,
                        (unsigned long long)s->calls.unattributed, (unsigned long long)unattributed,
                        (unsigned long long)s->requests.finished, (unsigned long long)requests);
        assert_int_equal(s->calls.received, vm.calls);
        assert_int_equal(s->calls.open, 0);
        assert_int_equal(s->calls.expired, 0);
        assert_int_equal(s->calls.unattributed, unattributed);
        assert_int_equal(s->requests.finished, requests);
        assert_int_equal(s->requests.started, requests);
        compare(s);
        if (round % 3 == 0)
            check_slow(s);
        snapshot_free(s);
        core_free(c);
        intern_free(names);
    }
}

static struct core_limits tight(void)
{
    struct core_limits l;

    core_limits_default(&l);
    l.identities = pick(4);
    l.open_requests = 1 + pick(40);
    l.processes = 1 + pick(10);
    l.stack_depth = 1 + pick(12);
    l.request_calls = 1 + pick(20);
    l.expire_ns = 1 + rng() % UINT64_C(3000000000);
    l.grace_ns = rng() % 30000000;
    l.history_bytes = rng() % 20000;
    l.slow_entries = pick(10);
    return l;
}

static void meddle(struct core *c)
{
    switch (pick(14)) {
    case 12:
        core_set_identity(c, chance(80));
        break;
    case 0:
        core_tier_remove(c, (uint16_t)pick(TIERS + 2));
        break;
    case 1:
        core_tier_add(c, "more", "m:g/1");
        break;
    case 2:
        core_set_entry(c, chance(50) ? TIER_NONE : (uint16_t)pick(TIERS));
        break;
    case 3:
        core_set_returns(c, chance(50) ? RETURNS_LEAN : RETURNS_FULL);
        break;
    case 4:
        core_zero(c);
        break;
    case 5:
        core_set_slow(c, chance(30) ? 0 : 1 + rng() % 1000000);
        break;
    case 6:
        core_feed(c, &(struct event){.ts_ns = core_now(c), .kind = EVENT_FLUSH}, 1);
        break;
    default:
        core_advance(c, core_now(c) + rng() % 100000000);
        snapshot_free(core_snapshot(c, (enum window)pick(WINDOW_COUNT), rng()));
        break;
    }
}

static void losses_and_changes(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(150); round++) {
        struct intern *names = intern_new(100, 4096);
        uint32_t lost = pick(30);

        run_vm(200 + (int)pick(2000), names);
        struct core *c =
            core_of(chance(60) ? tight()
                               : (struct core_limits){64, 4096, 4096, 256, 256, 60000000000,
                                                      20000000, 1 << 20, 10, chance(50)},
                    names);
        for (size_t i = 0; i < vm.outs; i++) {
            if (chance(lost))
                continue;
            core_feed(c, &vm.out[i].ev, 1);
            if (pick(200) == 0)
                meddle(c);
            if (i % 16 == 0)
                check_books(c);
        }
        check_books(c);
        core_feed(c, &(struct event){.ts_ns = core_now(c), .kind = EVENT_FLUSH}, 1);
        check_books(c);
        assert_int_equal(c->account.calls.open, 0);
        assert_int_equal(c->account.requests.open, 0);
        core_free(c);
        intern_free(names);
    }
}

static void random_event(struct event *ev, uint64_t *ts)
{
    *ts += rng() % 3000000;
    if (chance(30)) { /* random bytes, except for the names */
        uint8_t *p = (uint8_t *)ev;
        for (size_t i = 0; i < sizeof *ev; i++)
            p[i] = (uint8_t)(rng() >> 13);
        if (!chance(2))
            ev->ts_ns = *ts;
        if (chance(70))
            ev->kind = (uint8_t)pick(9);
        ev->ident = chance(5) ? INTERN_FULL : pick(9);
        return;
    }
    *ev = (struct event){.ts_ns = *ts - rng() % 1000000,
                         .pid = pick(6),
                         .label = pick(12),
                         .prev = pick(12),
                         .fn = FN_TIER + pick(8),
                         .caller = chance(50) ? FN_TIER + pick(TIERS) : FN_PLAIN + pick(3),
                         .ident = pick(9),
                         .tier = (uint16_t)pick(TIERS + 1),
                         .kind = (uint8_t)(pick(6) ? 1 + pick(5) : pick(9)),
                         .weight = pick(5)};
}

static void hostile_events(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(150); round++) {
        struct intern *names = intern_new(100, 4096);
        uint64_t ts = rng() % 10000000000;

        vm.mode = chance(50) ? RETURNS_LEAN : RETURNS_FULL;
        vm.has_entry = chance(85);
        for (char i = 'a'; i < 'j'; i++)
            intern_add(names, &i, 1);
        struct core *c = core_of(tight(), names);
        core_set_slow(c, chance(50) ? 1000 : 0);
        for (int i = 0; i < 3000; i++) {
            struct event ev;
            random_event(&ev, &ts);
            core_feed(c, &ev, 1);
            if (pick(300) == 0)
                meddle(c);
            if (i % 16 == 0)
                check_books(c);
        }
        check_books(c);
        core_free(c);
        intern_free(names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_lost),
        cmocka_unit_test(losses_and_changes),
        cmocka_unit_test(hostile_events),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
