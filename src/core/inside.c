#include "inside.h"
#include "state.h"

#include <stdlib.h>

enum { MERGED_DEPTH = 16 }; /* forged labels can form a cycle */

/* The state of a process without an open call. */
static const struct inside_step OUTSIDE = {.tier = TIER_NONE};

void inside_init(struct inside *n)
{
    *n = (struct inside){0};
    map_init(&n->newest, INSIDE_STEPS);
    map_init(&n->merged, INSIDE_MERGES);
}

void inside_release(struct inside *n)
{
    free(n->step);
    free(n->merge);
    map_release(&n->newest);
    map_release(&n->merged);
    inside_init(n);
}

void inside_flush(struct inside *n, uint64_t now_ns)
{
    n->flush_ns = now_ns;
}

static void *reserve(size_t n, size_t bytes)
{
    void *p = calloc(n, bytes);
    if (!p)
        abort();
    return p;
}

void inside_on(struct inside *n, uint64_t now_ns)
{
    n->step = reserve(INSIDE_STEPS, sizeof *n->step);
    n->merge = reserve(INSIDE_MERGES, sizeof *n->merge);
    n->whole_ns = now_ns;
}

/* ---- steps ---- */

/* The state of a stack: its innermost call, and the request of the innermost that has one. */
static struct inside_step state_of(const struct core *c, const struct proc *p)
{
    struct inside_step s = OUTSIDE;

    for (uint32_t at = p && p->depth ? p->top : CALL_NIL; at != CALL_NIL;
         at = c->calls.call[at].below) {
        const struct call *f = &c->calls.call[at];
        if (s.tier == TIER_NONE) {
            s.tier = f->tier;
            s.name = f->kind == CALL_OWN && f->ident >= IDENT_FIRST ? c->idents.name[f->ident] : 0;
        }
        if (f->kind == CALL_MEMBER && f->req != CALL_NIL) {
            s.label = c->requests.req[f->req].label;
            break;
        }
    }
    return s;
}

/* The slot of the next step, after the removal of the step that it overwrites. */
static struct inside_step *next_slot(struct inside *n, uint32_t *slot)
{
    *slot = (uint32_t)(n->n % INSIDE_STEPS);
    struct inside_step *s = &n->step[*slot];
    if (n->n >= INSIDE_STEPS) {
        if (map_get(&n->newest, s->pid) == *slot)
            map_del(&n->newest, s->pid);
        n->whole_ns = s->ts_ns >= n->whole_ns ? s->ts_ns + 1 : n->whole_ns;
    }
    n->n++;
    return s;
}

void inside_changed(struct core *c, uint64_t pid, const struct proc *p, uint64_t ts_ns, bool pushed)
{
    struct inside *n = &c->inside;
    uint32_t slot;

    if (!n->step)
        return;
    struct inside_step *s = next_slot(n, &slot);
    uint32_t before = map_get(&n->newest, pid);
    uint64_t number = n->n; /* of this step; its slot is the number modulo INSIDE_STEPS */
    *s = state_of(c, p);
    s->ts_ns = ts_ns;
    s->pid = pid;
    s->begins = pushed && p && p->depth == 1;
    if (before != MAP_EMPTY)
        s->before = number - (slot + INSIDE_STEPS - before) % INSIDE_STEPS;
    map_put(&n->newest, pid, slot);
}

/* ---- merged requests ---- */

void inside_merged(struct core *c, uint64_t into, uint64_t from)
{
    struct inside *n = &c->inside;

    if (!n->step || into == from)
        return;
    uint32_t slot = (uint32_t)(n->merges++ % INSIDE_MERGES);
    if (n->merges > INSIDE_MERGES && map_get(&n->merged, n->merge[slot].from) == slot)
        map_del(&n->merged, n->merge[slot].from);
    n->merge[slot] = (struct inside_merge){.from = from, .into = into};
    map_put(&n->merged, from, slot);
}

uint64_t inside_label(const struct inside *n, uint64_t label)
{
    for (int depth = 0; depth < MERGED_DEPTH; depth++) {
        uint32_t slot = map_get(&n->merged, label);
        if (slot == MAP_EMPTY)
            break;
        label = n->merge[slot].into;
    }
    return label;
}

/* ---- the query ---- */

/* The state of a process at a time; NULL: not known. */
static const struct inside_step *step_at(const struct inside *n, uint64_t pid, uint64_t ns)
{
    uint32_t slot = map_get(&n->newest, pid);
    uint64_t number = slot == MAP_EMPTY ? 0 : n->n - (n->n - 1 - slot) % INSIDE_STEPS;

    while (number && number + INSIDE_STEPS > n->n) {
        const struct inside_step *s = &n->step[(number - 1) % INSIDE_STEPS];
        if (s->ts_ns <= ns)
            return s->ts_ns <= n->flush_ns && ns >= n->flush_ns ? &OUTSIDE : s;
        if (s->begins && s->before == 0)
            return ns >= n->whole_ns ? &OUTSIDE : NULL;
        number = s->before;
    }
    return NULL;
}

static struct core_inside no_call(void)
{
    return (struct core_inside){.known = true, .tier = TIER_NONE};
}

/* The request of a label, if it was open at that time. */
static struct core_inside in_request(struct core *c, const struct inside_step *s, uint64_t ns)
{
    const struct closed_label *closed;
    uint64_t label = inside_label(&c->inside, s->label);
    uint32_t req = requests_find(&c->requests, label, &closed);
    struct core_inside in = {.known = true, .tier = s->tier};
    uint32_t name;

    if (req != REQ_NIL) {
        const struct request *r = &c->requests.req[req];
        if ((r->state == REQ_CLOSING && ns > r->end_ns) ||
            (r->state != REQ_ORPHAN && ns < r->start_ns))
            return no_call();
        in.request = r->label;
        name = r->ident;
        in.may_change = !name && c->tiers.has_identity;
    } else if (closed && closed->weight && ns <= closed->end_ns) {
        in.request = label;
        name = closed->ident;
    } else {
        return no_call();
    }
    in.ident = name ? intern_str(c->set.names, name) : NULL;
    return in;
}

struct core_inside core_inside_at(struct core *c, uint64_t pid, uint64_t ns)
{
    const struct inside *n = &c->inside;
    struct inside_step now;
    const struct inside_step *s = n->step ? step_at(n, pid, ns) : NULL;

    if (!s && n->step && map_get(&n->newest, pid) == MAP_EMPTY && ns >= n->whole_ns &&
        ns >= n->flush_ns) {
        now = state_of(c, calls_proc(&c->calls, pid)); /* its state has not changed since */
        s = &now;
    }
    if (!s)
        return (struct core_inside){.tier = TIER_NONE};
    if (s->label)
        return in_request(c, s, ns);
    if (s->tier == TIER_NONE || c->tiers.entry != TIER_NONE)
        return no_call();
    return (struct core_inside){.known = true,
                                .tier = s->tier,
                                .ident = s->name ? intern_str(c->set.names, s->name) : NULL};
}
