/* Messages with stack samples, on their way from the reader thread to the core thread.
 *
 * Invariant: at most STACK_INBOX_BYTES wait; a message that does not fit is dropped and counted.
 * Each is copied once. The reader puts, any one thread takes. */
#ifndef KPROF_TRACE_STACK_INBOX_H
#define KPROF_TRACE_STACK_INBOX_H

#include <kprof/trace/stream.h>
#include <pthread.h>

#define STACK_INBOX_BYTES ((size_t)16 << 20)

struct stack_inbox {
    pthread_mutex_t lock;
    struct stream_stacks *first, *last;
    size_t bytes;
    uint64_t dropped;
};

void stack_inbox_init(struct stack_inbox *q);
void stack_inbox_release(struct stack_inbox *q);
void stack_inbox_put(struct stack_inbox *q, const void *bytes, size_t n,
                     const struct stack_clock *clock);
struct stream_stacks *stack_inbox_take(struct stack_inbox *q); /* NULL: none */
uint64_t stack_inbox_dropped(struct stack_inbox *q);

#endif
