/* Which calls and requests go into the store of what was slow (slow_store), told by finalize where
 * they end. Inside of core.
 *
 * Invariant: changes no call, no counter and no row; of a request only its place in the store. A
 * request is stored if it or a call of it was slow; until that is known, what it has given up early
 * is kept in `building`. One thread. */
#ifndef KPROF_CORE_SLOW_RECORD_H
#define KPROF_CORE_SLOW_RECORD_H

#include <stdint.h>

struct core;
struct call;
struct request;

/* The call at `at` was slow: into the entry of its request r; NULL: it has none, and gets an entry
 * of its own. */
void slow_record_call(struct core *c, uint32_t at, struct request *r, uint16_t ident);
/* r is closing and all its calls were told: its entry, if it has one, gets the rest of it. trace:
 * its id in the store, 0: it is not there. */
void slow_record_complete(struct core *c, const struct request *r, uint16_t ident, uint64_t trace);

/* A member of a request that goes on leaves its list. */
void slow_record_drained(struct core *c, uint32_t req, const struct call *f);
/* A request is being finalized, its self times are given out: its calls, if it is slow. Returns its
 * id in the store; 0: it is not there. */
uint64_t slow_record_finalized(struct core *c, uint32_t req);
/* A request is given up: what is known of it stays in the log. */
void slow_record_expired(struct core *c, uint32_t req);
/* `from` turned out to be part of `into`: so do its slow calls. */
void slow_record_merged(struct core *c, uint32_t into, uint32_t from);
/* A call without a request has ended: it may be late work of one in the store. */
void slow_record_alone(struct core *c, const struct call *f);

#endif
