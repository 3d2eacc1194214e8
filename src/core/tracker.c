/* Call stacks from events: pushes calls, and ends them on returns. */
#include "tracker.h"
#include "attribution.h"
#include "request_merge.h"
#include "state.h"

/* ---- stacks ---- */

static void pop(struct core *c, struct proc *p, uint64_t ts, enum call_end how)
{
    uint32_t at = calls_pop(&c->calls, p);
    struct call *f = &c->calls.call[at];

    f->end_ns = ts > f->start_ns ? ts : f->start_ns;
    if (p->depth > 0)
        c->calls.call[p->top].child_ns += f->end_ns - f->start_ns;
    inside_changed(c, p->pid, p, f->end_ns, false);
    finalize_popped(c, at, f->end_ns, how);
}

static void pop_through(struct core *c, struct proc *p, uint32_t at, uint64_t ts, enum call_end how)
{
    uint32_t popped;
    do {
        popped = p->top;
        pop(c, p, ts, how);
    } while (popped != at);
}

static bool same_target(const struct call *f, const struct attribution *to)
{
    switch (to->kind) {
    case TO_REQUEST:
        return f->kind == CALL_MEMBER && f->req == to->req;
    case TO_ITSELF:
        return f->kind == CALL_OWN;
    case TO_CLOSED:
        return (f->kind == CALL_LATE && f->self_ns == to->end_ns) || f->kind == CALL_ASYNC ||
               (f->kind == CALL_MEMBER && f->req == to->req);
    default:
        return f->kind == CALL_ACCOUNTED;
    }
}

/* With lean returns, a recursive call cannot be distinguished from the outer call, so it is counted
 * as part of it. True: the call is accounted for. */
static bool folded(struct core *c, const struct event *ev, struct proc *p,
                   const struct attribution *to)
{
    struct call *top = &c->calls.call[p->top];

    if (!attribution_repeats(c, ev, top))
        return false;
    if (same_target(top, to)) {
        if (to->kind == TO_NOBODY)
            account_call_refused(&c->account);
        else
            account_call_folded(&c->account);
        if (ev->caller != top->caller && top->fold < UINT16_MAX)
            top->fold++;
        return true;
    }
    /* A server loop that never returns has begun its next request: the earlier call will not end.
     * */
    if (ev->caller == top->caller) {
        pop(c, p, ev->ts_ns, END_EXPIRED);
        c->tracker.unknown_ns = ev->ts_ns; /* if it is not a loop, it returns later */
    }
    return false;
}

static void append(struct core *c, uint32_t req, uint32_t at)
{
    struct request *r = &c->requests.req[req];

    c->calls.call[at].req = req;
    if (r->last == CALL_NIL)
        r->first = at;
    else
        c->calls.call[r->last].next = at;
    r->last = at;
    r->n_calls++;
}

static void drain_full(struct core *c, uint32_t req)
{
    const struct request *r = &c->requests.req[req];

    if (r->state != REQ_OPEN || r->n_calls < r->drain_at || request_merge_resolve(c, req))
        return;
    if (c->now_ns > c->set.limits.grace_ns)
        finalize_drain(c, req, c->now_ns - c->set.limits.grace_ns);
    if (r->n_calls > c->set.limits.request_calls / 2)
        finalize_drain(c, req, c->now_ns);
}

static void push(struct core *c, const struct event *ev, struct proc *p,
                 const struct attribution *to)
{
    static const uint8_t kind[] = {CALL_ACCOUNTED, CALL_MEMBER, CALL_OWN, CALL_LATE};
    bool arrives = mailbox_arrives(c, ev, p, to);
    uint32_t at = calls_push(&c->calls, p);
    struct call *f = &c->calls.call[at];
    bool lean = c->tiers.returns == RETURNS_LEAN;

    f->start_ns = ev->ts_ns;
    f->tier = (uint8_t)ev->tier;
    f->kind = kind[to->kind];
    f->caller = lean ? ev->caller : ev->fn ? ev->fn : c->tiers.tier[ev->tier].fn;
    if (to->kind == TO_NOBODY) {
        account_call_refused(&c->account);
        inside_changed(c, ev->pid, p, ev->ts_ns, true);
        return;
    }
    if (ev->args)
        calls_set_args(&c->calls, at, ev->args);
    if (arrives)
        mailbox_arrived(c, at, ev);
    account_call_opened(&c->account);
    if (event_in_detail(ev->label)) {
        f->flags |= CALL_DETAIL;
        detail_called(c, ev->pid, ev->ts_ns);
    }
    if (to->kind == TO_REQUEST) {
        append(c, to->req, at);
        if (to->starts)
            c->requests.req[to->req].entry = at;
        inside_changed(c, ev->pid, p, ev->ts_ns, true);
        drain_full(c, to->req);
        return;
    }
    f->weight = ev->weight;
    f->self_ns = to->end_ns;
    f->ident = finalize_ident(c, to->ident, ev->ts_ns);
    inside_changed(c, ev->pid, p, ev->ts_ns, true);
}

static void place(struct core *c, const struct event *ev, struct proc *p,
                  const struct attribution *to)
{
    if (p && p->depth > 0 && folded(c, ev, p, to))
        return;
    /* A call outside of any request stays on the stack while there is enough room, so that returns
     * unwind correctly. */
    if (to->kind == TO_NOBODY && !p && c->calls.by_pid.used >= c->calls.proc_cap / 2) {
        account_call_refused(&c->account);
    } else {
        struct proc *room = calls_room(&c->calls, p, ev->pid);
        if (room) {
            push(c, ev, room, to);
            return;
        }
        c->account.anomalies.pids_full += to->kind != TO_NOBODY;
        account_call_refused(&c->account);
        c->tracker.unknown_ns = ev->ts_ns;
        if (to->starts)
            requests_move(&c->requests, to->req, REQ_EXPIRING);
    }
    if (p)
        calls_trim(&c->calls, p);
}

/* Events were dropped since the open call `f` began, and the same caller makes the same call: the
 * return of `f` was among the dropped events. Otherwise this would be a recursive call. */
static bool has_ended(const struct core *c, const struct event *ev, const struct call *f)
{
    bool lean = c->tiers.returns == RETURNS_LEAN;

    return f->start_ns < c->tracker.dropped_ns && f->tier == ev->tier &&
           (!lean || f->caller == ev->caller);
}

static struct proc *after_drop(struct core *c, const struct event *ev, struct proc *p)
{
    uint32_t at = p ? p->top : CALL_NIL, ended = CALL_NIL;

    for (; at != CALL_NIL; at = c->calls.call[at].below)
        if (has_ended(c, ev, &c->calls.call[at]))
            ended = at;
    if (ended == CALL_NIL)
        return p;
    pop_through(c, p, ended, ev->ts_ns, END_EXPIRED);
    uint64_t pid = p->pid;
    calls_trim(&c->calls, p);
    return calls_proc(&c->calls, pid);
}

/* A process begins its next request as it began the last one: an exception that was caught between
 * the tiers has ended that one. */
static struct proc *after_catch(struct core *c, const struct event *ev, struct proc *p)
{
    uint64_t pid = p->pid;

    for (uint32_t at = p->top; at != CALL_NIL; at = c->calls.call[at].below) {
        const struct call *f = &c->calls.call[at];
        if (f->start_ns < p->caught_ns && f->tier == ev->tier && f->caller == ev->caller) {
            pop_through(c, p, at, p->caught_ns, END_ERROR);
            calls_trim(&c->calls, p);
            return calls_proc(&c->calls, pid);
        }
    }
    return p;
}

static void on_call(struct core *c, const struct event *ev)
{
    struct tier *t = ev->tier < c->tiers.n ? &c->tiers.tier[ev->tier] : NULL;
    struct attribution to;

    c->account.calls.received++;
    if (!t || !t->active) {
        account_call_refused(&c->account);
        c->tracker.unknown_ns = ev->ts_ns;
        return;
    }
    if (!t->fn)
        t->fn = ev->fn;
    struct proc *p = calls_proc(&c->calls, ev->pid);
    if (p && ev->kind == EVENT_ENTRY)
        p = after_catch(c, ev, p);
    if (c->tracker.dropped_ns && p && c->calls.call[p->top].start_ns < c->tracker.dropped_ns)
        p = after_drop(c, ev, p);
    if (c->tiers.entry == TIER_NONE)
        to = (struct attribution){.kind = TO_ITSELF, .req = REQ_NIL, .ident = ev->ident};
    else if (ev->kind == EVENT_ENTRY)
        to = attribution_of_entry(c, ev, p);
    else
        to = attribution_of_call(c, ev, p);
    place(c, ev, p, &to);
}

/* ---- returns ---- */

static void pop_run(struct core *c, struct proc *p, uint32_t caller, uint64_t ts, enum call_end how)
{
    while (p->depth > 0 && c->calls.call[p->top].caller == caller)
        pop(c, p, ts, how);
}

static uint64_t function_bit(uint32_t fn)
{
    return UINT64_C(1) << (fn * UINT32_C(2654435761) >> 26);
}

static struct tracker_run *run_of(struct core *c, uint64_t pid)
{
    return &c->tracker.run[(pid * UINT64_C(0x9e3779b97f4a7c15) >> 32) % TRACKER_RUNS];
}

/* A return of no open call: if two calls returned to this function at once, the outer one has
 * returned only now. */
static void learn_nested(struct core *c, const struct event *ev)
{
    struct tracker_run *r = run_of(c, ev->pid);

    if (!r->fn || r->pid != ev->pid || r->fn != ev->fn)
        return;
    c->tracker.nested[r->inner] |= UINT64_C(1) << r->outer;
    r->fn = 0;
}

static bool is_nested(const struct core *c, uint8_t inner, uint8_t outer)
{
    return c->tracker.nested[inner] >> outer & 1;
}

/* The innermost call returned, or its direct caller has caught an exception. Calls with the same
 * caller below it have made it with a tail call, and end, too, unless it is known that they have
 * called that function again (a wrapper as timer:tc/3, at two levels). */
static void returned(struct core *c, struct proc *p, const struct event *ev)
{
    uint8_t inner = c->calls.call[p->top].tier;

    p->caught_ns = p->left_ns = 0;
    p->returned |= function_bit(ev->fn);
    pop(c, p, ev->ts_ns, END_RETURNED);
    while (p->depth > 0 && c->calls.call[p->top].caller == ev->fn) {
        uint8_t outer = c->calls.call[p->top].tier;
        if (is_nested(c, inner, outer)) {
            p->left_ns = ev->ts_ns;
            return;
        }
        *run_of(c, ev->pid) =
            (struct tracker_run){.pid = ev->pid, .fn = ev->fn, .inner = inner, .outer = outer};
        pop(c, p, ev->ts_ns, END_RETURNED);
        inner = outer;
    }
}

/* An event shows that a call that was left open had ended with the one above it. */
static void end_left(struct core *c, struct proc *p, uint32_t at)
{
    if (!p->left_ns || p->top == at || c->calls.call[p->top].start_ns >= p->left_ns)
        return;
    for (size_t i = 0; i < TIER_MAX; i++)
        c->tracker.nested[i] &= ~(UINT64_C(1) << c->calls.call[p->top].tier);
    pop(c, p, p->left_ns, END_RETURNED);
    p->left_ns = 0;
}

/* An exception has ended the calls above `at`: those that began before it was caught, then. True:
 * it was caught before this event. */
static bool pop_above(struct core *c, struct proc *p, uint32_t at, uint64_t ts)
{
    end_left(c, p, at);
    bool caught = p->top == at || c->calls.call[p->top].start_ns < p->caught_ns;

    while (p->top != at)
        pop(c, p, caught ? p->caught_ns : ts, END_ERROR);
    return caught;
}

/* The event returns to a function that no open call has as its caller, or is: an exception has
 * ended the innermost call, and that function, between the tiers, has caught it. Calls further out
 * may have ended, too, which later events show. Not so if the event may belong to a call that is
 * not on the stack: an inner call of a recursive tier, one that has ended too early with a call of
 * the same caller, one to a server that is observed for its mailbox, or one that was dropped or
 * refused. -> false: the event belongs to no call. */
static bool caught_between(struct core *c, const struct event *ev, struct proc *p)
{
    struct call *top = &c->calls.call[p->top];

    if (top->fold > 0) {
        top->fold--;
        return true;
    }
    if (mailbox_failed(c, ev))
        return true;
    if (p->returned & function_bit(ev->fn)) {
        learn_nested(c, ev);
        return false;
    }
    if (top->start_ns < c->tracker.dropped_ns || top->start_ns < c->tracker.unknown_ns)
        return false;
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

/* Returns to the caller of `at`, which is not the innermost call: because of an exception, or `at`
 * has returned after one. Before OTP 27.1 both cause the same event. It is then taken for a return,
 * as documented for an exception that the direct caller catches, unless that is a tier. */
static void unwound(struct core *c, struct proc *p, uint32_t at, const struct event *ev)
{
    bool silent = c->tiers.silent_exceptions && !into_tier(c, at, ev);
    bool earlier = pop_above(c, p, at, ev->ts_ns) || silent;

    pop_run(c, p, ev->fn, ev->ts_ns, earlier ? END_RETURNED : END_ERROR);
    p->caught_ns = 0;
}

static void on_return_to(struct core *c, const struct event *ev)
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

static void on_return(struct core *c, const struct event *ev)
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
        pop(c, p, ev->ts_ns, END_EXPIRED);
    pop(c, p, ev->ts_ns, ev->kind == EVENT_EXCEPTION ? END_ERROR : END_RETURNED);
    calls_trim(&c->calls, p);
}

static void on_exit_of(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, ev->pid);

    mailbox_exit(c, ev->pid);
    if (!p)
        return;
    while (p->depth > 0)
        pop(c, p, ev->ts_ns, END_EXIT);
    calls_trim(&c->calls, p);
}

/* A recording can contain any number. */
static bool is_name(const struct core *c, uint32_t id)
{
    return id <= intern_count(c->set.names);
}

void tracker_event(struct core *c, const struct event *ev)
{
    if (ev->kind ==
        EVENT_GAP) { /* it may arrive before earlier calls, so it does not advance the time */
        if (ev->ident < GAP_COUNT)
            gaps_report(&c->gaps, ev->ts_ns, (enum gap_reason)ev->ident, c->tracker.called_ns);
        return;
    }
    if (ev->kind == EVENT_MARK) {
        if (is_name(c, ev->ident))
            gaps_mark(&c->gaps, ev->ts_ns, ev->ident);
        return;
    }
    if (ev->kind == EVENT_VM) {
        if (is_name(c, ev->fn))
            vm_events_take(&c->vm_events, ev);
        return;
    }
    if (ev->ts_ns > c->now_ns) {
        c->now_ns = ev->ts_ns;
        if (c->now_ns >= c->finalizer.next_due_ns)
            finalize_due(c);
    }
    switch (ev->kind) {
    case EVENT_ENTRY:
    case EVENT_CALL:
        c->tracker.called_ns = ev->ts_ns;
        on_call(c, ev);
        break;
    case EVENT_RETURN_TO:
        on_return_to(c, ev);
        break;
    case EVENT_RETURN:
    case EVENT_EXCEPTION:
        on_return(c, ev);
        break;
    case EVENT_SENT:
        mailbox_sent(c, ev);
        detail_sent(c, ev);
        break;
    case EVENT_EXIT:
        on_exit_of(c, ev);
        break;
    case EVENT_FLUSH:
        finalize_flush(c);
        break;
    case EVENT_DROPPED:
        c->tracker.dropped_ns = ev->ts_ns;
        break;
    case EVENT_OUT:
    case EVENT_IN:
    case EVENT_GC:
    case EVENT_GC_END:
    case EVENT_RECEIVES:
    case EVENT_UNKNOWN:
    case EVENT_QUEUE:
        scheduling_event(&c->detail.scheduling, ev);
        break;
    case EVENT_COUNTED:
        counted_add(&c->counted, c->windows.start_ns, ev);
        break;
    default:
        c->account.anomalies.bad_events++;
        break;
    }
    if (c->requests.in_state[REQ_EXPIRING])
        finalize_expiring(c);
}
