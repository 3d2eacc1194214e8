#include "ident.h"

#include <kprof/base/intern.h>
#include <stdlib.h>
#include <string.h>

/* Time for which a former rule may still be in use: until the node has the new one, and earlier
 * calls have their names. */
#define RULE_CHANGE_S 5
#define QUIET_S       2 /* not seen for this long: former */

void idents_init(struct idents *t, uint32_t max)
{
    memset(t, 0, sizeof *t);
    if (max > UINT16_MAX - IDENT_FIRST - 1)
        max = UINT16_MAX - IDENT_FIRST - 1;
    t->cap = (uint16_t)(IDENT_FIRST + max);
    t->n = IDENT_FIRST;
    t->last = IDENT_OTHER; /* no name was requested */
    t->name = calloc(t->cap, sizeof *t->name);
    t->old = calloc(t->cap, sizeof *t->old);
    t->seen_s = calloc(t->cap, sizeof *t->seen_s);
    if (!t->name || !t->old || !t->seen_s)
        abort();
    map_init(&t->by_name, max ? max : 1);
}

void idents_release(struct idents *t)
{
    map_release(&t->by_name);
    free(t->name);
    free(t->old);
    free(t->seen_s);
    memset(t, 0, sizeof *t);
}

uint16_t idents_peek(const struct idents *t, uint32_t name)
{
    if (name == INTERN_NONE)
        return IDENT_UNDEFINED;
    uint32_t at = map_get(&t->by_name, name);
    return at == MAP_EMPTY ? IDENT_OTHER : (uint16_t)at;
}

static uint16_t seen(struct idents *t, uint16_t at, uint32_t began_s, uint32_t now_s)
{
    t->seen_s[at] = now_s;
    if (t->old[at] && began_s >= t->former_until_s) {
        t->old[at] = 0;
        t->n_old = (uint16_t)(t->n_old - (at >= IDENT_FIRST));
    }
    return at;
}

/* Gives the number this name. */
static void give(struct idents *t, uint16_t at, uint32_t name, uint32_t began_s)
{
    t->name[at] = name;
    map_put(&t->by_name, name, at);
    t->old[at] = began_s < t->former_until_s;
    t->n_old = (uint16_t)(t->n_old + t->old[at]);
}

uint16_t idents_of(struct idents *t, uint32_t name, uint32_t began_s, uint32_t now_s)
{
    t->used = true;
    if (name == INTERN_NONE)
        return seen(t, IDENT_UNDEFINED, began_s, now_s);
    if (name == t->last_name && t->last != IDENT_OTHER)
        return seen(t, t->last, began_s, now_s);
    uint16_t at = idents_peek(t, name);
    if (at == IDENT_OTHER) {
        if (name == INTERN_FULL || t->n == t->cap) {
            t->folded++;
            return seen(t, IDENT_OTHER, began_s, now_s);
        }
        at = t->n++;
        give(t, at, name, began_s);
    }
    t->last_name = name;
    t->last = at;
    return seen(t, at, began_s, now_s);
}

void idents_age(struct idents *t, uint32_t now_s)
{
    if (!t->used)
        return;
    memset(t->old, 1, t->n);
    memset(t->seen_s, 0, t->n * sizeof *t->seen_s);
    t->n_old = (uint16_t)(t->n - IDENT_FIRST);
    t->former_until_s = now_s + RULE_CHANGE_S;
    t->searched_s = 0;
    t->last_name = INTERN_NONE;
}

bool idents_is_former(const struct idents *t, uint16_t at, uint32_t now_s)
{
    return t->old[at] && (t->seen_s[at] == 0 || now_s >= t->seen_s[at] + QUIET_S);
}

uint16_t idents_recycle(struct idents *t, uint32_t name, uint32_t began_s, uint32_t now_s)
{
    uint16_t at = IDENT_FIRST;

    if (!t->n_old || t->searched_s == now_s || name == INTERN_NONE || name == INTERN_FULL ||
        idents_peek(t, name) != IDENT_OTHER)
        return 0;
    while (at < t->n && !idents_is_former(t, at, now_s))
        at++;
    if (at == t->n) {
        t->searched_s = now_s;
        return 0;
    }
    map_del(&t->by_name, t->name[at]);
    t->n_old--;
    if (t->last == at)
        t->last_name = INTERN_NONE;
    give(t, at, name, began_s);
    t->seen_s[at] = now_s;
    return at;
}
