/* Decodes the agent's stack samples ({ks,...}; src/agent/PROTOCOL.md, "Stacks") into a
 * core/stack_profile.
 *
 * A sample gets the name, initial call and application of its process, and for each metric the
 * change since the last sample of the process. Its weight is the sampling interval of the process
 * in microseconds. Invariant: survives any bytes. Malformed bytes are counted in `bad`, and the
 * rest of that message is not used. Tables are bounded: a sample of an unknown process or stack is
 * counted in `unknown` and left out. For each process, the deltas of its samples add up to its last
 * value minus its first. The decoder borrows the profile and is for the profile's writer thread.
 * Allocates only when a message is larger than all before it. */
#ifndef KPROF_TRACE_STACK_DECODE_H
#define KPROF_TRACE_STACK_DECODE_H

#include <kprof/core/stack_profile.h>
#include <kprof/trace/node_clock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why nothing is sampled. */
enum stack_gate { STACK_GATE_OPEN, STACK_GATE_BREAKER, STACK_GATE_LEASE, STACK_GATE_RUN_QUEUE };

/* The agent's report about its sampler. Totals are since the start of this sampler. */
struct stack_figures {
    uint64_t asked;     /* processes that were due */
    uint64_t sampled;   /* samples that were sent */
    uint64_t other;     /* with another status than the chosen ones, or no longer chosen */
    uint64_t died, own; /* own: with a function of the agent on the stack */
    uint64_t skipped;   /* not queried, because the deadline of the round had passed */
    uint64_t late;      /* answered after the deadline: sampled, but late */
    uint64_t stuck;     /* workers killed after a second without an answer */
    uint64_t lost;      /* samples dropped because the link was full */
    uint64_t cut;       /* samples whose stack is deeper than the node reports */
    /* in the last choice */
    uint64_t matched; /* processes that match; above the maximum, a random subset is chosen */
    uint64_t chosen, walked;
    uint64_t held; /* matching processes left out because of a hazard */
    /* now */
    uint64_t interval_us, asked_us; /* between two groups: in use, requested */
    uint64_t pace_us; /* the mean: longer than interval_us if rounds came late; 0: not reported */
    uint64_t groups, weight_us;
    uint64_t workers;
    uint64_t born, born_ms;       /* processes started on the node, and the time that was counted */
    uint64_t cost_ppm, sample_ns; /* of the schedulers' time; of one sample */
    uint64_t depth;               /* the node's backtrace_depth: callers beyond it are cut */
    enum stack_gate gate;
};

struct stack_decode_counts {
    uint64_t messages, missing; /* missing messages, by their sequence numbers */
    uint64_t samplers;          /* that the messages are of */
    uint64_t samples, unknown, bad;
};

/* Takes a sample, whose ids are of the decoder's profile. */
typedef void stack_decode_take(void *arg, const struct stack_sample *s,
                               const struct stack_metrics *m);

struct stack_decoder;
/* Sets the profile's unit. */
struct stack_decoder *stack_decoder_new(struct stack_profile *p);
void stack_decoder_free(struct stack_decoder *d); /* NULL is fine */
/* Gives the samples to `take`, instead of adding them to the profile. */
void stack_decoder_pass_to(struct stack_decoder *d, stack_decode_take *take, void *arg);
/* One message with its version byte, and the clock of its stamps. False: at least a part of it
 * was malformed. */
bool stack_decoder_feed(struct stack_decoder *d, const void *bytes, size_t n,
                        const struct node_clock *clock);
const struct stack_figures *stack_decoder_figures(const struct stack_decoder *d);
const struct stack_decode_counts *stack_decoder_counts(const struct stack_decoder *d);

#endif
