#include "request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CLOSED_BIT 0x80000000u
enum { CLOSED_PER_OPEN = 2, WAITING_MAX = 16 };

static void *reserve(size_t n, size_t bytes)
{
    void *p = calloc(n, bytes);
    if (!p)
        abort();
    return p;
}

void requests_init(struct requests *t, uint32_t max_open)
{
    memset(t, 0, sizeof *t);
    t->cap = max_open;
    t->closed_cap = max_open * CLOSED_PER_OPEN;
    t->req = reserve(t->cap, sizeof *t->req);
    t->closed = reserve(t->closed_cap, sizeof *t->closed);
    map_init(&t->by_label, (size_t)t->cap + t->closed_cap + 1);
    map_init(&t->by_prev, t->cap);
    requests_clear(t);
}

void requests_release(struct requests *t)
{
    free(t->req);
    free(t->closed);
    map_release(&t->by_label);
    map_release(&t->by_prev);
    memset(t, 0, sizeof *t);
}

void requests_clear(struct requests *t)
{
    for (uint32_t i = 0; i < t->high; i++)
        if (t->req[i].state != REQ_FREE && t->req[i].label)
            map_del(&t->by_label, t->req[i].label);
    map_clear(&t->by_prev);
    t->high = 0;
    t->free = REQ_NIL;
    for (int s = 0; s < REQ_STATES; s++) {
        t->list[s].oldest = t->list[s].newest = REQ_NIL;
        t->in_state[s] = 0;
    }
}

static void link_newest(struct requests *t, uint32_t at)
{
    struct request *r = &t->req[at];

    r->newer = REQ_NIL;
    r->older = t->list[r->state].newest;
    if (r->older != REQ_NIL)
        t->req[r->older].newer = at;
    else
        t->list[r->state].oldest = at;
    t->list[r->state].newest = at;
    t->in_state[r->state]++;
}

static void unlink_from_list(struct requests *t, uint32_t at)
{
    struct request *r = &t->req[at];

    if (r->newer != REQ_NIL)
        t->req[r->newer].older = r->older;
    else
        t->list[r->state].newest = r->older;
    if (r->older != REQ_NIL)
        t->req[r->older].newer = r->newer;
    else
        t->list[r->state].oldest = r->newer;
    t->in_state[r->state]--;
}

uint32_t requests_new(struct requests *t, enum req_state state, uint64_t label)
{
    uint32_t at = t->free;

    if (at != REQ_NIL)
        t->free = t->req[at].next_alias;
    else if (t->high < t->cap)
        at = t->high++;
    else
        return REQ_NIL;
    t->req[at] = (struct request){.label = label,
                                  .first = REQ_NIL,
                                  .last = REQ_NIL,
                                  .entry = REQ_NIL,
                                  .aliases = REQ_NIL,
                                  .next_alias = REQ_NIL,
                                  .alias_of = REQ_NIL,
                                  .waits_next = REQ_NIL,
                                  .state = (uint8_t)state};
    link_newest(t, at);
    if (label)
        map_put(&t->by_label, label, at);
    return at;
}

void requests_move(struct requests *t, uint32_t at, enum req_state to)
{
    unlink_from_list(t, at);
    t->req[at].state = (uint8_t)to;
    link_newest(t, at);
}

uint32_t requests_waiting(const struct requests *t, uint64_t prev)
{
    uint32_t first = prev ? map_get(&t->by_prev, prev) : MAP_EMPTY;
    return first == MAP_EMPTY ? REQ_NIL : first;
}

static void unwait(struct requests *t, uint32_t at)
{
    struct request *r = &t->req[at];

    if (!r->waits)
        return;
    r->waits = false;
    uint32_t i = requests_waiting(t, r->prev);
    if (i == at) {
        if (r->waits_next == REQ_NIL)
            map_del(&t->by_prev, r->prev);
        else
            map_put(&t->by_prev, r->prev, r->waits_next);
        return;
    }
    while (t->req[i].waits_next != at)
        i = t->req[i].waits_next;
    t->req[i].waits_next = r->waits_next;
}

static void drop(struct requests *t, uint32_t at)
{
    unwait(t, at);
    unlink_from_list(t, at);
    t->req[at].state = REQ_FREE;
    t->req[at].next_alias = t->free;
    t->free = at;
}

void requests_remember(struct requests *t, struct closed_label closed)
{
    uint32_t slot = t->closed_at;
    uint64_t before = t->closed[slot].label;

    if (!closed.label)
        return;
    if (before && map_get(&t->by_label, before) == (slot | CLOSED_BIT))
        map_del(&t->by_label, before);
    t->closed[slot] = closed;
    map_put(&t->by_label, closed.label, slot | CLOSED_BIT);
    t->closed_at = slot + 1 == t->closed_cap ? 0 : slot + 1;
}

static void leave_label(struct requests *t, uint32_t at, const struct closed_label *remember)
{
    uint64_t label = t->req[at].label;

    /* The label may belong to another request now: it was used again. */
    if (!label || map_get(&t->by_label, label) != at)
        return;
    if (!remember) {
        map_del(&t->by_label, label);
        return;
    }
    struct closed_label l = *remember;
    l.label = label;
    requests_remember(t, l);
}

void requests_free(struct requests *t, uint32_t at, const struct closed_label *remember)
{
    for (uint32_t a = t->req[at].aliases, next; a != REQ_NIL; a = next) {
        next = t->req[a].next_alias;
        leave_label(t, a, remember);
        drop(t, a);
    }
    leave_label(t, at, remember);
    drop(t, at);
}

bool requests_alias(struct requests *t, uint32_t of, uint64_t label)
{
    if (!label || map_get(&t->by_label, label) == of)
        return true;
    uint32_t at = requests_new(t, REQ_ALIAS, label);
    if (at == REQ_NIL)
        return false;
    t->req[at].alias_of = of;
    t->req[at].next_alias = t->req[of].aliases;
    t->req[of].aliases = at;
    return true;
}

void requests_merge(struct requests *t, uint32_t into, uint32_t from)
{
    uint32_t last = REQ_NIL;

    for (uint32_t a = t->req[from].aliases; a != REQ_NIL; a = t->req[a].next_alias) {
        t->req[a].alias_of = into;
        last = a;
    }
    if (last != REQ_NIL) {
        t->req[last].next_alias = t->req[into].aliases;
        t->req[into].aliases = t->req[from].aliases;
        t->req[from].aliases = REQ_NIL;
    }
    /* Its slot becomes the alias of its label. */
    unwait(t, from);
    requests_move(t, from, REQ_ALIAS);
    t->req[from].alias_of = into;
    t->req[from].next_alias = t->req[into].aliases;
    t->req[into].aliases = from;
}

uint32_t requests_find(struct requests *t, uint64_t label, const struct closed_label **closed)
{
    uint32_t at = label ? map_get(&t->by_label, label) : MAP_EMPTY;

    *closed = NULL;
    if (at == MAP_EMPTY)
        return REQ_NIL;
    if (at & CLOSED_BIT) {
        *closed = &t->closed[at & ~CLOSED_BIT];
        return REQ_NIL;
    }
    return t->req[at].state == REQ_ALIAS ? t->req[at].alias_of : at;
}

void requests_wait(struct requests *t, uint32_t at, uint64_t prev)
{
    uint32_t first = map_get(&t->by_prev, prev);
    unsigned before = 0;

    /* More than a few occur only in a forged stream, and unwait walks the chain. */
    for (uint32_t i = requests_waiting(t, prev); i != REQ_NIL; i = t->req[i].waits_next)
        if (++before == WAITING_MAX)
            return;
    if (!map_put(&t->by_prev, prev, at))
        return;
    assert(!t->req[at].waits && first != at);
    t->req[at].prev = prev;
    t->req[at].waits = true;
    t->req[at].waits_next = first == MAP_EMPTY ? REQ_NIL : first;
}
