/* What every message of the stack sampler has (src/agent/PROTOCOL.md, "Stacks"): its head, and
 * lists of numbers. A part of trace/stack_decode and trace/record_stacks.
 *
 * Invariant: reads only the bytes that it was given. Pure; any thread. */
#ifndef KPROF_TRACE_STACK_MESSAGE_H
#define KPROF_TRACE_STACK_MESSAGE_H

#include <kprof/erl/etf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void stack_message_take(void *arg, uint64_t number);

/* Reads {ks, Seq, Native, ...}: *c is then at the figures. native is the node's time, in its own
 * unit. False: another message, or malformed. */
bool stack_message_head(struct etf *c, const void *bytes, size_t n, uint64_t *seq, int64_t *native);
/* Reads [Number] and passes each to take. False: malformed; some were passed. */
bool stack_message_numbers(struct etf *c, stack_message_take *take, void *arg);

#endif
