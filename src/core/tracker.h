/* Follows events: calls onto stacks and into requests, returns off them. Inside of core.
 *
 * Invariant: every event that is a call is counted as received and accounted for once (account.h);
 * a call stands on the stack of its process until it returns, unwinds or is given up. Takes events
 * in the order in which they come; those that overtook each other are put right by attribution and
 * finalize. One thread. */
#ifndef KPROF_CORE_TRACKER_H
#define KPROF_CORE_TRACKER_H

#include <stdint.h>

struct core;
struct event;

struct tracker {
    uint64_t called_ns;  /* the newest call */
    uint64_t dropped_ns; /* when events were dropped last; 0: never */
};

void tracker_event(struct core *c, const struct event *ev);

#endif
