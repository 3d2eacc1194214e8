/* The calls of slow requests, kept whole for a look at them. Inside of core; what is kept goes into
 * snapshots by reference.
 *
 * Invariant: at most KEPT_REQUESTS finished requests (the oldest go first) of at most KEPT_CALLS
 * calls, and KEPT_BUILDING that are still open; what is beyond is counted. A finished request that
 * someone else holds a reference to never changes: late work goes into a copy. Reference counts are
 * atomic, so the last holder may be any thread; all else is the core thread's. Allocates only for
 * requests that are slow or long. */
#ifndef KPROF_CORE_KEPT_H
#define KPROF_CORE_KEPT_H

#include <kprof/base/map.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    KEPT_REQUESTS = 200,
    KEPT_CALLS = 500,
    KEPT_BUILDING = 64,
    KEPT_EARLY = 1024,
    KEPT_IDENT_BYTES = 132
};

enum {
    KEPT_ERROR = 1,
    KEPT_LATE = 2,    /* began after its request had ended */
    KEPT_RUNNING = 4, /* had not ended when its request was closed, and has not since */
    KEPT_ASYNC = 8    /* ... but has since: it ended after its request */
};

struct kept_call {
    uint64_t start_ns, end_ns; /* target time; end 0 while it is running */
    uint64_t self_ns; /* of the request's time, as the rows count it; of a late call: its own */
    uint64_t pid;     /* serial << 32 | id */
    uint8_t tier, flags;
};

struct kept_request {
    _Atomic uint32_t refs;
    uint64_t id; /* 1, 2, ... over the session */
    uint64_t label, start_ns, end_ns;
    uint64_t unkept_self_ns; /* of the calls that are not here */
    uint32_t unkept;         /* how many */
    uint32_t n, running;     /* calls here; of these, KEPT_RUNNING */
    uint32_t cap;
    bool error;
    char ident[KEPT_IDENT_BYTES]; /* raw bytes of the target's */
    struct kept_call call[];      /* the entry first; the others as they came */
};

struct kept {
    struct kept_request *slot[KEPT_REQUESTS]; /* a ring */
    uint32_t n, at;
    uint32_t running;  /* calls of all of them */
    struct map by_end; /* end_ns -> slot: late work knows no more of its request */
    struct kept_request *building[KEPT_BUILDING];
    struct kept_early { /* late work of requests that may be closed any moment: a ring */
        uint64_t request_end_ns;
        struct kept_call call;
    } * early; /* NULL until the first */
    uint32_t n_early;
    uint64_t ids;
};

void kept_init(struct kept *k);
void kept_release(struct kept *k);
void kept_clear(struct kept *k); /* the finished ones */

/* A request that is still open: its place in `building`, or -1 when there is none. Room for its
 * entry is left. */
int kept_begin(struct kept *k, uint64_t label, uint64_t start_ns);
/* false: there is no room for it. */
bool kept_add(struct kept *k, int at, const struct kept_call *call);
void kept_drop(struct kept *k, int at); /* it was not slow after all */
/* Its entry call, and it is among the finished. end_ns, ident, error and what is not kept are set
 * by then. Returns its id. */
uint64_t kept_close(struct kept *k, int at, const struct kept_call *entry);

/* A call that began after a request had ended at request_end_ns. Of one that is not closed yet it
 * is remembered until then, while there is room. */
void kept_late(struct kept *k, uint64_t request_end_ns, const struct kept_call *call);
/* A call that was running when its request closed has ended. */
void kept_ended(struct kept *k, const struct kept_call *call);

const struct kept_request *kept_newest(const struct kept *k, uint32_t i); /* NULL beyond the last */
const struct kept_request *kept_ref(const struct kept_request *r);
void kept_unref(const struct kept_request *r); /* NULL is fine */

#endif
