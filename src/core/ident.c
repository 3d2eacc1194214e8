#include "ident.h"

#include <kprof/base/intern.h>
#include <stdlib.h>
#include <string.h>

void idents_init(struct idents *t, uint32_t max)
{
    memset(t, 0, sizeof *t);
    if (max > UINT16_MAX - IDENT_FIRST - 1)
        max = UINT16_MAX - IDENT_FIRST - 1;
    t->cap = (uint16_t)(IDENT_FIRST + max);
    t->n = IDENT_FIRST;
    t->name = calloc(t->cap, sizeof *t->name);
    t->stale = calloc(t->cap, sizeof *t->stale);
    if (!t->name || !t->stale)
        abort();
    map_init(&t->by_name, max ? max : 1);
}

void idents_release(struct idents *t)
{
    map_release(&t->by_name);
    free(t->name);
    free(t->stale);
    memset(t, 0, sizeof *t);
}

uint16_t idents_peek(const struct idents *t, uint32_t name)
{
    if (name == INTERN_NONE)
        return IDENT_UNDEFINED;
    uint32_t at = map_get(&t->by_name, name);
    return at == MAP_EMPTY ? IDENT_OTHER : (uint16_t)at;
}

uint16_t idents_of(struct idents *t, uint32_t name)
{
    if (name == INTERN_NONE)
        return IDENT_UNDEFINED;
    if (name == t->last_name && t->last != IDENT_OTHER)
        return t->last;
    uint16_t at = idents_peek(t, name);
    if (at == IDENT_OTHER) {
        if (name == INTERN_FULL || t->n == t->cap) {
            t->folded++;
            return IDENT_OTHER;
        }
        at = t->n++;
        t->name[at] = name;
        map_put(&t->by_name, name, at);
    }
    if (t->stale[at]) {
        t->stale[at] = 0;
        t->n_stale--;
    }
    t->last_name = name;
    t->last = at;
    return at;
}

void idents_age(struct idents *t)
{
    for (uint16_t i = IDENT_FIRST; i < t->n; i++)
        t->stale[i] = 1;
    t->n_stale = (uint16_t)(t->n - IDENT_FIRST);
    t->last_name = INTERN_NONE;
}

uint16_t idents_recycle(struct idents *t, uint32_t name)
{
    uint16_t at = IDENT_FIRST;

    if (!t->n_stale || name == INTERN_NONE || name == INTERN_FULL ||
        idents_peek(t, name) != IDENT_OTHER)
        return 0;
    while (!t->stale[at])
        at++;
    map_del(&t->by_name, t->name[at]);
    t->stale[at] = 0;
    t->n_stale--;
    t->name[at] = name;
    map_put(&t->by_name, name, at);
    return at;
}
