/* Calls of slow requests on their way into `kept`. */
#include "state.h"

#include <string.h>

static struct slow_trace_call of(const struct call *f)
{
    return (struct slow_trace_call){.start_ns = f->start_ns,
                                    .end_ns = f->end_ns,
                                    .self_ns = f->self_ns,
                                    .pid = f->pid,
                                    .tier = f->tier,
                                    .flags = f->flags & CALL_ERROR ? SLOW_TRACE_ERROR : 0};
}

static bool is_slow(const struct core *c, const struct request *r)
{
    uint64_t least = c->slow_calls.threshold_ns;

    if (!least)
        return false;
    if (r->slow_open || r->end_ns - r->start_ns >= least)
        return true;
    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next) {
        const struct call *f = &c->calls.call[at];
        if (f->kind == CALL_MEMBER && f->end_ns - f->start_ns >= least)
            return true;
    }
    return false;
}

static bool begun(struct core *c, struct request *r)
{
    if (!r->trace)
        r->trace = (uint8_t)(slow_trace_begin(&c->slow_traces, r->label, r->start_ns) + 1);
    return r->trace != 0;
}

static void add(struct core *c, struct request *r, const struct slow_trace_call *call)
{
    if (begun(c, r) && slow_trace_add(&c->slow_traces, r->trace - 1, call))
        return;
    r->untold++;
    if (!(call->flags & SLOW_TRACE_LATE))
        r->untold_self_ns += call->self_ns;
}

void slow_trace_take_drained(struct core *c, uint32_t req, const struct call *f)
{
    struct request *r = &c->requests.req[req];
    struct slow_trace_call k = of(f);

    if (c->slow_calls.threshold_ns && r->state == REQ_OPEN)
        add(c, r, &k);
}

/* A call in the list of a request that is closing, as it is kept. False: it is not. */
static bool member(const struct request *r, const struct call *f, struct slow_trace_call *k)
{
    *k = of(f);
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

uint64_t slow_trace_take_finalized(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];
    struct slow_trace_call k, entry = {.start_ns = r->start_ns, .end_ns = r->end_ns};
    bool slow = is_slow(c, r);

    if (!slow || !begun(c, r)) {
        slow_trace_take_expired(c, req);
        return 0;
    }
    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next) {
        if (!member(r, &c->calls.call[at], &k))
            continue;
        if (at == r->entry)
            entry = k;
        else
            add(c, r, &k);
    }
    struct slow_trace_request *to = c->slow_traces.building[r->trace - 1];
    const char *ident = r->ident ? intern_str(c->names, r->ident) : "undefined";
    size_t n = strnlen(ident, sizeof to->ident - 1);
    to->end_ns = r->end_ns;
    to->error = r->error;
    to->untold = r->untold;
    to->untold_self_ns = r->untold_self_ns;
    memcpy(to->ident, ident, n);
    to->ident[n] = 0;
    uint64_t id = slow_trace_close(&c->slow_traces, r->trace - 1, &entry);
    r->trace = 0;
    return id;
}

void slow_trace_take_expired(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];

    if (r->trace)
        slow_trace_drop(&c->slow_traces, r->trace - 1);
    r->trace = 0;
}

void slow_trace_take_alone(struct core *c, const struct call *f)
{
    struct slow_trace_call k = of(f);

    if (f->kind == CALL_ASYNC && c->slow_traces.running) {
        slow_trace_ended(&c->slow_traces, &k);
    } else if (f->kind == CALL_LATE && c->slow_calls.threshold_ns) {
        uint64_t all = f->end_ns - f->start_ns;
        k.flags |= SLOW_TRACE_LATE;
        k.self_ns = all > f->child_ns ? all - f->child_ns : 0;
        slow_trace_late(&c->slow_traces, f->self_ns, &k);
    }
}
