/* A slow request with its calls, as it goes into snapshots by reference.
 *
 * Invariant: one that someone holds a reference to never changes, and holds at most
 * SLOW_TRACE_CALLS calls and those that were added after it had ended; what is beyond is counted.
 * Reference counts are atomic, so the last holder may be any thread. Made by core only. */
#ifndef KPROF_CORE_SLOW_TRACE_H
#define KPROF_CORE_SLOW_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLOW_TRACE_CALLS = 500, SLOW_TRACE_IDENT_BYTES = 132 };

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
    uint64_t omitted_self_ns; /* of the calls that are not here */
    uint32_t omitted;         /* how many */
    uint32_t n, running;      /* calls here; of these, SLOW_TRACE_RUNNING */
    uint32_t cap;
    bool error;
    char ident[SLOW_TRACE_IDENT_BYTES]; /* raw bytes of the target's */
    struct slow_trace_call call[];      /* the entry first; the others as they came */
};

const struct slow_trace_request *slow_trace_ref(const struct slow_trace_request *r);
void slow_trace_unref(const struct slow_trace_request *r); /* NULL is fine */

#endif
