#include "slow_call.h"

#include <stdlib.h>
#include <string.h>

void slow_call_init(struct slow_calls *s, uint32_t entries)
{
    memset(s, 0, sizeof *s);
    s->cap = entries;
}

void slow_call_release(struct slow_calls *s)
{
    free(s->entry);
    memset(s, 0, sizeof *s);
}

void slow_call_set(struct slow_calls *s, uint64_t threshold_ns)
{
    s->threshold_ns = s->cap ? threshold_ns : 0;
    if (!s->threshold_ns || s->entry)
        return;
    s->entry = calloc(s->cap, sizeof *s->entry);
    if (!s->entry)
        abort();
}

void slow_call_clear(struct slow_calls *s)
{
    s->n = s->at = 0;
    s->seq = 0;
}

struct slow_call_entry *slow_call_new(struct slow_calls *s)
{
    if (!s->threshold_ns)
        return NULL;
    struct slow_call_entry *e = &s->entry[s->at];
    s->at = s->at + 1 == s->cap ? 0 : s->at + 1;
    if (s->n < s->cap)
        s->n++;
    memset(e, 0, offsetof(struct slow_call_entry, tiers));
    e->seq = ++s->seq;
    return e;
}

struct slow_call_entry *slow_call_newest(const struct slow_calls *s, uint32_t i)
{
    return i < s->n ? &s->entry[(s->at + s->cap - 1 - i) % s->cap] : NULL;
}

void slow_call_request_closed(struct slow_calls *s, const struct slow_call_entry *whole)
{
    struct slow_call_entry *e;

    for (uint32_t i = 0; whole->request && (e = slow_call_newest(s, i)); i++) {
        if (e->request != whole->request || e->request_ns != 0)
            continue;
        e->request_ns = whole->request_ns;
        e->trace = whole->trace;
        e->n_tiers = whole->n_tiers;
        e->n_sums = whole->n_sums;
        memcpy(e->tiers, whole->tiers, sizeof e->tiers);
        memcpy(e->sums, whole->sums, sizeof e->sums);
    }
}

void slow_call_add_call(struct slow_call_entry *e, const struct slow_call_tier *call)
{
    uint8_t i = 0;

    if (e->n_tiers < SLOW_TIERS)
        e->tiers[e->n_tiers++] = *call;
    while (i < e->n_sums && e->sums[i].tier != call->tier)
        i++;
    if (i == SLOW_SUMS)
        return;
    if (i == e->n_sums)
        e->sums[e->n_sums++] = (struct slow_call_sum){.tier = call->tier};
    e->sums[i].sum_ns += call->duration_ns;
    e->sums[i].self_ns += call->self_ns;
    e->sums[i].calls++;
}

void slow_call_forget_tier(struct slow_calls *s, uint16_t tier)
{
    uint32_t keep = 0, n = s->n;
    uint32_t first = s->cap ? (s->at + s->cap - n) % s->cap : 0;

    for (uint32_t i = 0; i < n; i++) {
        struct slow_call_entry *e = &s->entry[(first + i) % s->cap];
        if (e->tier == tier)
            continue;
        struct slow_call_entry *to = &s->entry[(first + keep++) % s->cap];
        if (to != e)
            *to = *e;
    }
    s->n = keep;
    s->at = s->cap ? (first + keep) % s->cap : 0;
}
