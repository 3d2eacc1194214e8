/* Decodes the agent's stack samples ({ks,...}; src/agent/PROTOCOL.md, "Stacks") into a
 * core/stack_profile.
 *
 * A sample gets its process's name, first call and application, and for each metric its change
 * since the process's last sample. Its weight is the time, in microseconds, for which the process
 * was sampled once.
 *
 * Invariant: survives any bytes. What cannot be read is counted in `bad`, and the rest of that
 * message is not used. Tables are bounded: a sample of a process or a stack that is not known is
 * counted in `unknown` and left out. For each process, the deltas of its samples add up to its last
 * value minus its first. The decoder borrows the profile and is for the profile's writer thread.
 * Allocates when a message is larger than those before. */
#ifndef KPROF_TRACE_STACK_DECODE_H
#define KPROF_TRACE_STACK_DECODE_H

#include <kprof/core/stack_profile.h>
#include <kprof/trace/node_clock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why nothing is sampled. */
enum stack_gate { STACK_GATE_OPEN, STACK_GATE_BREAKER, STACK_GATE_LEASE, STACK_GATE_RUN_QUEUE };

/* What the agent says of its sampler. Totals are of this sampler, since it began. */
struct stack_figures {
    uint64_t asked;   /* processes that came to their turn */
    uint64_t sampled; /* that were told */
    uint64_t other;   /* of another status than was chosen, or no longer chosen */
    uint64_t died, own;
    uint64_t skipped; /* not asked, because the round's deadline had passed */
    uint64_t late;    /* answered after it: sampled, but not on time */
    uint64_t stuck;   /* workers given up after a second without an answer */
    uint64_t lost;    /* samples that the link did not take */
    /* of the last choice */
    uint64_t matched; /* processes that match; of more than the most, a random part is chosen */
    uint64_t chosen, walked;
    uint64_t held; /* that matched, and were left out because of a hazard */
    /* now */
    uint64_t interval_us, asked_us; /* between two groups: in force, asked for */
    uint64_t groups, weight_us;
    uint64_t workers;
    uint64_t cost_ppm, sample_ns; /* of the schedulers' time; of one sample */
    uint64_t depth;               /* the node's backtrace_depth: callers beyond it are cut */
    enum stack_gate gate;
};

struct stack_decode_counts {
    uint64_t messages, missing; /* missing: by their numbers */
    uint64_t samples, unknown, bad;
};

struct stack_decoder;
/* Sets the profile's unit. */
struct stack_decoder *stack_decoder_new(struct stack_profile *p);
void stack_decoder_free(struct stack_decoder *d); /* NULL is fine */
/* One message with its version byte, and the clock of its stamps. False: at least a part of it
 * could not be read. */
bool stack_decoder_feed(struct stack_decoder *d, const void *bytes, size_t n,
                        const struct node_clock *clock);
const struct stack_figures *stack_decoder_figures(const struct stack_decoder *d);
const struct stack_decode_counts *stack_decoder_counts(const struct stack_decoder *d);

#endif
