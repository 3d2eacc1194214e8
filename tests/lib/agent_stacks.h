/* Messages with stack samples, as the agent sends them. */
#ifndef KPROF_TESTS_AGENT_STACKS_H
#define KPROF_TESTS_AGENT_STACKS_H

#include <kprof/base/buf.h>
#include <kprof/trace/stack_decode.h>
#include <stdbool.h>
#include <stdint.h>

/* The node's monotonic time when its VM began, in native units of 1 ns. */
#define AGENT_STACKS_START (-576460752303423488)

/* The parts of a message, in their order: head, list of processes, list of numbers that left, list
 * of stacks, list of numbers that are forgotten, list of samples. */
void agent_stacks_head(struct buf *b, uint64_t seq, uint64_t weight_us, enum stack_gate gate);
void agent_stacks_process(struct buf *b, uint64_t number, uint8_t id, bool named);
/* number: two functions, innermost first */
void agent_stacks_stack(struct buf *b, uint64_t number, bool cut, const char *leaf);
void agent_stacks_sample(struct buf *b, uint64_t number, int64_t ns, uint64_t of_stack,
                         const int64_t *values, uint32_t n);
/* Two processes, two stacks, three samples of 99 ms; newest first, as the agent has them. The node
 * has a long run queue. */
void agent_stacks_message(struct buf *b, uint64_t seq);

#endif
