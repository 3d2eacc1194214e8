/* What has ended becomes rows; what will never end is counted and let go. */
#include "state.h"

enum { EARLY_NS = 2000000000, DRAIN_EVERY_NS = 1000000000, SCANS_PER_EXPIRE = 4 };

/* ---- one call ---- */

static uint64_t duration(const struct call *f)
{
    return f->end_ns - f->start_ns;
}

/* The calls of a request that has ended. Of a long one most have been settled before: they are
 * where it is kept. */
static void add_calls(const struct core *c, struct slow_call_entry *e, const struct request *r)
{
    const struct slow_trace_request *whole =
        r->drained && e->trace ? slow_trace_newest(&c->slow_traces, 0) : NULL;

    e->request_ns = r->end_ns - r->start_ns;
    for (uint32_t i = 0; whole && i < whole->n; i++) {
        const struct slow_trace_call *m = &whole->call[i];
        if (m->end_ns)
            slow_call_add_call(
                e, &(struct slow_call_tier){.start_ns = m->start_ns - r->start_ns,
                                            .duration_ns = m->end_ns - m->start_ns,
                                            .self_ns = m->self_ns,
                                            .pid = m->pid,
                                            .tier = m->tier,
                                            .error = (m->flags & SLOW_TRACE_ERROR) != 0});
    }
    for (uint32_t i = r->first; !whole && i != CALL_NIL; i = c->calls.call[i].next) {
        const struct call *m = &c->calls.call[i];
        if (m->kind == CALL_MEMBER && !(m->flags & CALL_ON_STACK))
            slow_call_add_call(e, &(struct slow_call_tier){.start_ns = m->start_ns - r->start_ns,
                                                           .duration_ns = duration(m),
                                                           .self_ns = m->self_ns,
                                                           .pid = m->pid,
                                                           .tier = m->tier,
                                                           .error = (m->flags & CALL_ERROR) != 0});
    }
}

static void log_slow(struct core *c, uint32_t at, const struct request *r, uint16_t ident,
                     uint64_t trace)
{
    const struct call *f = &c->calls.call[at];
    struct slow_call_entry *e = slow_call_new(&c->slow_calls);

    if (!e)
        return;
    e->end_ns = f->end_ns;
    e->pid = f->pid;
    e->duration_ns = duration(f);
    if (c->calls.args && c->text_ring)
        text_ring_get(c->text_ring, c->calls.args[at], e->args, sizeof e->args);
    e->ident = ident;
    e->tier = f->tier;
    e->error = (f->flags & CALL_ERROR) != 0;
    e->exit = (f->flags & CALL_EXIT) != 0;
    e->trace = trace;
    if (!r)
        return;
    e->request = r->label;
    if (r->state == REQ_CLOSING)
        add_calls(c, e, r);
}

/* Calls of it that were logged while it was open get the rest now. */
static void complete_slow(struct core *c, const struct request *r, uint64_t trace)
{
    struct slow_call_entry whole = {.request = r->label, .trace = trace};

    add_calls(c, &whole, r);
    slow_call_request_closed(&c->slow_calls, &whole);
}

/* Rows of a former rule's identity make room for one of the rule in force. */
static void make_room(struct core *c, uint32_t name)
{
    uint16_t at = idents_recycle(&c->idents, name);

    if (!at)
        return;
    windows_fold_ident(&c->windows, at, IDENT_OTHER);
    for (uint32_t i = 0; i < c->calls.high; i++)
        if (c->calls.call[i].kind != CALL_FREE && c->calls.call[i].req == CALL_NIL &&
            c->calls.call[i].ident == at)
            c->calls.call[i].ident = IDENT_OTHER;
    struct slow_call_entry *e;
    for (uint32_t i = 0; (e = slow_call_newest(&c->slow_calls, i)); i++)
        if (e->ident == at)
            e->ident = IDENT_OTHER;
}

uint16_t finalize_ident(struct core *c, uint32_t name)
{
    if (c->idents.n_stale && c->idents.n == c->idents.cap)
        make_room(c, name);
    return idents_of(&c->idents, name);
}

/* Into its row, once. */
static void aggregate(struct core *c, const struct call *f, uint16_t ident, const struct tally *t)
{
    c->n.aggregated++;
    c->n.open--;
    windows_add(&c->windows, f->tier, ident, duration(f), t);
}

/* A call without a request, off its stack. */
static void finalize_alone(struct core *c, uint32_t at)
{
    struct call *f = &c->calls.call[at];
    uint64_t all = duration(f);
    struct tally t = {.est = f->weight ? f->weight : 1,
                      .late = f->kind == CALL_LATE,
                      .errors = (f->flags & CALL_ERROR) != 0,
                      .exits = (f->flags & CALL_EXIT) != 0,
                      .self_ns = all > f->child_ns ? all - f->child_ns : 0};

    if (f->kind == CALL_ASYNC)
        t.share_ns = f->self_ns; /* what it had of its request before that was settled */
    c->odd.late += t.late;
    slow_trace_take_alone(c, f);
    if (c->slow_calls.threshold_ns && all >= c->slow_calls.threshold_ns)
        log_slow(c, at, NULL, f->ident, 0);
    aggregate(c, f, f->ident, &t);
}

void finalize_expire_call(struct core *c, uint32_t at)
{
    struct call *f = &c->calls.call[at];

    if (f->kind == CALL_GHOST)
        return;
    c->n.expired++;
    c->n.open--;
    if (f->kind == CALL_MEMBER) {
        struct request *r = &c->requests.req[f->req];
        if (r->entry == at && r->state == REQ_OPEN)
            requests_move(&c->requests, f->req, REQ_DOOMED);
    }
    f->kind = CALL_GHOST;
}

void finalize_unattribute(struct core *c, uint32_t at)
{
    c->n.unattributed++;
    c->n.open--;
    c->calls.call[at].kind = CALL_GHOST;
}

static void close_request(struct core *c, uint32_t req, const struct call *entry)
{
    struct request *r = &c->requests.req[req];

    r->end_ns = entry->end_ns;
    r->error = (entry->flags & CALL_ERROR) != 0;
    r->exit = (entry->flags & CALL_EXIT) != 0;
    requests_move(&c->requests, req, REQ_CLOSING);
    r->due_ns = after(r->end_ns, c->lim.grace_ns);
    due_at(c, r->due_ns);
}

void finalize_popped(struct core *c, uint32_t at, uint64_t ts_ns, enum how how)
{
    struct call *f = &c->calls.call[at];

    f->end_ns = ts_ns;
    if (how == HOW_ERROR || how == HOW_EXIT)
        f->flags |= how == HOW_EXIT ? CALL_ERROR | CALL_EXIT : CALL_ERROR;
    if (how == HOW_EXPIRED)
        finalize_expire_call(c, at);
    if (f->req != CALL_NIL) {
        struct request *r = &c->requests.req[f->req];
        r->ended++;
        if (f->kind == CALL_MEMBER && r->entry == at && r->state == REQ_OPEN)
            close_request(c, f->req, f);
        return;
    }
    if (f->kind != CALL_GHOST)
        finalize_alone(c, at);
    calls_free(&c->calls, at);
}

/* ---- a request ---- */

/* Its list is at an end: what still stands on a stack goes on without it. */
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

/* Members still running: they will count as calls of this identity when they end. */
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
            f->child_ns =
                f->self_ns; /* the share: from here on self time lies outside the request */
            last = f->end_ns > last ? f->end_ns : last;
        }
    }
    return last;
}

static void finalize_member(struct core *c, uint32_t at, struct request *r, uint16_t ident,
                            uint64_t trace)
{
    struct call *f = &c->calls.call[at];
    bool late = r->state == REQ_CLOSING && f->start_ns > r->end_ns; /* came before the close did */
    struct tally t = {.est = r->weight,
                      .late = late,
                      .errors = (f->flags & CALL_ERROR) != 0,
                      .exits = (f->flags & CALL_EXIT) != 0,
                      .self_ns = f->self_ns,
                      .share_ns = r->state == REQ_CLOSING ? f->child_ns : f->self_ns};

    c->odd.late += late;
    if (c->slow_calls.threshold_ns && duration(f) >= c->slow_calls.threshold_ns) {
        log_slow(c, at, r, ident, trace);
        r->slow_open |= r->state == REQ_OPEN;
    }
    aggregate(c, f, ident, &t);
}

void finalize_request(struct core *c, uint32_t req)
{
    if (request_merge_resolve(c, req))
        return;
    request_merge_adopt(c, req);
    struct request *r = &c->requests.req[req];
    uint64_t whole = r->end_ns - r->start_ns;
    uint16_t ident = finalize_ident(c, r->ident);
    struct tally t = {.est = r->weight,
                      .errors = r->error,
                      .exits = r->exit,
                      .self_ns = whole,
                      .share_ns = whole};

    self_time_share(c, r, r->end_ns);
    uint64_t last = leave_running(c, r, ident);
    self_time_share(c, r, last);
    uint64_t trace = slow_trace_take_finalized(c, req);
    windows_add(&c->windows, ROW_TOTAL, ident, whole, &t);
    if (r->slow_open)
        complete_slow(c, r, trace);
    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next)
        if (c->calls.call[at].kind == CALL_MEMBER)
            finalize_member(c, at, r, ident, trace);
    for (uint32_t at = r->first, next; at != CALL_NIL; at = next) {
        next = c->calls.call[at].next;
        let_go(c, at, r->weight);
    }
    c->r.finished++;
    c->r.open--;
    requests_free(&c->requests, req,
                  &(struct closed_label){.end_ns = r->end_ns, .ident = r->ident});
}

void finalize_drain(struct core *c, uint32_t req, uint64_t until_ns)
{
    struct request *r = &c->requests.req[req];
    uint16_t ident = finalize_ident(c, r->ident);
    uint32_t *link = &r->first, last = CALL_NIL;

    self_time_share(c, r, until_ns);
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
            slow_trace_take_drained(c, req, f);
            finalize_member(c, at, r, ident, 0);
            r->drained = true;
        }
        calls_free(&c->calls, at);
        r->n_calls--;
        r->ended--;
    }
    r->last = last;
    uint32_t twice = r->n_calls * 2;
    r->drain_at = twice > c->lim.request_calls ? twice : c->lim.request_calls;
}

static void expire(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];

    for (uint32_t at = r->first, next; at != CALL_NIL; at = next) {
        struct call *f = &c->calls.call[at];
        next = f->next;
        if (f->kind == CALL_MEMBER) {
            c->n.expired++;
            c->n.open--;
            f->kind = CALL_GHOST;
        }
        if (f->flags & CALL_ON_STACK)
            calls_unlink(&c->calls, at);
        calls_free(&c->calls, at);
    }
    slow_trace_take_expired(c, req);
    c->r.expired++;
    c->r.open--;
    requests_free(&c->requests, req, &(struct closed_label){.end_ns = c->now_ns, .dead = true});
}

static void drop_orphan(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];

    for (uint32_t at = r->first, next; at != CALL_NIL; at = next) {
        next = c->calls.call[at].next;
        if (c->calls.call[at].kind == CALL_MEMBER)
            finalize_unattribute(c, at);
        let_go(c, at, 1);
    }
    requests_free(&c->requests, req, &(struct closed_label){.end_ns = c->now_ns, .dead = true});
}

/* ---- time ---- */

void finalize_doomed(struct core *c)
{
    while (c->requests.list[REQ_DOOMED].oldest != REQ_NIL)
        expire(c, c->requests.list[REQ_DOOMED].oldest);
}

static void drain_long(struct core *c)
{
    uint32_t at = c->requests.list[REQ_OPEN].oldest;

    c->next_drain_ns = after(c->now_ns, DRAIN_EVERY_NS);
    for (uint32_t next; at != REQ_NIL; at = next) {
        const struct request *r = &c->requests.req[at];
        next = r->newer;
        if (after(r->start_ns, EARLY_NS) > c->now_ns)
            break;
        if (!request_merge_resolve(c, at) && r->ended > 0 && c->now_ns > EARLY_NS)
            finalize_drain(c, at, c->now_ns - EARLY_NS);
    }
}

/* Calls without a request whose end never came. */
static void scan_alone(struct core *c)
{
    c->next_scan_ns = after(c->now_ns, c->lim.expire_ns / SCANS_PER_EXPIRE + 1);
    for (uint32_t at = 0; at < c->calls.high; at++) {
        struct call *f = &c->calls.call[at];
        if (!(f->flags & CALL_ON_STACK) || f->req != CALL_NIL ||
            after(f->start_ns, c->lim.expire_ns) > c->now_ns)
            continue;
        finalize_expire_call(c, at);
        calls_unlink(&c->calls, at);
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
    c->next_due_ns = UINT64_MAX;
    while ((at = t->list[REQ_CLOSING].oldest) != REQ_NIL && t->req[at].due_ns <= c->now_ns)
        finalize_request(c, at);
    if (at != REQ_NIL)
        due_at(c, t->req[at].due_ns);
    while ((at = t->list[REQ_ORPHAN].oldest) != REQ_NIL && t->req[at].due_ns <= c->now_ns)
        drop_orphan(c, at);
    if (at != REQ_NIL)
        due_at(c, t->req[at].due_ns);
    while ((at = t->list[REQ_OPEN].oldest) != REQ_NIL &&
           after(t->req[at].start_ns, c->lim.expire_ns) <= c->now_ns)
        if (!request_merge_resolve(c, at))
            expire(c, at);
    if (at != REQ_NIL)
        due_at(c, after(t->req[at].start_ns, c->lim.expire_ns));
    if (c->now_ns >= c->next_drain_ns)
        drain_long(c);
    if (c->now_ns >= c->next_scan_ns)
        scan_alone(c);
    windows_advance(&c->windows, c->now_ns);
    due_at(c, second_end(c));
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
    finalize_doomed(c);
    for (uint32_t at = 0; at < c->calls.high; at++)
        if (c->calls.call[at].flags & CALL_ON_STACK)
            finalize_expire_call(c, at);
    calls_clear(&c->calls);
    requests_clear(t);
}
