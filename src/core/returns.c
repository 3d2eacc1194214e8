#include "returns.h"
#include "state.h"

void returns_pop(struct core *c, struct proc *p, uint64_t ts, enum call_end how)
{
    uint32_t at = calls_pop(&c->calls, p);
    struct call *f = &c->calls.call[at];

    f->end_ns = ts > f->start_ns ? ts : f->start_ns;
    p->last_ns = f->end_ns;
    if (p->depth > 0)
        c->calls.call[p->top].child_ns += f->end_ns - f->start_ns;
    inside_changed(c, p->pid, p, f->end_ns, false);
    finalize_popped(c, at, f->end_ns, how);
}

void returns_pop_through(struct core *c, struct proc *p, uint32_t at, uint64_t ts,
                         enum call_end how)
{
    uint32_t popped;
    do {
        popped = p->top;
        returns_pop(c, p, ts, how);
    } while (popped != at);
}

static void pop_run(struct core *c, struct proc *p, uint32_t caller, uint64_t ts, enum call_end how)
{
    while (p->depth > 0 && c->calls.call[p->top].caller == caller)
        returns_pop(c, p, ts, how);
}

_Static_assert(TIER_MAX <= 64, "a tier is a bit of tracker.nested");

uint64_t returns_function_bit(uint32_t fn)
{
    return UINT64_C(1) << (fn * UINT32_C(2654435761) >> 26);
}

static struct tracker_run *run_of(struct core *c, uint64_t pid)
{
    return &c->tracker.run[(pid * UINT64_C(0x9e3779b97f4a7c15) >> 32) % TRACKER_RUNS];
}

/* A return that belongs to no open call: if two calls were ended by one earlier return to this
 * function, the outer one returns only now. */
static void learn_nested(struct core *c, const struct event *ev)
{
    struct tracker_run *r = run_of(c, ev->pid);

    if (!r->fn || r->pid != ev->pid || r->fn != ev->fn || r->ts_ns < c->tracker.dropped_ns)
        return; /* or it may be the return of a call that was dropped */
    c->tracker.nested[r->inner] |= UINT64_C(1) << r->outer;
    r->fn = 0;
}

static bool is_nested(const struct core *c, uint8_t inner, uint8_t outer)
{
    return c->tracker.nested[inner] >> outer & 1;
}

/* The innermost call returned, or its direct caller has caught an exception. Calls with the same
 * caller below it have made it with a tail call, and end, too, unless it is known that they have
 * called that function again (a wrapper such as timer:tc/3, at two levels). */
static void returned(struct core *c, struct proc *p, const struct event *ev)
{
    uint8_t inner = c->calls.call[p->top].tier;

    p->caught_ns = p->left_ns = 0;
    p->returned |= returns_function_bit(ev->fn);
    returns_pop(c, p, ev->ts_ns, END_RETURNED);
    while (p->depth > 0 && c->calls.call[p->top].caller == ev->fn) {
        uint8_t outer = c->calls.call[p->top].tier;
        if (is_nested(c, inner, outer)) {
            p->left_ns = ev->ts_ns;
            return;
        }
        *run_of(c, ev->pid) = (struct tracker_run){
            .pid = ev->pid, .ts_ns = ev->ts_ns, .fn = ev->fn, .inner = inner, .outer = outer};
        returns_pop(c, p, ev->ts_ns, END_RETURNED);
        inner = outer;
    }
}

/* An event shows that a call that was left open had ended with the one above it. */
static void end_left(struct core *c, struct proc *p)
{
    for (size_t i = 0; i < TIER_MAX; i++)
        c->tracker.nested[i] &= ~(UINT64_C(1) << c->calls.call[p->top].tier);
    returns_pop(c, p, p->left_ns, END_RETURNED);
    p->left_ns = 0;
}

/* An exception has ended the calls above `at`. If they began before a caught exception (caught_ns),
 * they ended at that time. True: it was caught before this event. */
static bool pop_above(struct core *c, struct proc *p, uint32_t at, uint64_t ts)
{
    if (p->left_ns && p->top != at && c->calls.call[p->top].start_ns < p->left_ns)
        end_left(c, p);
    bool caught = p->top == at || c->calls.call[p->top].start_ns < p->caught_ns;

    while (p->top != at)
        returns_pop(c, p, caught ? p->caught_ns : ts, END_ERROR);
    return caught;
}

/* The event returns to a function that is neither an open call nor the caller of one: an exception
 * has ended the innermost call, and that function, between the tiers, has caught it. Calls further
 * out may have ended, too, which later events show. This does not apply if the event may belong to
 * a call that is not on the stack: an inner call of a recursive tier, one that has ended too early
 * with a call of the same caller, one to a server that is observed for its mailbox, or one that was
 * dropped or refused. -> false: the event belongs to no call. */
static bool caught_between(struct core *c, const struct event *ev, struct proc *p)
{
    struct call *top = &c->calls.call[p->top];

    if (top->fold > 0) {
        top->fold--;
        return true;
    }
    if (mailbox_failed(c, ev))
        return true;
    if (top->start_ns < c->tracker.dropped_ns || top->start_ns < p->unknown_ns)
        return false;
    if (p->returned & returns_function_bit(ev->fn)) {
        learn_nested(c, ev);
        return false;
    }
    p->caught_ns = ev->ts_ns;
    pop_run(c, p, top->caller, ev->ts_ns, END_ERROR);
    return true;
}

/* The function to which the event returns is the tier of the call below `at`. */
static bool into_tier(const struct core *c, uint32_t at, const struct event *ev)
{
    uint32_t below = c->calls.call[at].below;

    return below != CALL_NIL && ev->fn && c->tiers.tier[c->calls.call[below].tier].fn == ev->fn;
}

/* The event returns to the caller of `at`, which is not the innermost call. Either an exception
 * passed through `at`, or `at` returned normally after an exception inside it. Before OTP 27.1 the
 * events are equal and count as a return (as documented for an exception that the direct caller
 * catches), unless the direct caller is a tier. */
static void unwound(struct core *c, struct proc *p, uint32_t at, const struct event *ev)
{
    bool silent = c->tiers.silent_exceptions && !into_tier(c, at, ev);
    bool earlier = pop_above(c, p, at, ev->ts_ns) || silent;

    pop_run(c, p, ev->fn, ev->ts_ns, earlier ? END_RETURNED : END_ERROR);
    p->caught_ns = 0;
}

void returns_to(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, ev->pid);

    if (mailbox_returned(c, ev, p))
        return;
    if (!p) {
        learn_nested(c, ev);
        c->account.anomalies.orphan_returns++;
        return;
    }
    uint32_t top = p->top, at = top;
    if (c->calls.call[top].caller == ev->fn) {
        returned(c, p, ev);
        calls_trim(&c->calls, p);
        return;
    }
    for (; at != CALL_NIL; at = c->calls.call[at].below) {
        struct call *f = &c->calls.call[at];
        if (f->caller == ev->fn) { /* an exception unwound to the caller of this call */
            unwound(c, p, at, ev);
            break;
        }
        if (ev->fn && c->tiers.tier[f->tier].fn == ev->fn) {
            if (at != top) /* ... or into this one, which caught it */
                pop_above(c, p, at, ev->ts_ns);
            else if (f->fold > 0)
                f->fold--;
            else
                c->account.anomalies.orphan_returns++;
            break;
        }
    }
    if (at == CALL_NIL && !caught_between(c, ev, p))
        c->account.anomalies.orphan_returns++;
    calls_trim(&c->calls, p);
}

void returns_of(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, ev->pid);
    uint32_t at = p ? p->top : CALL_NIL;

    while (at != CALL_NIL && c->calls.call[at].caller != ev->fn)
        at = c->calls.call[at].below;
    if (at == CALL_NIL) {
        c->account.anomalies.orphan_returns++;
        return;
    }
    while (p->top != at) /* their returns have been lost */
        returns_pop(c, p, ev->ts_ns, END_EXPIRED);
    returns_pop(c, p, ev->ts_ns, ev->kind == EVENT_EXCEPTION ? END_ERROR : END_RETURNED);
    calls_trim(&c->calls, p);
}

/* A process makes the same entry call from the same caller again: an exception that was caught
 * between the tiers has ended the earlier request. */
static struct proc *after_catch(struct core *c, const struct event *ev, struct proc *p)
{
    uint64_t pid = p->pid;

    for (uint32_t at = p->top; at != CALL_NIL; at = c->calls.call[at].below) {
        const struct call *f = &c->calls.call[at];
        if (f->start_ns < p->caught_ns && f->tier == ev->tier && f->caller == ev->caller) {
            returns_pop_through(c, p, at, p->caught_ns, END_ERROR);
            calls_trim(&c->calls, p);
            return calls_proc(&c->calls, pid);
        }
    }
    return p;
}

/* The next call of a process shows that a call that was left open had ended with the one above it:
 * it is made in the same way as that one. */
static bool is_left(const struct core *c, const struct event *ev, const struct proc *p)
{
    const struct call *top = &c->calls.call[p->top];

    return p->left_ns && top->start_ns < p->left_ns && top->tier == ev->tier &&
           top->caller == ev->caller;
}

struct proc *returns_before_call(struct core *c, const struct event *ev, struct proc *p)
{
    if (is_left(c, ev, p)) {
        uint64_t pid = p->pid;
        end_left(c, p);
        calls_trim(&c->calls, p);
        p = calls_proc(&c->calls, pid);
    }
    return p && ev->kind == EVENT_ENTRY ? after_catch(c, ev, p) : p;
}
