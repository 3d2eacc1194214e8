/* Call stacks from events: pushes calls; the unit returns takes them off. */
#include "tracker.h"
#include "attribution.h"
#include "request_merge.h"
#include "returns.h"
#include "state.h"

/* ---- stacks ---- */

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
    c->tracker.loops[ev->tier] |= ev->caller == top->caller;
    if (same_target(top, to)) {
        if (to->kind == TO_NOBODY)
            account_call_refused(&c->account, ev->tier, ev->ts_ns);
        else
            account_call_folded(&c->account);
        if (ev->caller != top->caller && top->fold < UINT16_MAX)
            top->fold++;
        return true;
    }
    /* A server loop that never returns has begun its next request: the earlier call will not end.
     * */
    if (ev->caller == top->caller) {
        returns_pop(c, p, ev->ts_ns, END_EXPIRED);
        p->unknown_ns = ev->ts_ns; /* if it is not a loop, it returns later */
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
    if (c->complete_ns > c->set.limits.grace_ns)
        finalize_drain(c, req, c->complete_ns - c->set.limits.grace_ns);
    if (r->n_calls > c->set.limits.request_calls / 2)
        finalize_drain(c, req, c->complete_ns);
}

static void push(struct core *c, const struct event *ev, struct proc *p,
                 const struct attribution *to)
{
    static const uint8_t kind[] = {CALL_ACCOUNTED, CALL_MEMBER, CALL_OWN, CALL_LATE};
    bool arrives = mailbox_arrives(c, ev, p, to);
    uint32_t at = calls_push(&c->calls, p);
    struct call *f = &c->calls.call[at];
    bool lean = c->tiers.returns == RETURNS_LEAN;

    p->last_ns = f->start_ns = ev->ts_ns;
    f->tier = (uint8_t)ev->tier;
    f->kind = kind[to->kind];
    f->caller = lean ? ev->caller : ev->fn ? ev->fn : c->tiers.tier[ev->tier].fn;
    if (to->kind == TO_NOBODY) {
        account_call_refused(&c->account, ev->tier, ev->ts_ns);
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
    bool late = to->kind == TO_CLOSED;
    f->weight = late ? to->weight : ev->weight;
    f->self_ns = to->end_ns;
    /* The name of a late call is that of its request, under the rule of that time. */
    f->ident = finalize_ident(c, to->ident, late && to->ident ? to->end_ns : ev->ts_ns);
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
        account_call_refused(&c->account, ev->tier, ev->ts_ns);
    } else {
        struct proc *room = calls_room(&c->calls, p, ev->pid);
        if (room) {
            push(c, ev, room, to);
            return;
        }
        c->account.anomalies.pids_full += to->kind != TO_NOBODY;
        account_call_refused(&c->account, ev->tier, ev->ts_ns);
        if (to->starts)
            requests_move(&c->requests, to->req, REQ_EXPIRING);
    }
    if (p) {
        p->unknown_ns = ev->ts_ns;
        calls_trim(&c->calls, p);
    }
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
    returns_pop_through(c, p, ended, ev->ts_ns, END_EXPIRED);
    uint64_t pid = p->pid;
    calls_trim(&c->calls, p);
    return calls_proc(&c->calls, pid);
}

static void on_call(struct core *c, const struct event *ev)
{
    struct tier *t = ev->tier < c->tiers.n ? &c->tiers.tier[ev->tier] : NULL;
    struct proc *p = calls_proc(&c->calls, ev->pid);
    struct attribution to;

    c->account.calls.received++;
    if (!t || !t->active) {
        account_call_refused(&c->account, ev->tier, ev->ts_ns);
        if (p)
            p->unknown_ns = ev->ts_ns;
        return;
    }
    if (!t->fn)
        t->fn = ev->fn;
    if (p)
        p = returns_before_call(c, ev, p);
    if (c->tracker.dropped_ns && p && c->calls.call[p->top].start_ns < c->tracker.dropped_ns)
        p = after_drop(c, ev, p);
    if (c->tiers.entry == TIER_NONE)
        to = (struct attribution){.kind = TO_ITSELF, .req = REQ_NIL, .ident = ev->ident};
    else if (ev->kind == EVENT_ENTRY && ev->tier == c->tiers.entry) /* else of a former entry */
        to = attribution_of_entry(c, ev, p);
    else
        to = attribution_of_call(c, ev, p);
    place(c, ev, p, &to);
}

static void on_exit_of(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, ev->pid);

    mailbox_exit(c, ev->pid);
    if (!p)
        return;
    while (p->depth > 0)
        returns_pop(c, p, ev->ts_ns, END_EXIT);
    calls_trim(&c->calls, p);
}

/* A recording can contain any number. */
static bool is_name(const struct core *c, uint32_t id)
{
    return id <= intern_count(c->set.names);
}

/* Events up to this time have arrived. */
static void complete(struct core *c, uint64_t ts_ns)
{
    if (ts_ns <= c->complete_ns)
        return;
    c->complete_ns = ts_ns;
    if (ts_ns > c->now_ns)
        c->now_ns = ts_ns;
    if (ts_ns >= c->finalizer.next_due_ns)
        finalize_due(c);
}

void tracker_event(struct core *c, const struct event *ev)
{
    if (ev->kind == EVENT_GAP) { /* it may arrive before earlier calls, so ts is not the time */
        if (ev->ident < GAP_COUNT)
            gaps_report(&c->gaps, ev->ts_ns, (enum gap_reason)ev->ident, c->tracker.called_ns);
        complete(c, ev->prev);
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
    complete(c, ev->ts_ns);
    switch (ev->kind) {
    case EVENT_ENTRY:
    case EVENT_CALL:
        c->tracker.called_ns = ev->ts_ns;
        on_call(c, ev);
        break;
    case EVENT_RETURN_TO:
        returns_to(c, ev);
        break;
    case EVENT_RETURN:
    case EVENT_EXCEPTION:
        returns_of(c, ev);
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
