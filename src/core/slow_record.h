/* Decides which calls and requests go into the store of slow requests (slow_store). finalize calls
 * it when calls and requests end. Private to core.
 *
 * Invariant: this unit changes no call, no counter and no row; of a request it changes only its
 * position in the store. A request is stored if it or one of its calls was slow. Until this is
 * known, the calls that it finalized early are in `building`. One thread. */
#ifndef KPROF_CORE_SLOW_RECORD_H
#define KPROF_CORE_SLOW_RECORD_H

#include <stdint.h>

struct core;
struct call;
struct request;

/* Records the slow call `at` in the line of its request r; NULL: the call has no request and gets
 * its own line. */
void slow_record_call(struct core *c, uint32_t at, struct request *r, uint16_t ident);
/* Adds the rest of r to its line, if r has one. r is closing and all its calls were recorded.
 * trace: id of r in the store, 0: r is not stored. */
void slow_record_complete(struct core *c, const struct request *r, uint16_t ident, uint64_t trace);

/* Stores a member of a request when the member leaves the list of the request, which is still open.
 * */
void slow_record_drained(struct core *c, uint32_t req, const struct call *f);
/* Stores the calls of a request that is being finalized, if it is slow. Its self times have been
 * computed. Returns its id in the store; 0: it is not stored. */
uint64_t slow_record_finalized(struct core *c, uint32_t req);
/* Handles a request that expires: its line in the list of slow requests stays. */
void slow_record_expired(struct core *c, uint32_t req);
/* Gives the slow calls of `from` to `into`: `from` turned out to be part of `into`. */
void slow_record_merged(struct core *c, uint32_t into, uint32_t from);
/* Handles a call without a request that has ended: it may be a late call of a request in the store.
 * */
void slow_record_alone(struct core *c, const struct call *f);

#endif
