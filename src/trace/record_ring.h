/* The newest frames of a recording, in memory, until they are written to a file.
 *
 * Invariant: takes max_bytes of memory at most; the oldest frames make room for new ones. A frame
 * that is larger than the ring is left out. Not thread-safe: trace/record has the lock. */
#ifndef KPROF_TRACE_RECORD_RING_H
#define KPROF_TRACE_RECORD_RING_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_FRAME_BYTES 13 /* the head of a frame: kind, stamp_ns, length */

struct record_ring;

/* Takes a frame that leaves the ring, with its head. */
typedef void record_ring_left(void *arg, const uint8_t *frame, size_t n);

/* left: called for each frame of this kind that makes room for new ones, or that is cleared */
struct record_ring *record_ring_new(size_t max_bytes, char kind, record_ring_left *left, void *arg);
void record_ring_free(struct record_ring *r); /* NULL is fine */
void record_ring_clear(struct record_ring *r);
/* head: RECORD_FRAME_BYTES */
void record_ring_add(struct record_ring *r, const uint8_t *head, const void *bytes, size_t n);
/* Visits the frames, oldest first. Begin with *at = 0. Returns the bytes of the frame with its
 * head, copied to out, which record_ring_walk makes large enough (free it at the end); 0: the end.
 * Nothing may be added during the walk. */
size_t record_ring_walk(const struct record_ring *r, size_t *at, uint8_t **out, size_t *cap);

#endif
