/* Texts that are wanted for a while only: written by one thread, fetched by another by handle, and
 * overwritten when the memory has gone round.
 *
 * Invariant: text_ring_get gives the whole text that got the handle, or nothing. One thread adds,
 * one gets, without locks; memory is reserved at the start and touched when first used. */
#ifndef KPROF_BASE_TEXT_RING_H
#define KPROF_BASE_TEXT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_RING_MAX_BYTES 256 /* longer texts are cut */

struct text_ring;

struct text_ring *text_ring_new(size_t bytes); /* at least 64 kB; rounded up to a power of 2 */
void text_ring_free(struct text_ring *s);
uint64_t text_ring_add(struct text_ring *s, const char *text, size_t n); /* its handle; never 0 */
/* Fills out, NUL-terminated and cut to cap; false: it is gone, or handle is 0. */
bool text_ring_get(const struct text_ring *s, uint64_t handle, char *out, size_t cap_bytes);

#endif
