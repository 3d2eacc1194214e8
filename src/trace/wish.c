#include <kprof/trace/wish.h>

#include <string.h>

bool wish_same_config(const struct wish *a, const struct wish *b)
{
    return a->n == b->n && a->entry == b->entry && a->lean == b->lean && a->args == b->args &&
           strcmp(a->identity, b->identity) == 0 &&
           memcmp(a->tier, b->tier, a->n * sizeof a->tier[0]) == 0;
}

bool wish_same_limits(const struct wish *a, const struct wish *b)
{
    return a->max_age_ms == b->max_age_ms && a->max_rate == b->max_rate &&
           a->cooldown_ms == b->cooldown_ms && a->max_cost_ppm == b->max_cost_ppm;
}

void wish_take_limits(struct wish *to, const struct wish *from)
{
    to->max_age_ms = from->max_age_ms;
    to->max_rate = from->max_rate;
    to->cooldown_ms = from->cooldown_ms;
    to->max_cost_ppm = from->max_cost_ppm;
}
