/* Entries inside other requests: their calls and labels become those of the outer one. Inside of
 * core.
 *
 * Invariant: a request that is merged is none of its own afterwards (account.h), and its labels
 * lead to the outer one. A request whose self time has been computed is not merged.
 * Ends no request. One thread. */
#ifndef KPROF_CORE_REQUEST_MERGE_H
#define KPROF_CORE_REQUEST_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct core;

/* All of `from` becomes part of `into`. */
void request_merge_into(struct core *c, uint32_t into, uint32_t from);
/* Calls that began before the entry of their request belong to none. */
void request_merge_drop_early(struct core *c, uint32_t req);
/* Now that it is known: into the request it is nested in, if there is one. True: req is no more. */
bool request_merge_resolve(struct core *c, uint32_t req);
/* Into req: the requests that wait for a label of it and are inside it. */
void request_merge_waiting(struct core *c, uint32_t req);

#endif
