/* Texts that are wanted for a while only: written by one thread, fetched by another by ticket, and
 * overwritten when the memory has gone round.
 *
 * Invariant: scraps_get gives the whole text that got the ticket, or nothing. One thread adds, one
 * gets, without locks; memory is reserved at the start and touched when first used. */
#ifndef KPROF_BASE_SCRAP_H
#define KPROF_BASE_SCRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRAP_MAX_BYTES 256 /* longer texts are cut */

struct scraps;

struct scraps *scraps_new(size_t bytes); /* at least 64 kB; rounded up to a power of 2 */
void scraps_free(struct scraps *s);
uint64_t scraps_add(struct scraps *s, const char *text, size_t n); /* its ticket; never 0 */
/* Fills out, NUL-terminated and cut to cap; false: it is gone, or ticket is 0. */
bool scraps_get(const struct scraps *s, uint64_t ticket, char *out, size_t cap_bytes);

#endif
