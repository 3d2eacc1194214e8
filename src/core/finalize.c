#include "finalize.h"
#include "request_merge.h"
#include "slow_record.h"
#include "state.h"

enum { EARLY_NS = 2000000000, DRAIN_EVERY_NS = 1000000000, SCANS_PER_EXPIRE = 4 };

/* ---- one call ---- */

static uint64_t duration(const struct call *f)
{
    return f->end_ns - f->start_ns;
}

/* Rows of a former rule's identity make room for one of the present rule. */
static void make_room(struct core *c, uint32_t name, uint64_t began_ns)
{
    uint16_t at = idents_recycle(&c->idents, name, seconds(began_ns), seconds(c->now_ns));

    if (!at)
        return;
    windows_fold_ident(&c->windows, at, IDENT_OTHER);
    part_sums_rename(&c->detail.sums, at, IDENT_OTHER);
    for (uint32_t i = 0; i < c->calls.high; i++)
        if (c->calls.call[i].kind != CALL_FREE && c->calls.call[i].req == CALL_NIL &&
            c->calls.call[i].ident == at)
            c->calls.call[i].ident = IDENT_OTHER;
    slow_store_rename(&c->slow, at, IDENT_OTHER);
    sampled_fold_ident(&c->sampled, at, IDENT_OTHER);
}

uint16_t finalize_ident(struct core *c, uint32_t name, uint64_t began_ns)
{
    if (c->idents.n_old && c->idents.n == c->idents.cap)
        make_room(c, name, began_ns);
    return idents_of(&c->idents, name, seconds(began_ns), seconds(c->now_ns));
}

/* Adds the call to its row, once. */
static void aggregate(struct core *c, uint32_t at, uint16_t ident, uint64_t weight, struct tally *t)
{
    const struct call *f = &c->calls.call[at];
    uint64_t wait = calls_wait(&c->calls, at);

    account_call_aggregated(&c->account);
    t->busy_ns = mailbox_busy_ns(c, f, weight);
    windows_add(&c->windows, f->tier, ident, duration(f), weight, t);
    if (wait)
        windows_add(&c->windows, ROW_MAILBOX + f->tier, ident, wait - 1, weight,
                    &(struct tally){.calls = 1});
}

/* A call without a request that is off its stack. */
static void finalize_alone(struct core *c, uint32_t at)
{
    struct call *f = &c->calls.call[at];
    uint64_t all = duration(f);
    struct tally t = {.late = f->kind == CALL_LATE,
                      .errors = (f->flags & CALL_ERROR) != 0,
                      .exits = (f->flags & CALL_EXIT) != 0,
                      .self_ns = all > f->child_ns ? all - f->child_ns : 0};

    if (f->kind == CALL_ASYNC)
        t.share_ns = f->self_ns; /* its self time within the request */
    c->account.anomalies.late += t.late;
    slow_record_alone(c, f);
    if (slow_store_is_slow(&c->slow, all))
        slow_record_call(c, at, NULL, f->ident);
    aggregate(c, at, f->ident, f->weight ? f->weight : 1, &t);
}

static void close_request(struct core *c, uint32_t req, const struct call *entry)
{
    struct request *r = &c->requests.req[req];

    r->end_ns = entry->end_ns;
    r->error = (entry->flags & CALL_ERROR) != 0;
    r->exit = (entry->flags & CALL_EXIT) != 0;
    requests_move(&c->requests, req, REQ_CLOSING);
    r->due_ns = after(r->end_ns, c->set.limits.grace_ns);
    finalize_due_at(&c->finalizer, r->due_ns);
}

void finalize_popped(struct core *c, uint32_t at, uint64_t ts_ns, enum call_end how)
{
    struct call *f = &c->calls.call[at];

    f->end_ns = ts_ns;
    if (how == END_ERROR || how == END_EXIT)
        f->flags |= how == END_EXIT ? CALL_ERROR | CALL_EXIT : CALL_ERROR;
    if (how == END_EXPIRED)
        account_expire(c, at);
    if (f->req != CALL_NIL) {
        struct request *r = &c->requests.req[f->req];
        r->ended++;
        if (f->kind == CALL_MEMBER && r->entry == at && r->state == REQ_OPEN)
            close_request(c, f->req, f);
        return;
    }
    if (f->kind != CALL_ACCOUNTED)
        finalize_alone(c, at);
    calls_free(&c->calls, at);
}

/* ---- a request ---- */

/* The request is finalized: calls that are still on a stack continue without a request. */
static void let_go(struct core *c, uint32_t at, uint32_t weight)
{
    struct call *f = &c->calls.call[at];

    if (f->flags & CALL_ON_STACK) {
        f->req = CALL_NIL;
        f->weight = weight;
    } else {
        calls_free(&c->calls, at);
    }
}

/* Members that are still running: they will count as calls of this identity when they end. */
static uint64_t leave_running(struct core *c, const struct request *r, uint16_t ident)
{
    uint64_t last = r->end_ns;

    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next) {
        struct call *f = &c->calls.call[at];
        if (f->kind != CALL_MEMBER)
            continue;
        if (f->flags & CALL_ON_STACK) {
            f->kind = CALL_ASYNC;
            f->ident = ident;
            if (f->start_ns > r->end_ns) {
                f->kind = CALL_LATE;
                f->self_ns = r->end_ns;
            }
        } else {
            f->child_ns = f->self_ns; /* its share: later self time is outside of the request */
            last = f->end_ns > last ? f->end_ns : last;
        }
    }
    return last;
}

static void finalize_member(struct core *c, uint32_t at, struct request *r, uint16_t ident)
{
    struct call *f = &c->calls.call[at];
    bool late = r->state == REQ_CLOSING &&
                f->start_ns > r->end_ns; /* it arrived before the request was closed */
    struct tally t = {.late = late,
                      .errors = (f->flags & CALL_ERROR) != 0,
                      .exits = (f->flags & CALL_EXIT) != 0,
                      .self_ns = f->self_ns,
                      .share_ns = r->state == REQ_CLOSING ? f->child_ns : f->self_ns};

    c->account.anomalies.late += late;
    if (slow_store_is_slow(&c->slow, duration(f)))
        slow_record_call(c, at, r, ident);
    aggregate(c, at, ident, r->weight, &t);
    detail_member(c, f, r, ident);
    sampled_ended(c, r->label, f->tier, ident, duration(f));
}

void finalize_request(struct core *c, uint32_t req)
{
    if (request_merge_resolve(c, req))
        return;
    request_merge_waiting(c, req);
    struct request *r = &c->requests.req[req];
    uint64_t whole = r->end_ns - r->start_ns;
    uint16_t ident = finalize_ident(c, r->ident, r->start_ns);
    struct tally t = {.errors = r->error, .exits = r->exit, .self_ns = whole, .share_ns = whole};

    self_time_share(c, r, r->end_ns);
    uint64_t last = leave_running(c, r, ident);
    self_time_share(c, r, last);
    detail_request(c, r);
    uint64_t trace = slow_record_finalized(c, req);
    windows_add(&c->windows, ROW_TOTAL, ident, whole, r->weight, &t);
    sampled_ended(c, r->label, ROW_TOTAL, ident, whole);
    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next)
        if (c->calls.call[at].kind == CALL_MEMBER)
            finalize_member(c, at, r, ident);
    slow_record_complete(c, r, ident, trace);
    for (uint32_t at = r->first, next; at != CALL_NIL; at = next) {
        next = c->calls.call[at].next;
        let_go(c, at, r->weight);
    }
    account_request_finished(&c->account);
    requests_free(
        &c->requests, req,
        &(struct closed_label){.end_ns = r->end_ns, .ident = r->ident, .weight = r->weight});
}

void finalize_drain(struct core *c, uint32_t req, uint64_t until_ns)
{
    struct request *r = &c->requests.req[req];
    uint16_t ident = finalize_ident(c, r->ident, r->start_ns);
    uint32_t *link = &r->first, last = CALL_NIL;

    self_time_share(c, r, until_ns);
    detail_request(c, r);
    while (*link != CALL_NIL) {
        uint32_t at = *link;
        struct call *f = &c->calls.call[at];
        if (f->flags & CALL_ON_STACK || f->end_ns > until_ns) {
            last = at;
            link = &f->next;
            continue;
        }
        *link = f->next;
        if (f->kind == CALL_MEMBER) {
            slow_record_drained(c, req, f);
            finalize_member(c, at, r, ident);
            r->drained = true;
        }
        calls_free(&c->calls, at);
        r->n_calls--;
        r->ended--;
    }
    r->last = last;
    uint32_t twice = r->n_calls * 2;
    r->drain_at = twice > c->set.limits.request_calls ? twice : c->set.limits.request_calls;
}

/* Takes a call whose end is not known off its stack. */
static void unlink_call(struct core *c, uint32_t at)
{
    uint64_t pid = c->calls.call[at].pid;

    calls_unlink(&c->calls, at);
    struct proc *p = calls_proc(&c->calls, pid);
    if (p)
        p->unknown_ns = c->now_ns;
    inside_changed(c, pid, p, c->now_ns, false);
}

static void expire(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];

    for (uint32_t at = r->first, next; at != CALL_NIL; at = next) {
        struct call *f = &c->calls.call[at];
        next = f->next;
        if (f->kind == CALL_MEMBER) {
            account_call_expired(&c->account);
            f->kind = CALL_ACCOUNTED;
        }
        if (f->flags & CALL_ON_STACK)
            unlink_call(c, at);
        calls_free(&c->calls, at);
    }
    /* Calls that were drained have added to the shares of their tiers, so the time of the request
     * must be among that of all requests. */
    if (r->drained)
        windows_add_share(&c->windows, ROW_TOTAL, finalize_ident(c, r->ident, r->start_ns),
                          (c->now_ns - r->start_ns) * r->weight);
    slow_record_expired(c, req);
    account_request_expired(&c->account);
    requests_free(&c->requests, req, &(struct closed_label){.end_ns = c->now_ns});
}

static void drop_orphan(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];

    for (uint32_t at = r->first, next; at != CALL_NIL; at = next) {
        next = c->calls.call[at].next;
        if (c->calls.call[at].kind == CALL_MEMBER)
            account_unattribute(c, at);
        let_go(c, at, 1);
    }
    requests_free(&c->requests, req, &(struct closed_label){.end_ns = c->now_ns});
}

/* ---- time ---- */

void finalize_expiring(struct core *c)
{
    while (c->requests.list[REQ_EXPIRING].oldest != REQ_NIL)
        expire(c, c->requests.list[REQ_EXPIRING].oldest);
}

static void drain_long(struct core *c)
{
    uint32_t at = c->requests.list[REQ_OPEN].oldest;

    c->finalizer.next_drain_ns = after(c->now_ns, DRAIN_EVERY_NS);
    for (uint32_t next; at != REQ_NIL; at = next) {
        const struct request *r = &c->requests.req[at];
        next = r->newer;
        if (after(r->start_ns, EARLY_NS) > c->now_ns)
            break;
        if (!request_merge_resolve(c, at) && r->ended > 0 && c->now_ns > EARLY_NS)
            finalize_drain(c, at, c->now_ns - EARLY_NS);
    }
}

/* Calls without a request whose end did not arrive. */
static void scan_alone(struct core *c)
{
    c->finalizer.next_scan_ns = after(c->now_ns, c->set.limits.expire_ns / SCANS_PER_EXPIRE + 1);
    for (uint32_t at = 0; at < c->calls.high; at++) {
        struct call *f = &c->calls.call[at];
        if (!(f->flags & CALL_ON_STACK) || f->req != CALL_NIL ||
            after(f->start_ns, c->set.limits.expire_ns) > c->now_ns)
            continue;
        account_expire(c, at);
        unlink_call(c, at);
        calls_free(&c->calls, at);
    }
}

static uint64_t second_end(const struct core *c)
{
    return after(c->windows.start_ns, (c->windows.sec + 1) * UINT64_C(1000000000));
}

void finalize_due(struct core *c)
{
    struct requests *t = &c->requests;
    uint32_t at;

    if (!c->windows.started)
        windows_advance(&c->windows, c->now_ns);
    c->finalizer.next_due_ns = UINT64_MAX;
    while ((at = t->list[REQ_CLOSING].oldest) != REQ_NIL && t->req[at].due_ns <= c->complete_ns)
        finalize_request(c, at);
    if (at != REQ_NIL)
        finalize_due_at(&c->finalizer, t->req[at].due_ns);
    while ((at = t->list[REQ_ORPHAN].oldest) != REQ_NIL && t->req[at].due_ns <= c->complete_ns)
        drop_orphan(c, at);
    if (at != REQ_NIL)
        finalize_due_at(&c->finalizer, t->req[at].due_ns);
    while ((at = t->list[REQ_OPEN].oldest) != REQ_NIL &&
           after(t->req[at].start_ns, c->set.limits.expire_ns) <= c->now_ns)
        if (!request_merge_resolve(c, at))
            expire(c, at);
    if (at != REQ_NIL)
        finalize_due_at(&c->finalizer, after(t->req[at].start_ns, c->set.limits.expire_ns));
    if (c->now_ns >= c->finalizer.next_drain_ns)
        drain_long(c);
    if (c->now_ns >= c->finalizer.next_scan_ns)
        scan_alone(c);
    windows_advance(&c->windows, c->now_ns);
    finalize_due_at(&c->finalizer, second_end(c));
}

void finalize_flush(struct core *c)
{
    struct requests *t = &c->requests;

    while (t->list[REQ_CLOSING].oldest != REQ_NIL)
        finalize_request(c, t->list[REQ_CLOSING].oldest);
    while (t->list[REQ_ORPHAN].oldest != REQ_NIL)
        drop_orphan(c, t->list[REQ_ORPHAN].oldest);
    while (t->list[REQ_OPEN].oldest != REQ_NIL)
        if (!request_merge_resolve(c, t->list[REQ_OPEN].oldest))
            expire(c, t->list[REQ_OPEN].oldest);
    finalize_expiring(c);
    for (uint32_t at = 0; at < c->calls.high; at++)
        if (c->calls.call[at].flags & CALL_ON_STACK)
            account_expire(c, at);
    calls_clear(&c->calls);
    requests_clear(t);
    mailbox_clear(&c->mailbox);
    inside_flush(&c->inside, c->now_ns);
}
