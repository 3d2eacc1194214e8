#include <kprof/core/ident.h>

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
    if (!t->name)
        abort();
    map_init(&t->by_name, max ? max : 1);
}

void idents_release(struct idents *t)
{
    map_release(&t->by_name);
    free(t->name);
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
    t->last_name = name;
    t->last = at;
    return at;
}
