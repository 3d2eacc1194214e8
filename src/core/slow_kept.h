/* The slowest requests of each identity, stored for the length of the history after newer ones have
 * replaced them in the slow log, each with a compact slow trace. Inside of core.
 *
 * Invariant: at most SLOW_KEPT entries, and at most SLOW_KEPT_EACH of an identity. These are the
 * slowest of all entries of the identity added here, as long as there is room for all identities
 * and no tier of the entries is dropped. Entries are in the order of `done`, each number once. A
 * trace that left the ring of the newest has at most SLOW_KEPT_CALLS calls, so all of them use at
 * most SLOW_KEPT * (sizeof (struct slow_trace_request) + SLOW_KEPT_CALLS * sizeof (struct
 * slow_trace_call)), 1.1 MB, in addition to 0.9 MB of entries. Owns copies. One thread. */
#ifndef KPROF_CORE_SLOW_KEPT_H
#define KPROF_CORE_SLOW_KEPT_H

#include "slow_entry.h"

#include <kprof/core/slow_trace.h>

enum { SLOW_KEPT = 256, SLOW_KEPT_EACH = 3, SLOW_KEPT_CALLS = 100 };

struct slow_kept {
    struct slow_kept_one {
        uint64_t took_ns;
        uint32_t ident; /* identity when it was added; the entry has the current one */
        struct slow_entry *entry;
        const struct slow_trace_request *trace; /* a reference; NULL: none */
        bool compact;                           /* the trace has left the ring of the newest */
    } of[SLOW_KEPT];
    uint32_t n;
};

/* Adds a copy of e, which has ended and leaves the slow log, or whose trace leaves the ring of the
 * newest. trace: of which it takes a reference; NULL: none. */
void slow_kept_add(struct slow_kept *k, const struct slow_entry *e,
                   const struct slow_trace_request *trace);
/* The trace of the entry with this number leaves the ring of the newest: stores a compact copy of
 * it, in which a running call stays running. False: the entry is not stored here. */
bool slow_kept_compact(struct slow_kept *k, uint64_t done, const struct slow_trace_request *trace);
/* Returns how many entries have a number below `done`. */
uint32_t slow_kept_before(const struct slow_kept *k, uint64_t done);
void slow_kept_forget_tier(struct slow_kept *k, uint16_t tier);
void slow_kept_clear(struct slow_kept *k);

#endif
