/* The store of slow requests: the last requests with calls that took longer than a threshold, with
 * all their calls. They form a list; a line of it is a slow_entry. Private to core.
 *
 * Invariant: a request has one line with all its slow calls, as long as at most SLOW_STORE_OPEN
 * requests that have not ended have a line. At most `cap` lines have ended; they are numbered
 * 1, 2, ... in the order of their end over the run. The store has at most SLOW_STORE_REQUESTS
 * finished requests with at most SLOW_TRACE_CALLS calls each, and SLOW_STORE_BUILDING that are
 * still open. The oldest of each kind are dropped first (the slowest of each identity stay, see
 * slow_kept); further calls are only counted. A line refers to its request by id, and has the
 * first calls and the sums of the request for the time after the request is dropped. A finished
 * request with a second reference never changes: late calls go into a copy. Lines are allocated
 * when a threshold is first set, requests when they turn out slow or long. A line of slow_kept
 * has its trace (compact, once it has left the ring of the newest requests), unless it never had
 * one. One thread, except for references (core/slow_trace). */
#ifndef KPROF_CORE_SLOW_STORE_H
#define KPROF_CORE_SLOW_STORE_H

#include "slow_entry.h"
#include "slow_kept.h"
#include "slow_running.h"

#include <kprof/base/map.h>
#include <kprof/core/slow_trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLOW_STORE_REQUESTS = 200,
    SLOW_STORE_BUILDING = 64,
    SLOW_STORE_OPEN = 64,
    SLOW_STORE_EARLY = 1024
};
struct slow_store {
    uint64_t threshold_ns; /* 0: off */
    uint64_t since_ns; /* node time from which calls that long are stored; 0: from the beginning */
    struct {
        struct slow_entry *entry; /* a ring; NULL until a threshold was set */
        uint32_t cap, n, at;      /* at: position of the next */
        struct slow_entry *open;  /* lines of requests that have not ended, by first slow call */
        uint32_t n_open;
        uint64_t seq, done; /* the newest of each */
    } log;
    struct slow_kept kept;                                /* slowest lines that left the ring */
    struct slow_trace_request *slot[SLOW_STORE_REQUESTS]; /* a ring */
    uint64_t slot_done[SLOW_STORE_REQUESTS];              /* the number of its line; 0: none */
    uint32_t n, at;
    struct slow_running running; /* SLOW_TRACE_RUNNING calls of all of them */
    struct map by_end; /* end_ns -> slot: a late call has only the end time of its request */
    struct slow_trace_request *building[SLOW_STORE_BUILDING];
    struct slow_trace_early { /* a ring: late calls of requests that may close at any time */
        uint64_t request_end_ns;
        struct slow_trace_call call;
    } * early; /* NULL until the first late call */
    uint32_t n_early;
    uint64_t ids;
};

void slow_store_init(struct slow_store *s, uint32_t entries);
void slow_store_release(struct slow_store *s);
void slow_store_set(struct slow_store *s, uint64_t threshold_ns, uint64_t now_ns);
void slow_store_clear(struct slow_store *s); /* removes lines and finished requests */

static inline bool slow_store_is_slow(const struct slow_store *s, uint64_t duration_ns)
{
    return s->threshold_ns && duration_ns >= s->threshold_ns;
}

/* ---- the list of slow requests ---- */

/* Returns a blank line with its seq set, for the caller to fill; NULL when there is no threshold.
 * open: the line goes to the open ones, and if there are too many, the oldest open one counts as
 * ended. Otherwise it goes to those that have ended. */
struct slow_entry *slow_store_entry_new(struct slow_store *s, bool open);
/* Returns the line of a request that is not finalized yet or was finalized just before; NULL:
 * there is none. */
struct slow_entry *slow_store_entry_of(const struct slow_store *s, uint64_t seq, uint64_t request);
/* Returns the i-th newest: first open lines, then those that have ended, then those of slow_kept;
 * NULL after the last. */
struct slow_entry *slow_store_entry(const struct slow_store *s, uint32_t i);
/* Moves an open line to those that have ended. e is not valid afterwards. */
void slow_store_entry_end(struct slow_store *s, struct slow_entry *e);
void slow_store_entry_drop(struct slow_store *s, struct slow_entry *e); /* an open one */
void slow_store_end_all(struct slow_store *s);
void slow_store_forget_tier(struct slow_store *s, uint16_t tier);
void slow_store_rename(struct slow_store *s, uint32_t from, uint32_t to); /* of identities */

/* ---- requests ---- */

/* Begins to store a request that is still open. Returns its position in `building`, or -1 when
 * there is none. Reserves room for its entry call. */
int slow_store_begin(struct slow_store *s, uint64_t label, uint64_t start_ns);
/* Returns false when there is no room for the call. */
bool slow_store_add(struct slow_store *s, int at, const struct slow_trace_call *call);
void slow_store_drop(struct slow_store *s, int at); /* the request was not slow */
/* Sets the entry call and moves the request to the finished ones. The caller has set end_ns, ident,
 * error and the omitted counts. Returns its id. */
uint64_t slow_store_close(struct slow_store *s, int at, const struct slow_trace_call *entry);

/* The request that was closed last has the line with this number. */
void slow_store_closed_done(struct slow_store *s, uint64_t id, uint64_t done);
/* Stores a call that began after its request had ended at request_end_ns. If the request is not
 * closed yet, the call is stored until then, while there is room. */
void slow_store_late(struct slow_store *s, uint64_t request_end_ns,
                     const struct slow_trace_call *call);
/* Stores the end of a call that was running when its request closed. */
void slow_store_ended(struct slow_store *s, const struct slow_trace_call *call);

/* Returns the i-th newest: first those of the ring, then those of slow_kept; NULL: no more. */
const struct slow_trace_request *slow_store_request(const struct slow_store *s, uint32_t i);

#endif
