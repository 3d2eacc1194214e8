/* The processes and stacks that a recording has to name first if it begins in the middle: the agent
 * sends each name only once, and the samples refer to it by number.
 *
 * Invariant: after record_stacks_take of the messages 1 to n of a sampler, in their order, the
 * message of record_stacks_write makes the messages from n + 1 on readable. Taking a message again
 * does no harm. Survives any bytes: what cannot be read is left out. Takes RECORD_STACKS_BYTES of
 * memory at most. Not thread-safe: trace/record has the lock. */
#ifndef KPROF_TRACE_RECORD_STACKS_H
#define KPROF_TRACE_RECORD_STACKS_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>

#define RECORD_STACKS_BYTES ((size_t)16 << 20)

struct record_stacks;

struct record_stacks *record_stacks_new(void);
void record_stacks_free(struct record_stacks *r); /* NULL is fine */
/* The bytes of a frame RECORD_STACKS that is older than the recording. */
void record_stacks_take(struct record_stacks *r, const void *bytes, size_t n);
/* Appends the bytes of a frame that names them. False: there is nothing to name. */
bool record_stacks_write(const struct record_stacks *r, struct buf *out);

#endif
