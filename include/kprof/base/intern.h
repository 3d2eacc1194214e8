/* Byte strings to small ids and back, append-only.
 *
 * Invariant: the same bytes always give the same id. Ids count up from 1; id 0 means "none" and
 * stands for the empty string (so intern_add of no bytes returns 0). Strings never move and are
 * NUL-terminated. One thread adds; any thread may call intern_str/intern_len with an id that it
 * received through an acquire (ring, mutex). Bounded: beyond max_ids or max_bytes, intern_add
 * returns INTERN_FULL and counts the refusal. An adder of names without an end of their own (such
 * as identities) leaves room for others with intern_add_leaving. */
#ifndef KPROF_BASE_INTERN_H
#define KPROF_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#define INTERN_NONE 0u
#define INTERN_FULL UINT32_MAX

struct intern;

struct intern *intern_new(uint32_t max_ids, size_t max_bytes);
void intern_free(struct intern *t);
uint32_t intern_add(struct intern *t, const void *bytes, size_t n); /* adder thread */
/* A new string is refused, too, if it would leave less room than this. Adder thread. */
uint32_t intern_add_leaving(struct intern *t, const void *bytes, size_t n, uint32_t leave_ids,
                            size_t leave_bytes);
/* How many ids and bytes (each string has one more, its NUL) are left. Adder thread. */
void intern_room(const struct intern *t, uint32_t *ids, size_t *bytes);
uint32_t intern_find(const struct intern *t, const void *bytes,
                     size_t n);                              /* adder thread; 0: unknown */
const char *intern_str(const struct intern *t, uint32_t id); /* "" for none, "<other>" for full */
size_t intern_len(const struct intern *t, uint32_t id);
uint32_t intern_count(const struct intern *t);
uint64_t intern_refused(const struct intern *t);

#endif
