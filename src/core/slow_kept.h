/* The slowest requests of each identity, stored for the length of the history after newer ones push
 * them out of the slow log. Inside of core.
 *
 * Invariant: at most SLOW_KEPT entries, and at most SLOW_KEPT_EACH of an identity. These are the
 * slowest of all entries of the identity added here, as long as there is room for all identities
 * and no tier of the entries is dropped. Entries are in the order of `done`. Owns copies. One
 * thread. */
#ifndef KPROF_CORE_SLOW_KEPT_H
#define KPROF_CORE_SLOW_KEPT_H

#include "slow_entry.h"

enum { SLOW_KEPT = 256, SLOW_KEPT_EACH = 3 };

struct slow_kept {
    struct slow_kept_one {
        uint64_t took_ns;
        uint32_t ident; /* identity when it was added; the entry has the current one */
        struct slow_entry *entry;
    } of[SLOW_KEPT];
    uint32_t n;
};

/* Adds a copy of e, which has ended and leaves the slow log. */
void slow_kept_add(struct slow_kept *k, const struct slow_entry *e);
void slow_kept_forget_tier(struct slow_kept *k, uint16_t tier);
void slow_kept_clear(struct slow_kept *k);

#endif
