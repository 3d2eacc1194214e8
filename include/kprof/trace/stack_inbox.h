/* Queues messages with stack samples from the reader thread for the core thread.
 * Invariant: the queued messages take at most STACK_INBOX_BYTES, each with its struct
 * stack_message; one that does not fit is dropped and counted. Each is copied once. The reader adds
 * messages, any one thread takes them. The fields are private. */
#ifndef KPROF_TRACE_STACK_INBOX_H
#define KPROF_TRACE_STACK_INBOX_H

#include <kprof/trace/stack_decode.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_INBOX_BYTES ((size_t)16 << 20)

/* A message for stack_decoder_feed, and the clock of its stamps. */
struct stack_message {
    struct stack_message *next; /* private */
    struct node_clock clock;
    size_t n;
    uint8_t bytes[];
};

struct stack_inbox {
    pthread_mutex_t lock;
    struct stack_message *first, *last;
    size_t bytes;
    uint64_t dropped;
};

void stack_inbox_init(struct stack_inbox *q);
void stack_inbox_release(struct stack_inbox *q);
void stack_inbox_put(struct stack_inbox *q, const void *bytes, size_t n,
                     const struct node_clock *clock);
/* Returns the oldest message, which the caller frees with stack_message_free; NULL: none. */
struct stack_message *stack_inbox_take(struct stack_inbox *q);
void stack_message_free(struct stack_message *m);
uint64_t stack_inbox_dropped(struct stack_inbox *q);

#endif
