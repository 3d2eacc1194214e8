/* A line of the list of slow requests: a request with all its slow calls, or a slow call without a
 * request. Private to core.
 *
 * Invariant: n_slow counts each slow call given to slow_entry_note once. `slow` contains the
 * longest slow call of each tier while there is room for tiers. The sums cover all calls of the
 * request given to slow_entry_add, slow or not. Plain values: they can be copied and own nothing.
 * */
#ifndef KPROF_CORE_SLOW_ENTRY_H
#define KPROF_CORE_SLOW_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SLOW_ENTRY_SLOW = 4,
    SLOW_ENTRY_CALLS = 32,
    SLOW_ENTRY_SUMS = 32,
    SLOW_ENTRY_ARGS_BYTES = 204
};

struct slow_entry_call {
    uint64_t start_ns, duration_ns, self_ns, pid; /* start: from the start of the request */
    uint32_t mailbox_us;                          /* with mailbox_known */
    uint8_t tier;
    bool error, mailbox_known;
};

struct slow_entry_sum { /* all calls of a tier in the request */
    uint64_t sum_ns, self_ns;
    uint64_t most_self_ns, pid; /* of the call with the most self time */
    uint32_t calls;
    uint8_t tier;
};

struct slow_entry_slow { /* the slow calls of a tier: the longest, and how many */
    uint64_t end_ns, duration_ns, pid;
    uint32_t calls;
    uint8_t tier;
    bool error, exit;                 /* exit: the process died inside (also an error) */
    char args[SLOW_ENTRY_ARGS_BYTES]; /* "": not known */
};

struct slow_entry {
    uint64_t seq;        /* 1, 2, ... by the first slow call */
    uint64_t done;       /* 1, 2, ... by the end of the request; 0: it is still open */
    uint64_t end_ns;     /* end of the request, or of the last slow call if that is later */
    uint64_t soonest_ns; /* the first end of a slow call */
    uint64_t request;    /* label of the request; 0: none */
    uint64_t request_ns; /* duration of the request; 0: not ended, expired, or no request */
    uint64_t trace;      /* id of the request in slow_store; 0: none */
    uint32_t ident;      /* identity index */
    uint32_t n_slow;
    uint8_t slow_tiers, n_calls, n_sums;
    struct slow_entry_slow slow[SLOW_ENTRY_SLOW];
    struct slow_entry_call calls[SLOW_ENTRY_CALLS]; /* the first calls */
    struct slow_entry_sum sums[SLOW_ENTRY_SUMS];    /* by first call; further tiers are left out */
};

/* Adds a slow call to the line (`calls` of the argument is 1). */
void slow_entry_note(struct slow_entry *e, const struct slow_entry_slow *call);
/* Adds a call of the request: to the list while there is room, and to its tier's sum. */
void slow_entry_add(struct slow_entry *e, const struct slow_entry_call *call);
/* Adds all slow calls of `from` to e: both are one request. */
void slow_entry_absorb(struct slow_entry *e, const struct slow_entry *from);
/* Removes the slow calls of a tier. Returns false when no slow call is left. */
bool slow_entry_forget_tier(struct slow_entry *e, uint16_t tier);

/* Returns the longest slow call. */
const struct slow_entry_slow *slow_entry_longest(const struct slow_entry *e);

#endif
