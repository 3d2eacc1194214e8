/* The metrics of one stack sample, as the agent sends them (src/agent/PROTOCOL.md, "Stacks":
 * Values). A part of trace/stack_decode.
 *
 * Invariant: every metric is below a quarter of INT64_MAX, so sums and differences do not overflow.
 * Pure; any thread. */
#ifndef KPROF_TRACE_STACK_VALUES_H
#define KPROF_TRACE_STACK_VALUES_H

#include <kprof/core/stack_profile.h>
#include <kprof/erl/etf.h>

/* The last values of a process. Zeros: none. */
struct stack_values_last {
    uint32_t known; /* metrics that have a last value */
    int64_t value[STACK_METRICS];
};

/* Reads the metrics and computes `memory` and `total_heap_size` from them. False: they cannot be
 * read. */
bool stack_values_read(struct etf *c, struct stack_metrics *m);
/* Sets the changes since the last values of the process, and stores the new ones. */
void stack_values_changes(struct stack_values_last *p, struct stack_metrics *m);

#endif
