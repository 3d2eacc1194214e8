/* The store of what was slow: the last calls that took longer than a threshold, and
 * the requests they were part of, with all their calls. Inside of core.
 *
 * Invariant: at most `cap` entries, numbered 1, 2, ... over the run; at most SLOW_STORE_REQUESTS
 * finished requests of at most SLOW_TRACE_CALLS calls, and SLOW_STORE_BUILDING that are still open;
 * of each kind the oldest go first, and calls beyond are counted. An entry names its request by id,
 * and has the first calls and the sums of it for when that is gone. A finished request that someone
 * else holds a reference to never changes: late work goes into a copy. The entries are allocated
 * when a threshold is first set, a request when it is slow or long. One thread, but for references
 * (core/slow_trace). */
#ifndef KPROF_CORE_SLOW_STORE_H
#define KPROF_CORE_SLOW_STORE_H

#include <kprof/base/map.h>
#include <kprof/core/slow_trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOW_STORE_REQUESTS = 200, SLOW_STORE_BUILDING = 64, SLOW_STORE_EARLY = 1024 };
enum { SLOW_ENTRY_CALLS = 32, SLOW_ENTRY_SUMS = 32, SLOW_ENTRY_ARGS_BYTES = 204 };

struct slow_entry_call {
    uint64_t start_ns, duration_ns, self_ns, pid; /* start: from the start of the request */
    uint8_t tier;
    bool error;
};

struct slow_entry_sum { /* what a tier did in the request, all its calls together */
    uint64_t sum_ns, self_ns;
    uint32_t calls;
    uint8_t tier;
};

struct slow_entry { /* a slow call */
    uint64_t seq, end_ns, pid;
    uint64_t request;                 /* label of its request; 0: none */
    uint64_t duration_ns, request_ns; /* request_ns 0: still open, or no request */
    uint64_t trace;                   /* id of its request in this store; 0: none */
    char args[SLOW_ENTRY_ARGS_BYTES]; /* "": not known */
    uint32_t ident;                   /* identity index */
    uint8_t tier, n_calls, n_sums;
    bool error, exit; /* exit: an error, the process died inside */
    struct slow_entry_call calls[SLOW_ENTRY_CALLS];
    struct slow_entry_sum sums[SLOW_ENTRY_SUMS]; /* by first call; tiers beyond it are left out */
};

struct slow_store {
    uint64_t threshold_ns; /* 0: off */
    struct {
        struct slow_entry *entry; /* a ring; NULL until a threshold was set */
        uint32_t cap, n, at;      /* at: where the next goes */
        uint64_t seq;
    } log;
    struct slow_trace_request *slot[SLOW_STORE_REQUESTS]; /* a ring */
    uint32_t n, at;
    uint32_t running;  /* calls of all of them */
    struct map by_end; /* end_ns -> slot: late work knows no more of its request */
    struct slow_trace_request *building[SLOW_STORE_BUILDING];
    struct slow_trace_early { /* late work of requests that may be closed any moment: a ring */
        uint64_t request_end_ns;
        struct slow_trace_call call;
    } * early; /* NULL until the first */
    uint32_t n_early;
    uint64_t ids;
};

void slow_store_init(struct slow_store *s, uint32_t entries);
void slow_store_release(struct slow_store *s);
void slow_store_set(struct slow_store *s, uint64_t threshold_ns);
void slow_store_clear(struct slow_store *s); /* entries and finished requests */

static inline bool slow_store_is_slow(const struct slow_store *s, uint64_t duration_ns)
{
    return s->threshold_ns && duration_ns >= s->threshold_ns;
}

/* ---- slow calls ---- */

/* A blank entry with its seq set, for the caller to fill; NULL when the log is off. */
struct slow_entry *slow_store_entry_new(struct slow_store *s);
/* i-th newest; NULL beyond the last. */
struct slow_entry *slow_store_entry(const struct slow_store *s, uint32_t i);
/* Adds a call of the entry's request: to the list while there is room, and to its tier's sum. */
void slow_store_entry_add(struct slow_entry *e, const struct slow_entry_call *call);
/* Of a request that has ended now: its calls that were logged before get its duration, its calls
 * and its id here. */
void slow_store_entry_complete(struct slow_store *s, const struct slow_entry *whole);
void slow_store_forget_tier(struct slow_store *s, uint16_t tier);

/* ---- requests ---- */

/* A request that is still open: its place in `building`, or -1 when there is none. Room for its
 * entry is left. */
int slow_store_begin(struct slow_store *s, uint64_t label, uint64_t start_ns);
/* false: there is no room for it. */
bool slow_store_add(struct slow_store *s, int at, const struct slow_trace_call *call);
void slow_store_drop(struct slow_store *s, int at); /* it was not slow after all */
/* Its entry call, and it is among the finished. end_ns, ident, error and what is left out are set
 * by then. Returns its id. */
uint64_t slow_store_close(struct slow_store *s, int at, const struct slow_trace_call *entry);

/* A call that began after a request had ended at request_end_ns. Of one that is not closed yet it
 * is remembered until then, while there is room. */
void slow_store_late(struct slow_store *s, uint64_t request_end_ns,
                     const struct slow_trace_call *call);
/* A call that was running when its request closed has ended. */
void slow_store_ended(struct slow_store *s, const struct slow_trace_call *call);

const struct slow_trace_request *slow_store_request(const struct slow_store *s,
                                                    uint32_t i); /* i-th newest; NULL: no more */

#endif
