/* Merges each request that began and ended within the request whose trace token its process had
 * before: its calls and labels become those of the outer request. Private to core.
 *
 * Invariant: a merged request no longer counts as a request (account.h), and its labels lead to the
 * outer request. A request whose self time has been computed is not merged. This unit ends no
 * request. One thread. */
#ifndef KPROF_CORE_REQUEST_MERGE_H
#define KPROF_CORE_REQUEST_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct core;

/* Makes all of `from` part of `into`. */
void request_merge_into(struct core *c, uint32_t into, uint32_t from);
/* Counts calls that began before the entry of their request as unattributed. */
void request_merge_drop_early(struct core *c, uint32_t req);
/* Merges req into the request that it is nested in, if that request is known by now. Returns true
 * when req no longer exists. */
bool request_merge_resolve(struct core *c, uint32_t req);
/* Merges into req the requests that wait for one of its labels and lie inside it. */
void request_merge_waiting(struct core *c, uint32_t req);

#endif
