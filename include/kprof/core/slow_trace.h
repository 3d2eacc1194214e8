/* A slow trace: a slow request with its calls. Snapshots hold references to it.
 *
 * Invariant: a slow trace with a second reference never changes. It holds at most SLOW_TRACE_CALLS
 * calls; calls beyond that are only counted. Reference counts are atomic, so any thread may drop
 * the last reference. Only core makes slow traces. */
#ifndef KPROF_CORE_SLOW_TRACE_H
#define KPROF_CORE_SLOW_TRACE_H

#include <kprof/core/time_part.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLOW_TRACE_CALLS = 500, SLOW_TRACE_IDENT_BYTES = 132 };

enum {
    SLOW_TRACE_ERROR = 1,
    SLOW_TRACE_LATE = 2,     /* began after its request had ended */
    SLOW_TRACE_RUNNING = 4,  /* had not ended when its request was closed, and is still open */
    SLOW_TRACE_DETAIL = 16,  /* its parts were recorded: it has pieces, if there was room */
    SLOW_TRACE_MAILBOX = 32, /* mailbox_us is known */
    SLOW_TRACE_ASYNC = 8     /* had not ended when its request was closed, but has ended since */
};

struct slow_trace_call {
    uint64_t start_ns, end_ns; /* node time; end 0 while it is running */
    uint64_t
        self_ns;  /* self time within the request, as in the rows; late call: its own self time */
    uint64_t pid; /* serial << 32 | id */
    uint32_t mailbox_us; /* time before its start for which its message was in the mailbox */
    uint8_t tier, flags;
};

struct slow_trace_request {
    _Atomic uint32_t refs;
    uint64_t id; /* 1, 2, ... over the session */
    uint64_t label, start_ns, end_ns;
    uint64_t omitted_self_ns; /* self time of the calls that are left out */
    uint32_t omitted;         /* number of the calls that are left out */
    uint32_t n, running;      /* calls in `call`; number of them that are SLOW_TRACE_RUNNING */
    uint32_t cap;
    bool error;
    char ident[SLOW_TRACE_IDENT_BYTES]; /* raw bytes from the node */
    /* Owned. The parts of its calls, by call, then by time; n_pieces 0: they were not recorded. */
    struct time_part_piece *piece;
    uint32_t n_pieces;
    uint32_t n_whats;
    char (*what)[PART_WHAT_BYTES]; /* the names that pieces refer to; text from the node */
    struct slow_trace_call call[]; /* the entry first; the others in order of arrival */
};

/* Both return a copy, for the caller to drop. slow_trace_copy: with room for cap calls; r has no
 * more than that. slow_trace_compact: with at most max calls, the entry and the longest ones; the
 * others are counted as omitted. */
struct slow_trace_request *slow_trace_copy(const struct slow_trace_request *r, uint32_t cap);
struct slow_trace_request *slow_trace_compact(const struct slow_trace_request *r, uint32_t max);
const struct slow_trace_request *slow_trace_ref(const struct slow_trace_request *r);
void slow_trace_unref(const struct slow_trace_request *r); /* NULL is fine */

#endif
