#include "slow_entry.h"

#include <stddef.h>

static struct slow_entry_slow *shortest(struct slow_entry *e)
{
    struct slow_entry_slow *s = &e->slow[0];

    for (uint8_t i = 1; i < e->slow_tiers; i++)
        if (e->slow[i].duration_ns < s->duration_ns)
            s = &e->slow[i];
    return s;
}

static void keep(struct slow_entry *e, const struct slow_entry_slow *call)
{
    uint8_t i = 0;

    while (i < e->slow_tiers && e->slow[i].tier != call->tier)
        i++;
    if (i < e->slow_tiers) {
        uint32_t calls = e->slow[i].calls + call->calls;
        if (call->duration_ns > e->slow[i].duration_ns)
            e->slow[i] = *call;
        e->slow[i].calls = calls;
    } else if (i < SLOW_ENTRY_SLOW) {
        e->slow[e->slow_tiers++] = *call;
    } else if (call->duration_ns > shortest(e)->duration_ns) {
        *shortest(e) = *call;
    }
}

void slow_entry_note(struct slow_entry *e, const struct slow_entry_slow *call)
{
    if (e->n_slow == 0 || call->end_ns < e->soonest_ns)
        e->soonest_ns = call->end_ns;
    if (call->end_ns > e->end_ns)
        e->end_ns = call->end_ns;
    e->n_slow += call->calls;
    keep(e, call);
}

void slow_entry_add(struct slow_entry *e, const struct slow_entry_call *call)
{
    uint8_t i = 0;

    if (e->n_calls < SLOW_ENTRY_CALLS)
        e->calls[e->n_calls++] = *call;
    while (i < e->n_sums && e->sums[i].tier != call->tier)
        i++;
    if (i == SLOW_ENTRY_SUMS)
        return;
    if (i == e->n_sums)
        e->sums[e->n_sums++] = (struct slow_entry_sum){.tier = call->tier};
    struct slow_entry_sum *s = &e->sums[i];
    if (s->calls == 0 || call->self_ns > s->most_self_ns) {
        s->most_self_ns = call->self_ns;
        s->pid = call->pid;
    }
    s->sum_ns += call->duration_ns;
    s->self_ns += call->self_ns;
    s->calls++;
}

void slow_entry_absorb(struct slow_entry *e, const struct slow_entry *from)
{
    for (uint8_t i = 0; i < from->slow_tiers; i++)
        keep(e, &from->slow[i]);
    e->n_slow += from->n_slow;
    e->end_ns = from->end_ns > e->end_ns ? from->end_ns : e->end_ns;
    e->soonest_ns = from->soonest_ns < e->soonest_ns ? from->soonest_ns : e->soonest_ns;
}

bool slow_entry_forget_tier(struct slow_entry *e, uint16_t tier)
{
    uint8_t keep_n = 0;

    for (uint8_t i = 0; i < e->slow_tiers; i++) {
        if (e->slow[i].tier == tier)
            e->n_slow -= e->slow[i].calls;
        else
            e->slow[keep_n++] = e->slow[i];
    }
    e->slow_tiers = keep_n;
    return keep_n > 0;
}

const struct slow_entry_slow *slow_entry_longest(const struct slow_entry *e)
{
    const struct slow_entry_slow *s = &e->slow[0];

    for (uint8_t i = 1; i < e->slow_tiers; i++)
        if (e->slow[i].duration_ns > s->duration_ns)
            s = &e->slow[i];
    return s;
}
