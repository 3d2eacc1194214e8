#include "request.h"

#include <assert.h>
#include <kprof/core/event.h>
#include <stdlib.h>
#include <string.h>

#define CLOSED_BIT 0x80000000u
enum { CLOSED_PER_OPEN = 2 };
/* Of one request; a forged stream could make walks over more of them long. */
enum { WAITING_MAX = 4096, ALIASES_MAX = 256 };
/* Tickets. A request may end this many tickets after a newer one. */
enum { FORGOTTEN_MAX = 1 << 26, OUT_OF_ORDER = 1 << 20 };

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
                                  .oldest_alias = REQ_NIL,
                                  .next_alias = REQ_NIL,
                                  .prev_alias = REQ_NIL,
                                  .alias_of = REQ_NIL,
                                  .waits_next = REQ_NIL,
                                  .waits_prev = REQ_NIL,
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
    uint32_t first = requests_waiting(t, r->prev), n = t->req[first].waits_n - 1;
    if (r->waits_next != REQ_NIL)
        t->req[r->waits_next].waits_prev = r->waits_prev;
    if (r->waits_prev != REQ_NIL) {
        t->req[r->waits_prev].waits_next = r->waits_next;
    } else if ((first = r->waits_next) == REQ_NIL) {
        map_del(&t->by_prev, r->prev);
        return;
    } else {
        map_put(&t->by_prev, r->prev, first);
    }
    t->req[first].waits_n = n;
}

static void drop(struct requests *t, uint32_t at)
{
    unwait(t, at);
    unlink_from_list(t, at);
    t->req[at].state = REQ_FREE;
    t->req[at].next_alias = t->free;
    t->free = at;
}

/* ---- closed labels ---- */

static uint32_t tickets_between(uint64_t from, uint64_t to)
{
    return (uint32_t)(to - from) & EVENT_LABEL_TICKET;
}

/* Labels are dropped in the order in which their requests ended, so nearly by ticket. Tickets start
 * again at 0: the range covers less than half of them, so that new ones are not in it. */
static void forget(struct requests *t, uint64_t label)
{
    uint64_t first = t->forgotten_first, last = t->forgotten_last;

    label &= ~EVENT_LABEL_DETAIL;
    if (label >> 63) /* a process: it has no ticket */
        return;
    if (first && label >> 32 == first >> 32 && tickets_between(last, label) < FORGOTTEN_MAX)
        last = label;
    else if (first && label >> 32 == first >> 32 && tickets_between(label, last) < FORGOTTEN_MAX)
        first = tickets_between(label, first) < OUT_OF_ORDER ? label : first;
    else
        first = last = label;
    if (tickets_between(first, last) >= FORGOTTEN_MAX)
        first = (last >> 32 << 32) | ((last - FORGOTTEN_MAX) & EVENT_LABEL_TICKET);
    t->forgotten_first = first;
    t->forgotten_last = last;
}

bool requests_forgot(const struct requests *t, uint64_t label)
{
    uint64_t first = t->forgotten_first;

    label &= ~EVENT_LABEL_DETAIL;
    return first && label >> 32 == first >> 32 &&
           tickets_between(first, label) <= tickets_between(first, t->forgotten_last);
}

void requests_disown(struct requests *t)
{
    for (uint32_t i = 0; i < t->closed_cap && t->closed[i].label; i++)
        t->closed[i].weight = 0;
    t->forgotten_first = t->forgotten_last = 0;
}

void requests_remember(struct requests *t, struct closed_label closed)
{
    uint32_t slot = t->closed_at;
    uint64_t before = t->closed[slot].label;

    if (!closed.label)
        return;
    if (before && map_get(&t->by_label, before) == (slot | CLOSED_BIT)) {
        map_del(&t->by_label, before);
        if (t->closed[slot].weight)
            forget(t, before);
    }
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

/* Makes `at` the newest alias of the request `of`. */
static void put_alias(struct requests *t, uint32_t of, uint32_t at)
{
    struct request *r = &t->req[of], *a = &t->req[at];

    a->alias_of = of;
    a->prev_alias = REQ_NIL;
    a->next_alias = r->aliases;
    if (r->aliases != REQ_NIL)
        t->req[r->aliases].prev_alias = at;
    else
        r->oldest_alias = at;
    r->aliases = at;
    r->n_aliases++;
}

bool requests_alias(struct requests *t, uint32_t of, uint64_t label)
{
    if (!label || map_get(&t->by_label, label) == of)
        return true;
    uint32_t at = requests_new(t, REQ_ALIAS, label);
    if (at == REQ_NIL)
        return false;
    put_alias(t, of, at);
    return true;
}

void requests_trim_aliases(struct requests *t, uint32_t of)
{
    struct request *r = &t->req[of];

    while (r->n_aliases > ALIASES_MAX) {
        uint32_t at = r->oldest_alias;
        r->oldest_alias = t->req[at].prev_alias;
        t->req[r->oldest_alias].next_alias = REQ_NIL;
        r->n_aliases--;
        leave_label(t, at, NULL);
        drop(t, at);
    }
}

void requests_merge(struct requests *t, uint32_t into, uint32_t from)
{
    struct request *f = &t->req[from];

    for (uint32_t a = f->oldest_alias, newer; a != REQ_NIL; a = newer) {
        newer = t->req[a].prev_alias;
        put_alias(t, into, a);
    }
    f->aliases = f->oldest_alias = REQ_NIL;
    f->n_aliases = 0;
    /* Its slot becomes the alias of its label. */
    unwait(t, from);
    requests_move(t, from, REQ_ALIAS);
    put_alias(t, into, from);
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
    uint32_t first = requests_waiting(t, prev);
    struct request *r = &t->req[at];

    if (first != REQ_NIL && t->req[first].waits_n >= WAITING_MAX)
        return;
    if (!map_put(&t->by_prev, prev, at))
        return;
    assert(!r->waits && first != at);
    r->prev = prev;
    r->waits = true;
    r->waits_next = first;
    r->waits_prev = REQ_NIL;
    r->waits_n = 1;
    if (first != REQ_NIL) {
        t->req[first].waits_prev = at;
        r->waits_n = t->req[first].waits_n + 1;
    }
}
