/* The slowest requests of each identity, stored for the length of the history after newer ones have
 * replaced them in the list of slow requests (slow_store), each with a compact slow trace. A line
 * is a slow_entry. Private to core.
 *
 * Invariant: at most SLOW_KEPT lines, and at most SLOW_KEPT_EACH of an identity. These are the
 * slowest of all lines of the identity added here, as long as there is room for all identities and
 * no tier of the lines is dropped. Lines are in the order of `done`, each number once. A trace that
 * left the ring of the newest requests has at most SLOW_KEPT_CALLS calls, so the calls of all of
 * them use at most SLOW_KEPT * (sizeof (struct slow_trace_request) + SLOW_KEPT_CALLS * sizeof
 * (struct slow_trace_call)), 1.1 MB. The lines use 0.9 MB; pieces and names of detailed requests
 * (DETAIL_TRACE_PIECES and DETAIL_NAMES for each request) use up to 19 MB. Owns copies. One thread.
 */
#ifndef KPROF_CORE_SLOW_KEPT_H
#define KPROF_CORE_SLOW_KEPT_H

#include "slow_entry.h"

#include <kprof/core/slow_trace.h>

enum { SLOW_KEPT = 256, SLOW_KEPT_EACH = 3, SLOW_KEPT_CALLS = 100 };

struct slow_kept {
    struct slow_kept_one {
        uint64_t took_ns;
        uint32_t ident; /* identity when it was added; the line has the current one */
        struct slow_entry *entry;
        const struct slow_trace_request *trace; /* a reference; NULL: none */
        bool compact; /* the trace has left the ring of the newest requests */
    } of[SLOW_KEPT];
    uint32_t n;
};

/* Adds a copy of e, which has ended and leaves the list, or whose trace leaves the ring of the
 * newest requests. It takes a reference to trace; NULL: none. */
void slow_kept_add(struct slow_kept *k, const struct slow_entry *e,
                   const struct slow_trace_request *trace);
/* The trace of the line with this number leaves the ring of the newest requests: stores a compact
 * copy of it, in which a running call stays running. False: the line is not stored here. */
bool slow_kept_compact(struct slow_kept *k, uint64_t done, const struct slow_trace_request *trace);
/* Returns how many lines have a number below `done`. */
uint32_t slow_kept_before(const struct slow_kept *k, uint64_t done);
void slow_kept_forget_tier(struct slow_kept *k, uint16_t tier);
void slow_kept_clear(struct slow_kept *k);

#endif
