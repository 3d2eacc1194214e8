/* A single-producer single-consumer ring of fixed-size records.
 *
 * Invariant: records come out whole, once, and in the order in which they went in. One thread
 * pushes, one thread consumes; any thread may call ring_fill and ring_lost. Never blocks, never
 * allocates after ring_new. Records pushed into a full ring are refused and counted in `lost`.
 * Source: Lamport 1983, with cached indices (Rigtorp). */
#ifndef KPROF_BASE_RING_H
#define KPROF_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

struct ring *ring_new(size_t capacity, size_t record_bytes); /* capacity is rounded up to 2^n */
void ring_free(struct ring *r);

size_t ring_push_n(struct ring *r, const void *records,
                   size_t n); /* producer; returns how many records went in; the others are lost */
/* Consumer: returns the length of the longest contiguous run of ready records (0: none). The
 * records stay in the ring until they are consumed. */
size_t ring_peek(struct ring *r, const void **records);
void ring_consume(struct ring *r, size_t n);

size_t ring_fill(const struct ring *r); /* records that are in the ring now */
size_t ring_capacity(const struct ring *r);
uint64_t ring_lost(const struct ring *r);

#endif
