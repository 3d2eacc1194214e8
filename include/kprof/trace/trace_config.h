/* All settings of tracing on a node, as one value. kprof-top sends the parts that have changed
 * (configuration, limits, sampling, on or off), each part as a whole, so a reconnect needs only the
 * last value. Plain data, copied. */
#ifndef KPROF_TRACE_TRACE_CONFIG_H
#define KPROF_TRACE_TRACE_CONFIG_H

#include <kprof/core/event.h>
#include <kprof/erl/term.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACE_CONFIG_RULE_BYTES (16u << 10)
#define TRACE_CONFIG_NO_ENTRY   UINT16_MAX

struct traced_function {
    uint16_t ix;
    struct mfa mfa;
};

struct trace_config {
    struct traced_function tier[EVENT_TIERS];
    uint16_t n;
    uint16_t entry;                         /* a tier's ix, or TRACE_CONFIG_NO_ENTRY */
    char identity[TRACE_CONFIG_RULE_BYTES]; /* "" : none */
    bool lean, tracing;
    bool mailbox;    /* report when the message of a call to a server is sent */
    bool args;       /* copy small arguments of every call, too */
    uint32_t sample; /* 1/sample */
    uint32_t detail; /* 1/detail of the sampled requests is followed in detail; 0: none */
    /* Limits that protect the node: age of an event, events per second (0: no limit), the breaker's
     * first pause. */
    uint64_t max_age_ms, max_rate, cooldown_ms;
    uint64_t max_cost_ppm; /* of the node's scheduler time; 0: no limit */
    /* If calls that are not sampled cost more than part_cost_ppm of the node's scheduler time, the
     * node may trace for only part of the time, and follow each request for part_ms; 0: never.
     * part_assumed: too few requests have ended to know this time; then only where the breaker
     * would open otherwise. */
    uint64_t part_ms, part_cost_ppm;
    bool part_assumed;
};

/* Two of the parts: what is traced (without sampling, and without tracing on or off), and the
 * limits. */
bool trace_config_same_config(const struct trace_config *a, const struct trace_config *b);
bool trace_config_same_limits(const struct trace_config *a, const struct trace_config *b);
void trace_config_take_limits(struct trace_config *to, const struct trace_config *from);

#endif
