/* A single-producer single-consumer ring of fixed-size records.
 *
 * Invariant: records come out in the order they went in, whole, once. One thread pushes, one
 * thread consumes; ring_fill and ring_lost may be called by any. Never blocks, never allocates
 * after ring_new. A push into a full ring is refused and counted in `lost`. Source: Lamport 1983,
 * with cached indices (Rigtorp). */
#ifndef KPROF_BASE_RING_H
#define KPROF_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

struct ring *ring_new(size_t capacity, size_t record_bytes); /* capacity is rounded up to 2^n */
void ring_free(struct ring *r);

size_t ring_push_n(struct ring *r, const void *records,
                   size_t n); /* producer; how many went in; the rest is lost */
/* Consumer: the longest contiguous run of ready records (0 if none); they stay until consumed. */
size_t ring_peek(struct ring *r, const void **records);
void ring_consume(struct ring *r, size_t n);

size_t ring_fill(const struct ring *r); /* records now in it */
size_t ring_capacity(const struct ring *r);
uint64_t ring_lost(const struct ring *r);

#endif
