#include "request_merge.h"
#include "slow_record.h"
#include "state.h"

enum { RESOLVE_DEPTH = 16 };

void request_merge_drop_early(struct core *c, uint32_t req)
{
    const struct request *r = &c->requests.req[req];

    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next)
        if (c->calls.call[at].kind == CALL_MEMBER && c->calls.call[at].start_ns < r->start_ns)
            account_unattribute(c, at);
}

void request_merge_into(struct core *c, uint32_t into, uint32_t from)
{
    struct request *r = &c->requests.req[into], *f = &c->requests.req[from];

    slow_record_merged(c, into, from);
    inside_merged(c, r->label, f->label);
    sampled_merged(&c->sampled, r->label, f->label);
    if (f->state != REQ_ORPHAN)
        account_request_merged(&c->account);
    for (uint32_t at = f->first; at != CALL_NIL; at = c->calls.call[at].next)
        c->calls.call[at].req = into;
    if (f->first != CALL_NIL) {
        if (r->last == CALL_NIL)
            r->first = f->first;
        else
            c->calls.call[r->last].next = f->first;
        r->last = f->last;
        r->n_calls += f->n_calls;
        r->ended += f->ended;
        f->first = f->last = CALL_NIL;
    }
    if (r->ident == 0)
        r->ident = f->ident;
    requests_merge(&c->requests, into, from);
    request_merge_drop_early(c, into);
}

/* A request that ends after the outer one is not nested: nobody waited for it. The next request of
 * a connection, for example, may begin before the process of the previous one ends. While the outer
 * one is open, r ends inside of it only if no event with an earlier end of the outer one can be in
 * transit. */
static bool ends_inside(const struct core *c, const struct request *outer, const struct request *r)
{
    if (r->state != REQ_CLOSING)
        return false;
    return outer->state == REQ_OPEN ? r->due_ns <= c->complete_ns : r->end_ns <= outer->end_ns;
}

/* False also if the self time of r has been computed, or if the outer request has no entry. */
static bool fits(const struct core *c, const struct request *outer, const struct request *r)
{
    return outer != r && outer->state != REQ_ORPHAN && outer->state != REQ_EXPIRING &&
           request_joinable(outer, r->start_ns) && r->self_time_until_ns == r->start_ns &&
           ends_inside(c, outer, r);
}

/* The request that r may be nested in. By now all entries of earlier times have arrived, so an
 * orphan will not get one. */
static uint32_t find_outer(struct core *c, const struct request *r)
{
    const struct closed_label *closed;
    uint32_t outer = requests_find(&c->requests, r->prev, &closed);
    bool none =
        outer == REQ_NIL ? closed && !closed->weight : c->requests.req[outer].state == REQ_ORPHAN;

    return none && r->prev_else ? requests_find(&c->requests, r->prev_else, &closed) : outer;
}

/* The outer request may have ended before this one starts, but be nested in a request that is still
 * open: it is merged first. */
static bool resolve(struct core *c, uint32_t req, unsigned depth)
{
    struct request *r = &c->requests.req[req];
    uint32_t outer;

    if (!r->waits || depth == RESOLVE_DEPTH)
        return false;
    outer = find_outer(c, r);
    if (outer != REQ_NIL && outer != req) {
        resolve(c, outer, depth + 1);
        if (r->state == REQ_ALIAS) /* forged labels can form a cycle */
            return true;
        outer = find_outer(c, r);
    }
    if (outer == REQ_NIL || !fits(c, &c->requests.req[outer], r))
        return false;
    request_merge_into(c, outer, req);
    requests_trim_aliases(&c->requests, outer);
    return true;
}

bool request_merge_resolve(struct core *c, uint32_t req)
{
    return resolve(c, req, 0);
}

static void merge_waiting(struct core *c, uint32_t req, uint64_t label)
{
    for (uint32_t i = requests_waiting(&c->requests, label), next; i != REQ_NIL; i = next) {
        next = c->requests.req[i].waits_next;
        if (fits(c, &c->requests.req[req], &c->requests.req[i]))
            request_merge_into(c, req, i);
    }
}

/* Merged requests add their labels at the front of the list, so the walk repeats until there is
 * nothing new. */
void request_merge_waiting(struct core *c, uint32_t req)
{
    if (c->requests.by_prev.used == 0)
        return;
    merge_waiting(c, req, c->requests.req[req].label);
    uint32_t done = REQ_NIL, first;
    while ((first = c->requests.req[req].aliases) != done) {
        for (uint32_t a = first; a != done; a = c->requests.req[a].next_alias)
            merge_waiting(c, req, c->requests.req[a].label);
        done = first;
    }
    requests_trim_aliases(&c->requests, req);
}
