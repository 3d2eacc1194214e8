/* Follows events: puts calls onto stacks and into requests, and takes them off the stacks when they
 * return. Private to core.
 *
 * Invariant: every event that is a call is counted as received and accounted for once (account.h).
 * A call is on the stack of its process until it returns, unwinds or expires. Events are taken in
 * the order of arrival; attribution and finalize handle events that arrive out of order. One
 * thread. */
#ifndef KPROF_CORE_TRACKER_H
#define KPROF_CORE_TRACKER_H

#include <kprof/core/tier.h>
#include <stdint.h>

enum { TRACKER_RUNS = 64 };

struct core;
struct event;

struct tracker {
    uint64_t called_ns;  /* the newest call */
    uint64_t dropped_ns; /* time of the last dropped events; 0: none */
    struct tracker_run {
        uint64_t pid, ts_ns;
        uint32_t fn;           /* two calls of the process returned to this function at once */
        uint8_t inner, outer;  /* their tiers */
    } run[TRACKER_RUNS];       /* the last ones; at the hash of the pid */
    uint64_t nested[TIER_MAX]; /* nested[a], bit b: a call of tier a inside of one of tier b, from
                            the same function, is not a tail call: each returns to that function */
    bool loops[TIER_MAX];      /* lean: an open call of the tier has made a tail call to itself */
};

void tracker_event(struct core *c, const struct event *ev);

#endif
