/* Calls that were counted on the target while nothing was traced (its breaker was open, or tracing
 * was about to begin): per tier, by the second. Inside of core.
 *
 * Invariant: these calls are in no histogram and in none of `calls.*`; a figure is of traced calls
 * or of counted ones, never of both, but for rates. Nobody times a counted call: the VM's call_time
 * is not true. Seconds are those of core/window. At most COUNTED_MOST records (a tier in a second);
 * then the oldest go, and are in the run's sums only. One thread. */
#ifndef KPROF_CORE_COUNTED_H
#define KPROF_CORE_COUNTED_H

#include <kprof/core/event.h>
#include <kprof/core/tier.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTED_MOST 65536u

struct counted_sums {
    uint64_t covered_ns; /* for so long calls were counted */
    uint64_t calls[TIER_MAX];
};

struct counted_record {
    uint64_t sec : 48, tier : 16;
    uint64_t calls; /* of TIER_NONE: ns that were covered */
};

struct counted {
    struct counted_record *record; /* a ring once it is full; NULL: nothing yet */
    size_t n, cap, first;
    struct counted_sums run;
    uint64_t covered_ns; /* the time that the last message tells of */
};

void counted_release(struct counted *c); /* empty again */
/* An EVENT_COUNTED, one of a message: that without a tier comes first. start_ns: where second 0
 * begins. What it tells is spread over the two seconds it may touch. */
void counted_add(struct counted *c, uint64_t start_ns, const struct event *ev);
/* The sums of the seconds [from_s, to_s) into *out. */
void counted_read(const struct counted *c, uint64_t from_s, uint64_t to_s,
                  struct counted_sums *out);

#endif
