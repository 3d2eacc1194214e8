/* The calls of slow requests, kept whole for a look at them. Inside of core; what is kept goes into
 * snapshots by reference.
 *
 * Invariant: at most SLOW_TRACE_REQUESTS finished requests (the oldest go first) of at most
 * SLOW_TRACE_CALLS calls, and SLOW_TRACE_BUILDING that are still open; what is beyond is counted. A
 * finished request that someone else holds a reference to never changes: late work goes into a
 * copy. Reference counts are atomic, so the last holder may be any thread; all else is the core
 * thread's. Allocates only for requests that are slow or long. */
#ifndef KPROF_CORE_SLOW_TRACE_H
#define KPROF_CORE_SLOW_TRACE_H

#include <kprof/base/map.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SLOW_TRACE_REQUESTS = 200,
    SLOW_TRACE_CALLS = 500,
    SLOW_TRACE_BUILDING = 64,
    SLOW_TRACE_EARLY = 1024,
    SLOW_TRACE_IDENT_BYTES = 132
};

enum {
    SLOW_TRACE_ERROR = 1,
    SLOW_TRACE_LATE = 2,    /* began after its request had ended */
    SLOW_TRACE_RUNNING = 4, /* had not ended when its request was closed, and has not since */
    SLOW_TRACE_ASYNC = 8    /* ... but has since: it ended after its request */
};

struct slow_trace_call {
    uint64_t start_ns, end_ns; /* target time; end 0 while it is running */
    uint64_t self_ns; /* of the request's time, as the rows count it; of a late call: its own */
    uint64_t pid;     /* serial << 32 | id */
    uint8_t tier, flags;
};

struct slow_trace_request {
    _Atomic uint32_t refs;
    uint64_t id; /* 1, 2, ... over the session */
    uint64_t label, start_ns, end_ns;
    uint64_t untold_self_ns; /* of the calls that are not here */
    uint32_t untold;         /* how many */
    uint32_t n, running;     /* calls here; of these, SLOW_TRACE_RUNNING */
    uint32_t cap;
    bool error;
    char ident[SLOW_TRACE_IDENT_BYTES]; /* raw bytes of the target's */
    struct slow_trace_call call[];      /* the entry first; the others as they came */
};

struct slow_traces {
    struct slow_trace_request *slot[SLOW_TRACE_REQUESTS]; /* a ring */
    uint32_t n, at;
    uint32_t running;  /* calls of all of them */
    struct map by_end; /* end_ns -> slot: late work knows no more of its request */
    struct slow_trace_request *building[SLOW_TRACE_BUILDING];
    struct slow_trace_early { /* late work of requests that may be closed any moment: a ring */
        uint64_t request_end_ns;
        struct slow_trace_call call;
    } * early; /* NULL until the first */
    uint32_t n_early;
    uint64_t ids;
};

void slow_trace_init(struct slow_traces *k);
void slow_trace_release(struct slow_traces *k);
void slow_trace_clear(struct slow_traces *k); /* the finished ones */

/* A request that is still open: its place in `building`, or -1 when there is none. Room for its
 * entry is left. */
int slow_trace_begin(struct slow_traces *k, uint64_t label, uint64_t start_ns);
/* false: there is no room for it. */
bool slow_trace_add(struct slow_traces *k, int at, const struct slow_trace_call *call);
void slow_trace_drop(struct slow_traces *k, int at); /* it was not slow after all */
/* Its entry call, and it is among the finished. end_ns, ident, error and what is not kept are set
 * by then. Returns its id. */
uint64_t slow_trace_close(struct slow_traces *k, int at, const struct slow_trace_call *entry);

/* A call that began after a request had ended at request_end_ns. Of one that is not closed yet it
 * is remembered until then, while there is room. */
void slow_trace_late(struct slow_traces *k, uint64_t request_end_ns,
                     const struct slow_trace_call *call);
/* A call that was running when its request closed has ended. */
void slow_trace_ended(struct slow_traces *k, const struct slow_trace_call *call);

const struct slow_trace_request *slow_trace_newest(const struct slow_traces *k,
                                                   uint32_t i); /* NULL beyond the last */
const struct slow_trace_request *slow_trace_ref(const struct slow_trace_request *r);
void slow_trace_unref(const struct slow_trace_request *r); /* NULL is fine */

#endif
