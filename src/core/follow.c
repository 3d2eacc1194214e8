/* Events to stacks and requests: where a call belongs, and what a return ends. */
#include <kprof/core/state.h>

enum target_kind { TO_NOBODY, TO_REQUEST, TO_ITSELF, TO_CLOSED };

struct target {
    enum target_kind kind;
    uint32_t req;    /* TO_REQUEST; TO_CLOSED: if it is not settled yet */
    uint64_t end_ns; /* TO_CLOSED: when that was, which tells it from others */
    uint32_t ident;  /* name id; TO_ITSELF, TO_CLOSED */
    bool starts;     /* the call is the entry that starts req */
};

static const struct target NOBODY = {.kind = TO_NOBODY, .req = REQ_NIL};

/* ---- where a call belongs ---- */

/* The request that the process is inside of, by its open calls. */
static uint32_t inside(const struct core *c, const struct proc *p, uint64_t ts, bool orphans)
{
    for (uint32_t at = p ? p->top : CALL_NIL; at != CALL_NIL; at = c->calls.call[at].below) {
        const struct call *f = &c->calls.call[at];
        if (f->kind != CALL_MEMBER)
            continue;
        const struct request *r = &c->requests.req[f->req];
        if (joinable(r, ts) && (orphans || r->state != REQ_ORPHAN))
            return f->req;
    }
    return REQ_NIL;
}

static void name_request(struct request *r, uint32_t ident)
{
    if (r->ident == 0)
        r->ident = ident;
}

static struct target to_request(struct core *c, uint32_t req, uint32_t ident)
{
    name_request(&c->requests.req[req], ident);
    return (struct target){.kind = TO_REQUEST, .req = req};
}

static struct target to_closed(uint32_t req, uint64_t end_ns, uint32_t ident)
{
    return (struct target){.kind = TO_CLOSED, .req = req, .end_ns = end_ns, .ident = ident};
}

/* The first call of a label whose entry has not come, yet. */
static struct target to_orphan(struct core *c, const struct event *ev, uint64_t key)
{
    uint32_t req = requests_new(&c->requests, REQ_ORPHAN, key);

    if (req == REQ_NIL) {
        c->odd.requests_full++;
        return NOBODY;
    }
    struct request *r = &c->requests.req[req];
    r->label = ev->label;
    r->start_ns = ev->ts_ns;
    r->drain_at = UINT32_MAX;
    r->due_ns = after(c->now_ns, c->lim.grace_ns);
    due_at(c, r->due_ns);
    return to_request(c, req, ev->ident);
}

/* A label that replaces the one that the process carried, inside its own request. */
static struct target relabelled(struct core *c, const struct event *ev, uint32_t req, uint64_t key,
                                uint32_t labelled)
{
    if (labelled != REQ_NIL && labelled != req && c->requests.req[labelled].state == REQ_ORPHAN)
        nest_swallow(c, req, labelled);
    else if (labelled != req && !requests_alias(&c->requests, req, key))
        c->odd.requests_full++;
    return to_request(c, req, ev->ident);
}

/* The request of the process when another kprof-top (its labels have another epoch) has put a label
 * of its own on it: from here on that one leads to the request as well. REQ_NIL: not so. */
static uint32_t taken_over(const struct core *c, const struct event *ev, const struct proc *p)
{
    uint32_t req = inside(c, p, ev->ts_ns, false);
    const struct request *r = req == REQ_NIL ? NULL : &c->requests.req[req];

    if (!r || r->entry == CALL_NIL || c->calls.call[r->entry].pid != p->pid)
        return REQ_NIL;
    return ((ev->label | r->label) >> 63) || ev->label >> 32 == r->label >> 32 ? REQ_NIL : req;
}

static struct target call_target(struct core *c, const struct event *ev, const struct proc *p)
{
    const struct closed_label *closed;
    uint64_t key = label_key(ev->label, ev->node);
    uint32_t req;

    if (!key) {
        req = inside(c, p, ev->ts_ns, true);
        return req == REQ_NIL ? NOBODY : to_request(c, req, ev->ident);
    }
    req = requests_find(&c->requests, key, &closed);
    if (!closed && (req == REQ_NIL || c->requests.req[req].state == REQ_ORPHAN)) {
        uint32_t own = taken_over(c, ev, p);
        if (own != REQ_NIL)
            return relabelled(c, ev, own, key, req);
    }
    if (req == REQ_NIL) {
        if (!closed || ev->ts_ns > after(closed->end_ns, c->lim.linger_ns))
            return to_orphan(c, ev, key);
        return closed->dead
                   ? NOBODY
                   : to_closed(REQ_NIL, closed->end_ns, closed->ident ? closed->ident : ev->ident);
    }
    const struct request *r = &c->requests.req[req];
    if (r->state == REQ_CLOSING && ev->ts_ns > r->end_ns)
        /* Late, unless the request is nested in one that goes on: that shows when it is settled. */
        return r->waits ? to_request(c, req, ev->ident)
                        : to_closed(req, r->end_ns, r->ident ? r->ident : ev->ident);
    if (!joinable(r, ev->ts_ns))
        return NOBODY; /* before its entry */
    if (r->state == REQ_ORPHAN && r->n_calls >= c->lim.request_calls)
        return NOBODY;
    return to_request(c, req, ev->ident);
}

/* ---- entries ---- */

/* `outer` is the label of the request that this one may be nested in; 0: none. */
static struct target new_request(struct core *c, const struct event *ev, uint64_t key, uint32_t req,
                                 uint64_t outer)
{
    if (req == REQ_NIL)
        req = requests_new(&c->requests, REQ_OPEN, key);
    else
        requests_move(&c->requests, req, REQ_OPEN); /* its calls came first */
    if (req == REQ_NIL) {
        c->odd.requests_full++;
        requests_remember(&c->requests,
                          (struct closed_label){.key = key, .end_ns = ev->ts_ns, .dead = true});
        return NOBODY;
    }
    c->r.started++;
    c->r.open++;
    struct request *r = &c->requests.req[req];
    r->label = ev->label;
    r->start_ns = r->swept_ns = ev->ts_ns;
    r->weight = ev->weight ? ev->weight : 1;
    r->drain_at = c->lim.request_calls;
    due_at(c, after(ev->ts_ns, c->lim.expire_ns));
    if (ev->ident)
        r->ident = ev->ident;
    nest_disown_early(c, req);
    if (outer && outer != key)
        requests_wait(&c->requests, req, outer);
    return (struct target){.kind = TO_REQUEST, .req = req, .starts = true};
}

/* The label by which an entry may be nested in a request that began in another process; 0: by none.
 * Whether it is shows when both have ended: until then either's events may be under way. */
static uint64_t outer_label(struct core *c, const struct event *ev, uint32_t around)
{
    const struct closed_label *closed;
    uint64_t prev = label_key(ev->prev, ev->node);

    if (around != REQ_NIL)
        return c->requests.req[around].key;
    if (!prev)
        return 0;
    uint32_t req = requests_find(&c->requests, prev, &closed);
    const struct request *r = req == REQ_NIL ? NULL : &c->requests.req[req];
    return closed || (r && !r->waits && !joinable(r, ev->ts_ns)) ? 0 : prev;
}

/* Lean: the call cannot be told from the one on top of the stack. */
static bool calls_itself(const struct core *c, const struct event *ev, const struct call *top)
{
    bool by_itself = ev->caller && ev->caller == c->tiers.tier[ev->tier].fn;

    return c->tiers.returns == RETURNS_LEAN && top->tier == ev->tier &&
           (by_itself || ev->caller == top->caller);
}

/* Certain at once: the process is inside a request that it has entered itself, and that is no
 * other's. */
static bool surely_nested(const struct core *c, const struct event *ev, const struct proc *p,
                          uint32_t around)
{
    const struct request *r = &c->requests.req[around];

    if (r->key == 0)
        return true;
    return r->entry != CALL_NIL && c->calls.call[r->entry].pid == p->pid &&
           (!r->waits || calls_itself(c, ev, &c->calls.call[p->top]));
}

static struct target entry_target(struct core *c, const struct event *ev, const struct proc *p)
{
    const struct closed_label *closed;
    uint64_t key = label_key(ev->label, ev->node);
    uint32_t labelled = requests_find(&c->requests, key, &closed);
    uint32_t around = inside(c, p, ev->ts_ns, false);

    if (around != REQ_NIL && surely_nested(c, ev, p, around))
        return relabelled(c, ev, around, key, labelled);
    /* One label, two entries: not ours, but it must not break anything. */
    if (labelled != REQ_NIL && c->requests.req[labelled].state == REQ_OPEN)
        return relabelled(c, ev, labelled, key, labelled);
    uint64_t outer = outer_label(c, ev, around);
    if (labelled != REQ_NIL && c->requests.req[labelled].state == REQ_CLOSING) {
        settle_request(c, labelled);
        labelled = REQ_NIL;
    }
    return new_request(c, ev, key, labelled, outer);
}

/* ---- stacks ---- */

static void pop(struct core *c, struct proc *p, uint64_t ts, enum how how)
{
    uint32_t at = calls_pop(&c->calls, p);
    struct call *f = &c->calls.call[at];

    f->end_ns = ts > f->start_ns ? ts : f->start_ns;
    if (p->depth > 0)
        c->calls.call[p->top].child_ns += f->end_ns - f->start_ns;
    settle_popped(c, at, f->end_ns, how);
}

static bool same_target(const struct call *f, const struct target *to)
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
        return f->kind == CALL_GHOST;
    }
}

/* Lean returns cannot tell inner calls of a function to itself apart: they are the outer one. True:
 * the call is accounted for. */
static bool folded(struct core *c, const struct event *ev, struct proc *p, const struct target *to)
{
    struct call *top = &c->calls.call[p->top];

    if (!calls_itself(c, ev, top))
        return false;
    if (same_target(top, to)) {
        if (to->kind == TO_NOBODY)
            c->n.unattributed++;
        else
            c->n.aggregated++;
        if (ev->caller != top->caller && top->fold < UINT16_MAX)
            top->fold++;
        return true;
    }
    /* A server loop that never returns, now at its next request: the call before will not end. */
    if (ev->caller == top->caller)
        pop(c, p, ev->ts_ns, HOW_EXPIRED);
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

    if (r->state != REQ_OPEN || r->n_calls < r->drain_at || nest_resolve(c, req))
        return;
    if (c->now_ns > c->lim.grace_ns)
        settle_drain(c, req, c->now_ns - c->lim.grace_ns);
    if (r->n_calls > c->lim.request_calls / 2)
        settle_drain(c, req, c->now_ns);
}

static void push(struct core *c, const struct event *ev, struct proc *p, const struct target *to)
{
    static const uint8_t kind[] = {CALL_GHOST, CALL_MEMBER, CALL_OWN, CALL_LATE};
    uint32_t at = calls_push(&c->calls, p);
    struct call *f = &c->calls.call[at];
    bool lean = c->tiers.returns == RETURNS_LEAN;

    f->start_ns = ev->ts_ns;
    f->tier = (uint8_t)ev->tier;
    f->node = ev->node;
    f->kind = kind[to->kind];
    f->caller = lean ? ev->caller : ev->fn ? ev->fn : c->tiers.tier[ev->tier].fn;
    if (to->kind == TO_NOBODY) {
        c->n.unattributed++;
        return;
    }
    c->n.open++;
    if (to->kind == TO_REQUEST) {
        append(c, to->req, at);
        if (to->starts)
            c->requests.req[to->req].entry = at;
        drain_full(c, to->req);
        return;
    }
    f->weight = ev->weight;
    f->self_ns = to->end_ns;
    f->ident = settle_ident(c, to->ident);
}

static void place(struct core *c, const struct event *ev, struct proc *p, const struct target *to)
{
    if (p && p->depth > 0 && folded(c, ev, p, to))
        return;
    /* A call of nobody's is kept on the stack for what unwinds through it, while there is plenty of
     * room. */
    if (to->kind == TO_NOBODY && !p && c->calls.by_pid.used >= c->calls.proc_cap / 2) {
        c->n.unattributed++;
    } else {
        uint64_t pid = calls_key(ev->pid, ev->node);
        struct proc *room = calls_room(&c->calls, p, pid);
        if (room) {
            push(c, ev, room, to);
            return;
        }
        c->odd.pids_full += to->kind != TO_NOBODY;
        c->n.unattributed++;
        if (to->starts)
            requests_move(&c->requests, to->req, REQ_DOOMED);
    }
    if (p)
        calls_trim(&c->calls, p);
}

static void on_call(struct core *c, const struct event *ev)
{
    struct tier *t = ev->tier < c->tiers.n ? &c->tiers.tier[ev->tier] : NULL;
    struct target to;

    c->n.received++;
    if (!t || !t->active) {
        c->n.unattributed++;
        return;
    }
    if (!t->fn)
        t->fn = ev->fn;
    struct proc *p = calls_proc(&c->calls, calls_key(ev->pid, ev->node));
    if (c->tiers.entry == TIER_NONE)
        to = (struct target){.kind = TO_ITSELF, .req = REQ_NIL, .ident = ev->ident};
    else if (ev->kind == EVENT_ENTRY)
        to = entry_target(c, ev, p);
    else
        to = call_target(c, ev, p);
    place(c, ev, p, &to);
}

/* ---- what a return ends ---- */

static void pop_through(struct core *c, struct proc *p, uint32_t at, uint64_t ts, enum how how)
{
    uint32_t popped;
    do {
        popped = p->top;
        pop(c, p, ts, how);
    } while (popped != at);
}

static void pop_run(struct core *c, struct proc *p, uint32_t caller, uint64_t ts, enum how how)
{
    while (p->depth > 0 && c->calls.call[p->top].caller == caller)
        pop(c, p, ts, how);
}

static void on_return_to(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, calls_key(ev->pid, ev->node));

    if (!p) {
        c->odd.orphan_returns++;
        return;
    }
    uint32_t top = p->top, above = CALL_NIL, at = top;
    if (c->calls.call[top].caller == ev->fn) {
        pop_run(c, p, ev->fn, ev->ts_ns, HOW_RETURNED);
        calls_trim(&c->calls, p);
        return;
    }
    for (; at != CALL_NIL; above = at, at = c->calls.call[at].below) {
        struct call *f = &c->calls.call[at];
        if (f->caller == ev->fn) { /* an exception unwound to whoever called this one */
            pop_through(c, p, at, ev->ts_ns, HOW_ERROR);
            pop_run(c, p, ev->fn, ev->ts_ns, HOW_ERROR);
            break;
        }
        if (ev->fn && c->tiers.tier[f->tier].fn == ev->fn) {
            if (above != CALL_NIL) /* ... or into this one, which caught it */
                pop_through(c, p, above, ev->ts_ns, HOW_ERROR);
            else if (f->fold > 0)
                f->fold--;
            else
                c->odd.orphan_returns++;
            break;
        }
    }
    if (at == CALL_NIL)
        c->odd.orphan_returns++;
    calls_trim(&c->calls, p);
}

static void on_return(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, calls_key(ev->pid, ev->node));
    uint32_t at = p ? p->top : CALL_NIL;

    while (at != CALL_NIL && c->calls.call[at].caller != ev->fn)
        at = c->calls.call[at].below;
    if (at == CALL_NIL) {
        c->odd.orphan_returns++;
        return;
    }
    while (p->top != at) /* their own returns have been lost */
        pop(c, p, ev->ts_ns, HOW_EXPIRED);
    pop(c, p, ev->ts_ns, ev->kind == EVENT_EXCEPTION ? HOW_ERROR : HOW_RETURNED);
    calls_trim(&c->calls, p);
}

static void on_exit_of(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, calls_key(ev->pid, ev->node));

    if (!p)
        return;
    while (p->depth > 0)
        pop(c, p, ev->ts_ns, HOW_ERROR);
    calls_trim(&c->calls, p);
}

static void on_args(struct core *c, const struct event *ev)
{
    struct proc *p = calls_proc(&c->calls, calls_key(ev->pid, ev->node));

    if (p && ev->ident)
        calls_set_args(&c->calls, p->top, ev->ident);
}

void follow_event(struct core *c, const struct event *ev)
{
    if (ev->ts_ns > c->now_ns) {
        c->now_ns = ev->ts_ns;
        if (c->now_ns >= c->next_due_ns)
            settle_due(c);
    }
    switch (ev->kind) {
    case EVENT_ENTRY:
    case EVENT_CALL:
        on_call(c, ev);
        break;
    case EVENT_RETURN_TO:
        on_return_to(c, ev);
        break;
    case EVENT_RETURN:
    case EVENT_EXCEPTION:
        on_return(c, ev);
        break;
    case EVENT_EXIT:
        on_exit_of(c, ev);
        break;
    case EVENT_FLUSH:
        settle_flush(c);
        break;
    case EVENT_ARGS:
        on_args(c, ev);
        break;
    default:
        c->odd.bad_events++;
        break;
    }
    if (c->requests.in_state[REQ_DOOMED])
        settle_doomed(c);
}
