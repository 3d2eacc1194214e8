/* The slow log: the last calls that took longer than a threshold, each with the calls of its
 * request. Inside of core.
 *
 * Invariant: a ring of at most `cap` entries; seq counts 1, 2, ... over the run. Allocates only
 * when a threshold is first set. One thread. */
#ifndef KPROF_CORE_SLOW_H
#define KPROF_CORE_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOW_TIERS = 32, SLOW_SUMS = 32, SLOW_ARGS_BYTES = 204 };

struct slow_tier {
    uint64_t start_ns, duration_ns, self_ns, pid; /* start: from the start of the request */
    uint8_t tier;
    bool error;
};

struct slow_sum { /* what a tier did in the request, all its calls together */
    uint64_t sum_ns, self_ns;
    uint32_t calls;
    uint8_t tier;
};

struct slow_entry {
    uint64_t seq, end_ns, pid, request, request_key;
    uint64_t duration_ns, request_ns; /* request_ns 0: still open, or no request */
    uint64_t kept;                    /* the kept request it is of; 0: none */
    char args[SLOW_ARGS_BYTES];       /* "": not known */
    uint32_t ident;                   /* identity index */
    uint8_t tier, n_tiers, n_sums;
    bool error, exit; /* exit: an error, the process died inside */
    struct slow_tier tiers[SLOW_TIERS];
    struct slow_sum sums[SLOW_SUMS]; /* by first call; tiers beyond it are left out */
};

struct slow {
    uint64_t threshold_ns; /* 0: off */
    struct slow_entry *entry;
    uint32_t cap, n, at; /* at: where the next goes */
    uint64_t seq;
};

void slow_init(struct slow *s, uint32_t entries);
void slow_release(struct slow *s);
void slow_set(struct slow *s, uint64_t threshold_ns);
void slow_clear(struct slow *s);
/* A blank entry with its seq set, for the caller to fill; NULL when the log is off. */
struct slow_entry *slow_new(struct slow *s);
/* i-th newest; NULL beyond the last. */
struct slow_entry *slow_newest(const struct slow *s, uint32_t i);
/* Of a request that has ended now: its calls that were logged before get its duration, its calls
 * and where it is kept. */
void slow_request_closed(struct slow *s, const struct slow_entry *whole);
/* Adds a call of the entry's request: to the list while there is room, and to its tier's sum. */
void slow_add_call(struct slow_entry *e, const struct slow_tier *call);
void slow_forget_tier(struct slow *s, uint16_t tier);

#endif
