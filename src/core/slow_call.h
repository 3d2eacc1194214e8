/* The slow log: the last calls that took longer than a threshold, each with the calls of its
 * request. Inside of core.
 *
 * Invariant: a ring of at most `cap` entries; seq counts 1, 2, ... over the run. Allocates only
 * when a threshold is first set. One thread. */
#ifndef KPROF_CORE_SLOW_CALL_H
#define KPROF_CORE_SLOW_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOW_TIERS = 32, SLOW_SUMS = 32, SLOW_ARGS_BYTES = 204 };

struct slow_call_tier {
    uint64_t start_ns, duration_ns, self_ns, pid; /* start: from the start of the request */
    uint8_t tier;
    bool error;
};

struct slow_call_sum { /* what a tier did in the request, all its calls together */
    uint64_t sum_ns, self_ns;
    uint32_t calls;
    uint8_t tier;
};

struct slow_call_entry {
    uint64_t seq, end_ns, pid, request; /* request: its label; 0: none */
    uint64_t duration_ns, request_ns;   /* request_ns 0: still open, or no request */
    uint64_t trace;                     /* the kept request it is of; 0: none */
    char args[SLOW_ARGS_BYTES];         /* "": not known */
    uint32_t ident;                     /* identity index */
    uint8_t tier, n_tiers, n_sums;
    bool error, exit; /* exit: an error, the process died inside */
    struct slow_call_tier tiers[SLOW_TIERS];
    struct slow_call_sum sums[SLOW_SUMS]; /* by first call; tiers beyond it are left out */
};

struct slow_calls {
    uint64_t threshold_ns; /* 0: off */
    struct slow_call_entry *entry;
    uint32_t cap, n, at; /* at: where the next goes */
    uint64_t seq;
};

void slow_call_init(struct slow_calls *s, uint32_t entries);
void slow_call_release(struct slow_calls *s);
void slow_call_set(struct slow_calls *s, uint64_t threshold_ns);
void slow_call_clear(struct slow_calls *s);
/* A blank entry with its seq set, for the caller to fill; NULL when the log is off. */
struct slow_call_entry *slow_call_new(struct slow_calls *s);
/* i-th newest; NULL beyond the last. */
struct slow_call_entry *slow_call_newest(const struct slow_calls *s, uint32_t i);
/* Of a request that has ended now: its calls that were logged before get its duration, its calls
 * and where it is kept. */
void slow_call_request_closed(struct slow_calls *s, const struct slow_call_entry *whole);
/* Adds a call of the entry's request: to the list while there is room, and to its tier's sum. */
void slow_call_add_call(struct slow_call_entry *e, const struct slow_call_tier *call);
void slow_call_forget_tier(struct slow_calls *s, uint16_t tier);

#endif
