/* Adds calls and requests that have ended to the rows, and expires those that will never end.
 * Private to core.
 *
 * Invariant: a call is aggregated once, into the row of its tier and of the identity of its
 * request; a request is aggregated once, into `_total`. The calls of a request wait until their
 * identity is known: until grace_ns after the end of the request, or, for a long request, until
 * they are drained. One thread. */
#ifndef KPROF_CORE_FINALIZE_H
#define KPROF_CORE_FINALIZE_H

#include <stdint.h>

struct core;

struct finalizer {
    uint64_t next_due_ns;   /* nothing is due earlier; until then finalize_due may be skipped */
    uint64_t next_drain_ns; /* when ended calls of long requests are drained next */
    uint64_t next_scan_ns;  /* calls without a request are checked for age */
};

static inline void finalize_due_at(struct finalizer *f, uint64_t ts_ns)
{
    if (ts_ns < f->next_due_ns)
        f->next_due_ns = ts_ns;
}

enum call_end { END_RETURNED, END_ERROR, END_EXIT, END_EXPIRED };

/* The call `at` has just left its stack at ts. */
void finalize_popped(struct core *c, uint32_t at, uint64_t ts_ns, enum call_end how);
void finalize_due(struct core *c);                   /* handles everything that is due */
void finalize_expiring(struct core *c);              /* requests that lost their entry call */
void finalize_request(struct core *c, uint32_t req); /* adds a CLOSING request to the rows */
/* Finalizes calls of an open request early: those that ended at until_ns or before. */
void finalize_drain(struct core *c, uint32_t req, uint64_t until_ns);
void finalize_flush(struct core *c);

/* Returns the number of the identity of a call or request that began at began_ns; the number does
 * not change later. When all numbers are in use, an identity that only a former rule gave loses its
 * number. */
uint16_t finalize_ident(struct core *c, uint32_t name, uint64_t began_ns);

#endif
