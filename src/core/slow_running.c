#include "slow_running.h"

#include <assert.h>
#include <stdlib.h>

#define NIL UINT32_MAX

enum { FIRST_CALLS = 64 };

void slow_running_init(struct slow_running *r)
{
    *r = (struct slow_running){.free = NIL};
}

void slow_running_release(struct slow_running *r)
{
    free(r->of);
    free(r->first);
    slow_running_init(r);
}

static uint32_t hash_of(const struct slow_trace_call *c)
{
    uint64_t x = c->pid * UINT64_C(0x9e3779b97f4a7c15) + c->start_ns;

    x ^= x >> 32;
    x = (x + c->tier) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(x >> 32) % SLOW_RUNNING_HASHES;
}

static void make_memory(struct slow_running *r)
{
    r->first = malloc(SLOW_RUNNING_HASHES * sizeof *r->first);
    if (!r->first)
        abort();
    for (uint32_t i = 0; i < SLOW_RUNNING_HASHES; i++)
        r->first[i] = NIL;
}

static uint32_t new_entry(struct slow_running *r)
{
    if (r->free != NIL) {
        uint32_t at = r->free;
        r->free = r->of[at].next;
        return at;
    }
    if (r->high == r->cap) {
        r->cap = r->cap ? r->cap * 2 : FIRST_CALLS;
        r->of = realloc(r->of, r->cap * sizeof *r->of);
        if (!r->of)
            abort();
    }
    return r->high++;
}

void slow_running_add(struct slow_running *r, const struct slow_trace_call *c, uint32_t trace,
                      uint32_t call)
{
    uint32_t hash = hash_of(c), n = 0;

    assert(trace <= UINT8_MAX && call <= UINT16_MAX);
    if (!r->first)
        make_memory(r);
    for (uint32_t at = r->first[hash]; at != NIL; at = r->of[at].next)
        n++;
    if (n == SLOW_RUNNING_CHAIN)
        return;
    uint32_t at = new_entry(r);
    r->of[at] = (struct slow_running_call){.pid = c->pid,
                                           .start_ns = c->start_ns,
                                           .next = r->first[hash],
                                           .call = (uint16_t)call,
                                           .trace = (uint8_t)trace,
                                           .tier = c->tier};
    r->first[hash] = at;
    r->n++;
}

static bool is(const struct slow_running_call *e, const struct slow_trace_call *c, uint32_t trace)
{
    return e->pid == c->pid && e->start_ns == c->start_ns && e->tier == c->tier &&
           (trace == SLOW_RUNNING_ANY || e->trace == trace);
}

bool slow_running_take(struct slow_running *r, const struct slow_trace_call *c, uint32_t trace,
                       struct slow_running_place *from)
{
    if (r->n == 0)
        return false;
    uint32_t *link = &r->first[hash_of(c)], at = *link;
    while (at != NIL && !is(&r->of[at], c, trace)) {
        link = &r->of[at].next;
        at = *link;
    }
    if (at == NIL)
        return false;
    *from = (struct slow_running_place){r->of[at].trace, r->of[at].call};
    *link = r->of[at].next;
    r->of[at].next = r->free;
    r->free = at;
    r->n--;
    return true;
}
