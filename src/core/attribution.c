#include "attribution.h"
#include "finalize.h"
#include "request_merge.h"
#include "state.h"

enum { NESTED_DEPTH = 16 }; /* forged labels can form a cycle */

static const struct attribution NOBODY = {.kind = TO_NOBODY, .req = REQ_NIL};

/* ---- the request of a call ---- */

/* Returns req, or, if req has ended and is nested in a request that is still open, that request. */
static uint32_t going_on(struct core *c, uint32_t req, uint64_t ts)
{
    const struct closed_label *closed;

    for (int depth = 0; req != REQ_NIL && depth < NESTED_DEPTH; depth++) {
        const struct request *r = &c->requests.req[req];
        if (request_joinable(r, ts))
            return req;
        req = r->waits ? requests_find(&c->requests, r->prev, &closed) : REQ_NIL;
    }
    return REQ_NIL;
}

/* The request that the process is in, by its open calls. */
static uint32_t inside(struct core *c, const struct proc *p, uint64_t ts, bool orphans)
{
    for (uint32_t at = p ? p->top : CALL_NIL; at != CALL_NIL; at = c->calls.call[at].below) {
        const struct call *f = &c->calls.call[at];
        uint32_t req = f->kind == CALL_MEMBER ? going_on(c, f->req, ts) : REQ_NIL;
        if (req != REQ_NIL && (orphans || c->requests.req[req].state != REQ_ORPHAN))
            return req;
    }
    return REQ_NIL;
}

static void name_request(struct request *r, uint32_t ident)
{
    if (r->ident == 0)
        r->ident = ident;
}

static struct attribution to_request(struct core *c, uint32_t req, uint32_t ident)
{
    name_request(&c->requests.req[req], ident);
    return (struct attribution){.kind = TO_REQUEST, .req = req};
}

/* Its calls stand for as many as it did, whatever is sampled by now. */
static struct attribution to_closed(const struct closed_label *l, uint32_t req,
                                    const struct event *ev)
{
    return (struct attribution){.kind = TO_CLOSED,
                                .req = req,
                                .end_ns = l->end_ns,
                                .ident = l->ident ? l->ident : ev->ident,
                                .weight = l->weight};
}

/* A request that ended so long ago that only its ticket shows it. */
static struct attribution to_forgotten(const struct event *ev)
{
    struct closed_label l = {.end_ns = ev->label | ATTRIBUTION_NO_TIME, .weight = ev->weight};

    return to_closed(&l, REQ_NIL, ev);
}

/* The first call of a label whose entry has not arrived yet. */
static struct attribution to_orphan(struct core *c, const struct event *ev)
{
    uint32_t req = requests_new(&c->requests, REQ_ORPHAN, ev->label);

    if (req == REQ_NIL) {
        c->account.anomalies.requests_full++;
        return NOBODY;
    }
    struct request *r = &c->requests.req[req];
    r->start_ns = ev->ts_ns;
    r->drain_at = UINT32_MAX;
    r->due_ns = after(c->complete_ns, c->set.limits.grace_ns);
    finalize_due_at(&c->finalizer, r->due_ns);
    return to_request(c, req, ev->ident);
}

/* A label that replaces the label of the process, inside its own request. */
static struct attribution relabelled(struct core *c, const struct event *ev, uint32_t req,
                                     uint32_t labelled)
{
    if (labelled != REQ_NIL && labelled != req && c->requests.req[labelled].state == REQ_ORPHAN)
        request_merge_into(c, req, labelled);
    else if (labelled != req && !requests_alias(&c->requests, req, ev->label))
        c->account.anomalies.requests_full++;
    requests_trim_aliases(&c->requests, req);
    return to_request(c, req, ev->ident);
}

static uint32_t epoch(uint64_t label)
{
    return (uint32_t)((label & ~EVENT_LABEL_DETAIL) >> 32);
}

/* The request of the process if another kprof-top (its labels have another epoch) has set its own
 * label on it: from here on that label leads to the request as well. REQ_NIL: no such request. */
static uint32_t taken_over(struct core *c, const struct event *ev, const struct proc *p)
{
    uint32_t req = inside(c, p, ev->ts_ns, false);
    const struct request *r = req == REQ_NIL ? NULL : &c->requests.req[req];

    if (!r || r->entry == CALL_NIL || c->calls.call[r->entry].pid != p->pid)
        return REQ_NIL;
    return ((ev->label | r->label) >> 63) || epoch(ev->label) == epoch(r->label) ? REQ_NIL : req;
}

struct attribution attribution_of_call(struct core *c, const struct event *ev, const struct proc *p)
{
    const struct closed_label *closed;
    uint32_t req;

    if (!ev->label) {
        req = inside(c, p, ev->ts_ns, true);
        return req == REQ_NIL ? NOBODY : to_request(c, req, ev->ident);
    }
    req = requests_find(&c->requests, ev->label, &closed);
    if (!closed && (req == REQ_NIL || c->requests.req[req].state == REQ_ORPHAN)) {
        uint32_t own = taken_over(c, ev, p);
        if (own != REQ_NIL)
            return relabelled(c, ev, own, req);
    }
    if (req == REQ_NIL) {
        if (closed)
            return closed->weight ? to_closed(closed, REQ_NIL, ev) : NOBODY;
        return requests_forgot(&c->requests, ev->label) ? to_forgotten(ev) : to_orphan(c, ev);
    }
    const struct request *r = &c->requests.req[req];
    if (r->state == REQ_CLOSING && ev->ts_ns > r->end_ns)
        /* A late call, unless the request is nested in an open request. That is known when it is
         * finalized. */
        return r->waits ? to_request(c, req, ev->ident)
                        : to_closed(&(struct closed_label){.end_ns = r->end_ns,
                                                           .ident = r->ident,
                                                           .weight = r->weight},
                                    req, ev);
    if (!request_joinable(r, ev->ts_ns))
        return NOBODY; /* before the entry of the request */
    if (r->state == REQ_ORPHAN && r->n_calls >= c->set.limits.request_calls)
        return NOBODY;
    return to_request(c, req, ev->ident);
}

/* ---- entries ---- */

/* `outer` is the label of the request that this one may be nested in; 0: none. */
static struct attribution new_request(struct core *c, const struct event *ev, uint32_t req,
                                      uint64_t outer)
{
    if (req == REQ_NIL)
        req = requests_new(&c->requests, REQ_OPEN, ev->label);
    else
        requests_move(&c->requests, req, REQ_OPEN); /* its calls arrived first */
    if (req == REQ_NIL) {
        c->account.anomalies.requests_full++;
        requests_remember(&c->requests,
                          (struct closed_label){.label = ev->label, .end_ns = ev->ts_ns});
        return NOBODY;
    }
    account_request_started(&c->account);
    struct request *r = &c->requests.req[req];
    r->start_ns = r->self_time_until_ns = ev->ts_ns;
    r->weight = ev->weight ? ev->weight : 1;
    r->drain_at = c->set.limits.request_calls;
    finalize_due_at(&c->finalizer, after(ev->ts_ns, c->set.limits.expire_ns));
    if (ev->ident)
        r->ident = ev->ident;
    request_merge_drop_early(c, req);
    if (outer && outer != ev->label)
        requests_wait(&c->requests, req, outer);
    return (struct attribution){.kind = TO_REQUEST, .req = req, .starts = true};
}

/* The label by which an entry may be nested in a request that began in another process; 0: none.
 * Whether it is nested is known when both have ended: until then events of either may be in
 * transit.
 * */
static uint64_t outer_label(struct core *c, const struct event *ev, uint32_t around)
{
    const struct closed_label *closed;

    if (around != REQ_NIL)
        return c->requests.req[around].label;
    if (!ev->prev)
        return 0;
    uint32_t req = requests_find(&c->requests, ev->prev, &closed);
    const struct request *r = req == REQ_NIL ? NULL : &c->requests.req[req];
    return closed || (r && !r->waits && !request_joinable(r, ev->ts_ns)) ? 0 : ev->prev;
}

bool attribution_repeats(const struct core *c, const struct event *ev, const struct call *top)
{
    bool by_itself = ev->caller && ev->caller == c->tiers.tier[ev->tier].fn;

    return c->tiers.returns == RETURNS_LEAN && top->tier == ev->tier &&
           (by_itself || ev->caller == top->caller);
}

/* True: it is certain at once that the entry is nested. The process is inside a request that it has
 * entered itself, and that is not nested. */
static bool surely_nested(const struct core *c, const struct event *ev, const struct proc *p,
                          uint32_t around)
{
    const struct request *r = &c->requests.req[around];

    if (r->label == 0)
        return true;
    return r->entry != CALL_NIL && c->calls.call[r->entry].pid == p->pid &&
           (!r->waits || attribution_repeats(c, ev, &c->calls.call[p->top]));
}

/* The label of the request of the innermost call of the process, if the entry of that request has
 * not arrived: it began in another process, and may be nested itself. 0: none. */
static uint64_t unknown_around(struct core *c, const struct event *ev, const struct proc *p)
{
    uint32_t req = inside(c, p, ev->ts_ns, true);
    const struct request *r = req == REQ_NIL ? NULL : &c->requests.req[req];

    return r && r->state == REQ_ORPHAN && r->label >> 32 == ev->label >> 32 ? r->label : 0;
}

struct attribution attribution_of_entry(struct core *c, const struct event *ev,
                                        const struct proc *p)
{
    const struct closed_label *closed;
    uint32_t labelled = requests_find(&c->requests, ev->label, &closed);
    uint32_t around = inside(c, p, ev->ts_ns, false);
    uint64_t unknown = around == REQ_NIL ? 0 : unknown_around(c, ev, p);

    if (around != REQ_NIL && !unknown && surely_nested(c, ev, p, around))
        return relabelled(c, ev, around, labelled);
    /* Two entries with one label: invalid input, which must not cause a fault. */
    if (labelled != REQ_NIL && c->requests.req[labelled].state == REQ_OPEN)
        return relabelled(c, ev, labelled, labelled);
    uint64_t outer = outer_label(c, ev, around);
    if (labelled != REQ_NIL && c->requests.req[labelled].state == REQ_CLOSING) {
        finalize_request(c, labelled);
        labelled = REQ_NIL;
    }
    if (labelled != REQ_NIL && c->requests.req[labelled].state == REQ_EXPIRING)
        labelled =
            REQ_NIL; /* it is about to be removed, and may be in the lists of waiting requests */
    struct attribution a = new_request(c, ev, labelled, unknown ? unknown : outer);
    if (unknown && a.starts)
        c->requests.req[a.req].prev_else = outer;
    return a;
}
