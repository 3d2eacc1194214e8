/* One request on a time axis: its calls as rows, what each did at every instant, and who waited for
 * whom. Pure; any thread.
 *
 * Invariant: the rows' self times (late work apart) and omitted_ns add up to the request's
 * duration, to the nanosecond; of each row the stretches follow one another from its start to its
 * end within the request, and where all calls are kept those of SELF add up to its self time. As in
 * the table, an instant belongs to the open call that began last, in whatever process. */
#ifndef KPROF_CORE_WATERFALL_H
#define KPROF_CORE_WATERFALL_H

#include <kprof/core/slow_trace.h>
#include <stddef.h>

#define FALL_NIL UINT32_MAX

enum waterfall_kind {
    FALL_SELF,
    FALL_INNER, /* in a call that it made itself, in its own process */
    FALL_WAIT   /* another process is in a call of the request: `other` */
};

struct waterfall_stretch {
    uint64_t from_ns, to_ns; /* from the start of the request */
    enum waterfall_kind kind;
    uint32_t other; /* WAIT: the row waited for: of those open, the one that began next */
};

struct waterfall_row {
    const struct slow_trace_call *call;
    uint64_t start_ns, end_ns; /* from the start of the request; a running one ends with it */
    uint64_t self_ns;          /* as the table has it */
    uint64_t inner_ns, wait_ns;
    uint32_t parent, depth; /* the call open when it began that began last; FALL_NIL, 0 */
    uint32_t first, n;      /* its stretches */
};

struct waterfall_gap { /* a row's waiting for one tier of one process, all together */
    uint32_t other;    /* the first row waited for */
    uint32_t times;
    uint64_t ns;
};

struct waterfall {
    const struct slow_trace_request *request; /* a reference of its own */
    uint64_t whole_ns;
    uint64_t omitted_ns;       /* of the request, in calls that nobody kept */
    struct waterfall_row *row; /* within the request by start, then late work by start */
    uint32_t n, late;          /* rows; of these, late */
    struct waterfall_stretch *stretch;
    uint32_t n_stretches;
};

void waterfall_make(struct waterfall *w, const struct slow_trace_request *r);
void waterfall_release(struct waterfall *w);
/* Whom a row waited for, the longest first; at most max. Returns how many there are. */
size_t waterfall_gaps(const struct waterfall *w, uint32_t row, struct waterfall_gap *out,
                      size_t max);

#endif
