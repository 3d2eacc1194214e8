/* What has ended becomes rows; what will never end is counted and let go. Inside of core.
 *
 * Invariant: a call is aggregated once, into the row of its tier and the identity of its request; a
 * request once, into `_total`. Its calls wait until it is known which identity they have: until
 * grace_ns after its end, or, of a long request, until they are drained. One thread. */
#ifndef KPROF_CORE_FINALIZE_H
#define KPROF_CORE_FINALIZE_H

#include <stdint.h>

struct core;

struct finalizer {
    uint64_t next_due_ns;   /* nothing is due before; finalize_due may be skipped */
    uint64_t next_drain_ns; /* long requests give up what has ended */
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
void finalize_due(struct core *c);                   /* everything whose time has come */
void finalize_expiring(struct core *c);              /* requests that lost their entry call */
void finalize_request(struct core *c, uint32_t req); /* CLOSING: to rows */
/* An open request: its calls that have ended by then, early. */
void finalize_drain(struct core *c, uint32_t req, uint64_t until_ns);
void finalize_flush(struct core *c);

/* The number of the identity of what began at began_ns, for good. Where all are used up, one that
 * only a former rule gave makes room. */
uint16_t finalize_ident(struct core *c, uint32_t name, uint64_t began_ns);

#endif
