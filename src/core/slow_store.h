/* The store of what was slow: the last requests with calls that took longer than a threshold, with
 * all their calls. Inside of core.
 *
 * Invariant: of a request one entry, which has all its slow calls, as long as at most
 * SLOW_STORE_OPEN requests that have not ended have one. Those that have ended: at most `cap`,
 * numbered 1, 2, ... in this order over the run; at most SLOW_STORE_REQUESTS
 * finished requests of at most SLOW_TRACE_CALLS calls, and SLOW_STORE_BUILDING that are still open;
 * of each kind the oldest go first (the slowest of each identity stay, see slow_kept), and calls
 * beyond are counted. An entry names its request by id,
 * and has the first calls and the sums of it for when that is gone. A finished request that someone
 * else holds a reference to never changes: late work goes into a copy. The entries are allocated
 * when a threshold is first set, a request when it is slow or long. One thread, but for references
 * (core/slow_trace). */
#ifndef KPROF_CORE_SLOW_STORE_H
#define KPROF_CORE_SLOW_STORE_H

#include "slow_entry.h"
#include "slow_kept.h"

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
    struct {
        struct slow_entry *entry; /* a ring; NULL until a threshold was set */
        uint32_t cap, n, at;      /* at: where the next goes */
        struct slow_entry *open;  /* of requests that have not ended, by their first slow call */
        uint32_t n_open;
        uint64_t seq, done; /* the newest of each */
    } log;
    struct slow_kept kept;                                /* of those that left the ring */
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

/* ---- the slow log ---- */

/* A blank entry with its seq set, for the caller to fill; NULL when the log is off. It is among
 * those that are done, or among the open ones, of which the oldest is done when there are too
 * many. */
struct slow_entry *slow_store_entry_new(struct slow_store *s, bool open);
/* The entry of a request that has not been settled yet, or was just now; NULL: there is none. */
struct slow_entry *slow_store_entry_of(const struct slow_store *s, uint64_t seq, uint64_t request);
/* i-th newest: open ones, those that are done, those that are kept; NULL beyond the last. */
struct slow_entry *slow_store_entry(const struct slow_store *s, uint32_t i);
/* Nothing more is to come for it: it is done now. e is not valid any more. */
void slow_store_entry_settle(struct slow_store *s, struct slow_entry *e);
void slow_store_entry_drop(struct slow_store *s, struct slow_entry *e); /* an open one */
void slow_store_settle_all(struct slow_store *s);
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
