/* Calls that the node counted while its breaker was open, per tier and second. Private to core.
 *
 * Invariant: these calls are in no histogram and in none of `calls.*`. A value includes either
 * traced calls or counted calls; only rates include both. Counted calls have no durations, because
 * the call_time of the VM is not accurate. Seconds are those of core/window. At most COUNTED_MOST
 * records (one for a tier in a second) are stored; beyond that the oldest are dropped and remain
 * only in the sums of the run. One thread. */
#ifndef KPROF_CORE_COUNTED_H
#define KPROF_CORE_COUNTED_H

#include <kprof/core/event.h>
#include <kprof/core/tier.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTED_MOST 65536u

struct counted_sums {
    uint64_t covered_ns; /* time in which calls were counted */
    uint64_t calls[TIER_MAX];
};

struct counted_record {
    uint64_t sec : 48, tier : 16;
    uint64_t calls; /* TIER_NONE: ns of counted time */
};

struct counted {
    struct counted_record *record; /* a ring once it is full; NULL: no record yet */
    size_t n, cap, first;
    struct counted_sums run;
    uint64_t covered_ns; /* the time that the last message covers */
};

void counted_release(struct counted *c); /* empty again */
/* Adds one EVENT_COUNTED of a message; the one without a tier is first. start_ns: start of second
 * 0. The count is divided between the two seconds that it may cover. */
void counted_add(struct counted *c, uint64_t start_ns, const struct event *ev);
/* Writes the sums of the seconds [from_s, to_s) to *out. */
void counted_read(const struct counted *c, uint64_t from_s, uint64_t to_s,
                  struct counted_sums *out);

#endif
