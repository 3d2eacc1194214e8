/* The calls that are open longest. */
#include "snapshot_impl.h"
#include "state.h"

#include <string.h>

/* `at` holds the n oldest so far, oldest first. */
static uint32_t put_older(const struct core *c, uint32_t *at, uint32_t n, uint32_t call)
{
    uint64_t start = c->calls.call[call].start_ns;

    if (n == SNAP_OPEN && c->calls.call[at[n - 1]].start_ns <= start)
        return n;
    uint32_t i = n < SNAP_OPEN ? n++ : n - 1;
    for (; i > 0 && c->calls.call[at[i - 1]].start_ns > start; i--)
        at[i] = at[i - 1];
    at[i] = call;
    return n;
}

void snapshot_add_open(const struct core *c, struct snapshot *s, const char *const *ident_name)
{
    uint32_t at[SNAP_OPEN], n = 0;

    for (uint32_t i = 0; i < c->calls.high; i++) {
        const struct call *f = &c->calls.call[i];
        if (f->flags & CALL_ON_STACK && f->kind != CALL_ACCOUNTED && f->start_ns <= c->now_ns)
            n = put_older(c, at, n, i);
    }
    struct snap_open *to = snapshot_take(s, (n + 1) * sizeof *to);
    for (uint32_t i = 0; i < n; i++) {
        const struct call *f = &c->calls.call[at[i]];
        size_t ident = f->kind == CALL_MEMBER
                           ? idents_peek(&c->idents, c->requests.req[f->req].ident)
                           : f->ident;
        to[i] = (struct snap_open){.pid = f->pid,
                                   .start_ns = f->start_ns,
                                   .tier_name = snapshot_text(s, c->tiers.tier[f->tier].name),
                                   .ident = ident < c->idents.n ? ident_name[ident] : "undefined",
                                   .age_us = (double)(c->now_ns - f->start_ns) / 1e3};
        const struct snap_place *places;
        uint32_t polls;
        uint64_t label = f->kind == CALL_MEMBER ? c->requests.req[f->req].label : 0;
        if (snapshot_places(c, s, label, &places, &polls))
            to[i].place = places[0];
    }
    s->open = to;
    s->n_open = n;
}
