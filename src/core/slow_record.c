#include "slow_record.h"
#include "state.h"

#include <string.h>

static void drop_trace(struct core *c, struct request *r)
{
    if (r->trace)
        slow_store_drop(&c->slow, r->trace - 1);
    r->trace = 0;
}

/* ---- the list of slow requests ---- */

/* wait: of calls_wait */
static uint32_t mailbox_us(uint64_t wait)
{
    uint64_t us = wait ? (wait - 1) / 1000 : 0;
    return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

/* The calls of a request that has ended. Most calls of a long request were finalized before: they
 * are in the store. */
static void add_calls(const struct core *c, struct slow_entry *e, const struct request *r)
{
    const struct slow_trace_request *whole =
        r->drained && e->trace ? slow_store_request(&c->slow, 0) : NULL;

    e->request_ns = r->end_ns - r->start_ns;
    for (uint32_t i = 0; whole && i < whole->n; i++) {
        const struct slow_trace_call *m = &whole->call[i];
        if (m->end_ns)
            slow_entry_add(
                e, &(struct slow_entry_call){.start_ns = m->start_ns - r->start_ns,
                                             .duration_ns = m->end_ns - m->start_ns,
                                             .self_ns = m->flags & SLOW_TRACE_LATE ? 0 : m->self_ns,
                                             .pid = m->pid,
                                             .tier = m->tier,
                                             .mailbox_us = m->mailbox_us,
                                             .mailbox_known = (m->flags & SLOW_TRACE_MAILBOX) != 0,
                                             .error = (m->flags & SLOW_TRACE_ERROR) != 0});
    }
    for (uint32_t i = r->first; !whole && i != CALL_NIL; i = c->calls.call[i].next) {
        const struct call *m = &c->calls.call[i];
        uint64_t wait = calls_wait(&c->calls, i);
        if (m->kind == CALL_MEMBER && !(m->flags & CALL_ON_STACK))
            slow_entry_add(e, &(struct slow_entry_call){.start_ns = m->start_ns - r->start_ns,
                                                        .mailbox_us = mailbox_us(wait),
                                                        .mailbox_known = wait != 0,
                                                        .duration_ns = m->end_ns - m->start_ns,
                                                        .self_ns = m->child_ns, /* its share */
                                                        .pid = m->pid,
                                                        .tier = m->tier,
                                                        .error = (m->flags & CALL_ERROR) != 0});
    }
}

static struct slow_entry *entry_of(struct core *c, const struct request *r)
{
    return slow_store_entry_of(&c->slow, r->slow_seq, r->label);
}

/* The line of a request, or a new one. A new line of a closing request counts as ended:
 * slow_record_complete follows before the next event. */
static struct slow_entry *entry_for(struct core *c, struct request *r)
{
    struct slow_entry *e = entry_of(c, r);

    if (e && e->done && r->state == REQ_OPEN)
        e = NULL; /* the line was ended to make room, and --slow-log may have written it */
    if (e || !(e = slow_store_entry_new(&c->slow, r->state == REQ_OPEN)))
        return e;
    e->request = r->label;
    r->slow_seq = e->seq;
    return e;
}

void slow_record_call(struct core *c, uint32_t at, struct request *r, uint16_t ident)
{
    const struct call *f = &c->calls.call[at];
    struct slow_entry *e = r ? entry_for(c, r) : slow_store_entry_new(&c->slow, false);
    struct slow_entry_slow slow = {.end_ns = f->end_ns,
                                   .duration_ns = f->end_ns - f->start_ns,
                                   .pid = f->pid,
                                   .calls = 1,
                                   .tier = f->tier,
                                   .error = (f->flags & CALL_ERROR) != 0,
                                   .exit = (f->flags & CALL_EXIT) != 0};

    if (!e)
        return;
    if (c->calls.args && c->set.text_ring)
        text_ring_get(c->set.text_ring, c->calls.args[at], slow.args, sizeof slow.args);
    e->ident = ident;
    slow_entry_note(e, &slow);
}

void slow_record_complete(struct core *c, const struct request *r, uint16_t ident, uint64_t trace)
{
    struct slow_entry *e = entry_of(c, r);

    if (!e)
        return;
    e->ident = ident;
    e->trace = trace;
    e->end_ns = r->end_ns > e->end_ns ? r->end_ns : e->end_ns;
    add_calls(c, e, r);
    uint64_t done = e->done;
    slow_store_entry_end(&c->slow, e);
    if (trace)
        slow_store_closed_done(&c->slow, trace, done ? done : c->slow.log.done);
}

void slow_record_merged(struct core *c, uint32_t into, uint32_t from)
{
    struct request *r = &c->requests.req[into], *f = &c->requests.req[from];
    struct slow_entry *of = entry_of(c, f), *e = entry_of(c, r);

    drop_trace(c, f);
    if (of && !of->done && e && !e->done) {
        slow_entry_absorb(e, of);
        slow_store_entry_drop(&c->slow, of);
    } else if (of && !of->done) {
        of->request = r->label;
        r->slow_seq = of->seq;
    }
    f->slow_seq = 0;
}

/* ---- requests ---- */

static struct slow_trace_call of(const struct core *c, const struct call *f)
{
    uint64_t wait = calls_wait(&c->calls, (uint32_t)(f - c->calls.call));
    uint8_t flags = (uint8_t)((f->flags & CALL_ERROR ? SLOW_TRACE_ERROR : 0) |
                              (f->flags & CALL_DETAIL ? SLOW_TRACE_DETAIL : 0) |
                              (wait ? SLOW_TRACE_MAILBOX : 0));

    return (struct slow_trace_call){.start_ns = f->start_ns,
                                    .end_ns = f->end_ns,
                                    .self_ns = f->self_ns,
                                    .pid = f->pid,
                                    .tier = f->tier,
                                    .mailbox_us = mailbox_us(wait),
                                    .flags = flags};
}

static bool is_slow(const struct core *c, const struct request *r)
{
    const struct slow_store *s = &c->slow;

    if (!s->threshold_ns)
        return false;
    if (r->slow_seq || slow_store_is_slow(s, r->end_ns - r->start_ns))
        return true;
    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next) {
        const struct call *f = &c->calls.call[at];
        if (f->kind == CALL_MEMBER && slow_store_is_slow(s, f->end_ns - f->start_ns))
            return true;
    }
    return false;
}

static bool begun(struct core *c, struct request *r)
{
    if (!r->trace)
        r->trace = (uint8_t)(slow_store_begin(&c->slow, r->label, r->start_ns) + 1);
    return r->trace != 0;
}

static void add(struct core *c, struct request *r, const struct slow_trace_call *call)
{
    if (begun(c, r) && slow_store_add(&c->slow, r->trace - 1, call))
        return;
    r->omitted++;
    if (!(call->flags & SLOW_TRACE_LATE))
        r->omitted_self_ns += call->self_ns;
}

void slow_record_drained(struct core *c, uint32_t req, const struct call *f)
{
    struct request *r = &c->requests.req[req];
    struct slow_trace_call k = of(c, f);

    if (c->slow.threshold_ns && r->state == REQ_OPEN)
        add(c, r, &k);
}

/* A call in the list of a closing request, in its stored form. False: it is not stored. */
static bool member(const struct core *c, const struct request *r, const struct call *f,
                   struct slow_trace_call *k)
{
    *k = of(c, f);
    if (f->start_ns > r->end_ns)
        k->flags |= SLOW_TRACE_LATE;
    if (f->kind == CALL_MEMBER) {
        if (!(k->flags & SLOW_TRACE_LATE))
            k->self_ns = f->child_ns; /* its share */
        return true;
    }
    k->flags |= SLOW_TRACE_RUNNING;
    k->end_ns = 0;
    if (f->kind == CALL_LATE)
        k->self_ns = 0;
    return f->kind == CALL_ASYNC || f->kind == CALL_LATE;
}

uint64_t slow_record_finalized(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];
    struct slow_trace_call k, entry = {.start_ns = r->start_ns, .end_ns = r->end_ns};
    bool slow = is_slow(c, r);

    if (!slow || !begun(c, r)) {
        drop_trace(c, r);
        return 0;
    }
    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next) {
        if (!member(c, r, &c->calls.call[at], &k))
            continue;
        if (at == r->entry)
            entry = k;
        else
            add(c, r, &k);
    }
    struct slow_trace_request *to = c->slow.building[r->trace - 1];
    const char *ident = r->ident ? intern_str(c->set.names, r->ident) : "undefined";
    size_t n = strnlen(ident, sizeof to->ident - 1);
    to->end_ns = r->end_ns;
    to->error = r->error;
    to->omitted = r->omitted;
    to->omitted_self_ns = r->omitted_self_ns;
    memcpy(to->ident, ident, n);
    to->ident[n] = 0;
    to->call[0] = entry;
    detail_trace(c, to);
    uint64_t id = slow_store_close(&c->slow, r->trace - 1, &entry);
    r->trace = 0;
    return id;
}

void slow_record_expired(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];
    struct slow_entry *e = entry_of(c, r);

    drop_trace(c, r);
    if (e)
        slow_store_entry_end(&c->slow, e);
}

void slow_record_alone(struct core *c, const struct call *f)
{
    struct slow_trace_call k = of(c, f);

    if (f->kind == CALL_ASYNC && c->slow.running.n) {
        slow_store_ended(&c->slow, &k);
    } else if (f->kind == CALL_LATE && c->slow.threshold_ns) {
        uint64_t all = f->end_ns - f->start_ns;
        k.flags |= SLOW_TRACE_LATE;
        k.self_ns = all > f->child_ns ? all - f->child_ns : 0;
        slow_store_late(&c->slow, f->self_ns, &k);
    }
}
