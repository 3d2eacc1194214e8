/* Calls of slow requests on their way into `kept`. */
#include <kprof/core/state.h>

#include <string.h>

static struct kept_call of(const struct call *f)
{
    return (struct kept_call){.start_ns = f->start_ns,
                              .end_ns = f->end_ns,
                              .self_ns = f->self_ns,
                              .pid = calls_key(f->pid, f->node), /* the target's own */
                              .tier = f->tier,
                              .flags = f->flags & CALL_ERROR ? KEPT_ERROR : 0};
}

static bool is_slow(const struct core *c, const struct request *r)
{
    uint64_t least = c->slow.threshold_ns;

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
    if (!r->kept)
        r->kept = (uint8_t)(kept_begin(&c->kept, r->label, r->start_ns) + 1);
    return r->kept != 0;
}

static void add(struct core *c, struct request *r, const struct kept_call *call)
{
    if (begun(c, r) && kept_add(&c->kept, r->kept - 1, call))
        return;
    r->unkept++;
    if (!(call->flags & KEPT_LATE))
        r->unkept_self_ns += call->self_ns;
}

void keep_drained(struct core *c, uint32_t req, const struct call *f)
{
    struct request *r = &c->requests.req[req];
    struct kept_call k = of(f);

    if (c->slow.threshold_ns && r->state == REQ_OPEN)
        add(c, r, &k);
}

/* A call in the list of a request that is closing, as it is kept. False: it is not. */
static bool member(const struct request *r, const struct call *f, struct kept_call *k)
{
    *k = of(f);
    if (f->start_ns > r->end_ns)
        k->flags |= KEPT_LATE;
    if (f->kind == CALL_MEMBER) {
        if (!(k->flags & KEPT_LATE))
            k->self_ns = f->child_ns; /* its share */
        return true;
    }
    k->flags |= KEPT_RUNNING;
    k->end_ns = 0;
    if (f->kind == CALL_LATE)
        k->self_ns = 0;
    return f->kind == CALL_ASYNC || f->kind == CALL_LATE;
}

uint64_t keep_settled(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];
    struct kept_call k, entry = {.start_ns = r->start_ns, .end_ns = r->end_ns};
    bool slow = is_slow(c, r);

    if (!slow || !begun(c, r)) {
        keep_expired(c, req);
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
    struct kept_request *to = c->kept.building[r->kept - 1];
    const char *ident = r->ident ? intern_str(c->names, r->ident) : "undefined";
    size_t n = strnlen(ident, sizeof to->ident - 1);
    to->end_ns = r->end_ns;
    to->error = r->error;
    to->unkept = r->unkept;
    to->unkept_self_ns = r->unkept_self_ns;
    memcpy(to->ident, ident, n);
    to->ident[n] = 0;
    uint64_t id = kept_close(&c->kept, r->kept - 1, &entry);
    r->kept = 0;
    return id;
}

void keep_expired(struct core *c, uint32_t req)
{
    struct request *r = &c->requests.req[req];

    if (r->kept)
        kept_drop(&c->kept, r->kept - 1);
    r->kept = 0;
}

void keep_alone(struct core *c, const struct call *f)
{
    struct kept_call k = of(f);

    if (f->kind == CALL_ASYNC && c->kept.running) {
        kept_ended(&c->kept, &k);
    } else if (f->kind == CALL_LATE && c->slow.threshold_ns) {
        uint64_t all = f->end_ns - f->start_ns;
        k.flags |= KEPT_LATE;
        k.self_ns = all > f->child_ns ? all - f->child_ns : 0;
        kept_late(&c->kept, f->self_ns, &k);
    }
}
