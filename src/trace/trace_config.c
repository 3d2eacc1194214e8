#include <kprof/trace/trace_config.h>

#include <string.h>

bool trace_config_same_config(const struct trace_config *a, const struct trace_config *b)
{
    return a->n == b->n && a->entry == b->entry && a->lean == b->lean && a->args == b->args &&
           a->detail == b->detail && a->mailbox == b->mailbox &&
           strcmp(a->identity, b->identity) == 0 &&
           memcmp(a->tier, b->tier, a->n * sizeof a->tier[0]) == 0;
}

bool trace_config_same_limits(const struct trace_config *a, const struct trace_config *b)
{
    return a->max_age_ms == b->max_age_ms && a->max_rate == b->max_rate &&
           a->cooldown_ms == b->cooldown_ms && a->max_cost_ppm == b->max_cost_ppm &&
           a->part_ms == b->part_ms && a->part_assumed == b->part_assumed &&
           a->part_cost_ppm == b->part_cost_ppm;
}

void trace_config_take_limits(struct trace_config *to, const struct trace_config *from)
{
    to->max_age_ms = from->max_age_ms;
    to->max_rate = from->max_rate;
    to->cooldown_ms = from->cooldown_ms;
    to->max_cost_ppm = from->max_cost_ppm;
    to->part_ms = from->part_ms;
    to->part_assumed = from->part_assumed;
    to->part_cost_ppm = from->part_cost_ppm;
}
