/* A ring of texts that are needed for a short time: one thread writes them, another fetches them by
 * handle, and the oldest are overwritten when the memory is full.
 *
 * Invariant: text_ring_get returns the whole text of the handle, or nothing. One thread adds and
 * one thread gets, without locks. Memory is reserved at the start and touched when it is first
 * used. */
#ifndef KPROF_BASE_TEXT_RING_H
#define KPROF_BASE_TEXT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_RING_MAX_BYTES 256 /* longer texts are cut */

struct text_ring;

struct text_ring *text_ring_new(size_t bytes); /* at least 64 kB; rounded up to a power of 2 */
void text_ring_free(struct text_ring *s);
uint64_t text_ring_add(struct text_ring *s, const char *text, size_t n); /* a handle, never 0 */
/* Copies the text to out, NUL-terminated and cut to cap_bytes. Returns false when the text is
 * overwritten or the handle is 0. */
bool text_ring_get(const struct text_ring *s, uint64_t handle, char *out, size_t cap_bytes);

#endif
