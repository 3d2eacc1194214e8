/* One request on a time axis: its calls as rows, what each call did at every instant, and which
 * call waited for which. Pure; any thread.
 *
 * Invariant: the self times of the rows (without late calls) and omitted_ns add up to the duration
 * of the request, to the nanosecond. The segments of a row are contiguous from its start to its end
 * within the request; if all calls are stored, the SELF segments of a row add up to its self time.
 * As in the table, an instant belongs to the open call that began last, in any process. */
#ifndef KPROF_CORE_WATERFALL_H
#define KPROF_CORE_WATERFALL_H

#include <kprof/core/slow_trace.h>
#include <stddef.h>

#define WATERFALL_NIL UINT32_MAX

enum waterfall_kind {
    WATERFALL_SELF,
    WATERFALL_INNER, /* in a call that it made, in its own process */
    WATERFALL_WAIT   /* waits for a call in another process: `other` */
};

struct waterfall_segment {
    uint64_t from_ns, to_ns; /* from the start of the request */
    enum waterfall_kind kind;
    uint32_t other; /* WAIT: the row it waits for: of the calls open then, the first that began
                       after this one */
};

struct waterfall_row {
    const struct slow_trace_call *call;
    uint64_t start_ns,
        end_ns;       /* from the start of the request; a running call ends with the request */
    uint64_t self_ns; /* as in the table */
    uint64_t inner_ns, wait_ns;
    uint32_t parent,
        depth;         /* the newest call that was open at its start; WATERFALL_NIL and 0: none */
    uint32_t first, n; /* its segments */
};

struct waterfall_wait { /* the total time that a row waits for one tier of one process */
    uint32_t other;     /* the first row waited for */
    uint32_t times;
    uint64_t ns;
};

struct waterfall {
    const struct slow_trace_request *request; /* holds its own reference */
    uint64_t whole_ns;
    uint64_t omitted_ns;       /* part of the request in calls that were not stored */
    struct waterfall_row *row; /* calls within the request, by start; then late calls */
    uint32_t n, late;          /* rows; number of them that are late calls */
    struct waterfall_segment *segment;
    uint32_t n_segments;
};

void waterfall_make(struct waterfall *w, const struct slow_trace_request *r);
void waterfall_release(struct waterfall *w);
/* Lists what a row waited for, the longest wait first, at most max. Returns the number of all. */
size_t waterfall_waits(const struct waterfall *w, uint32_t row, struct waterfall_wait *out,
                       size_t max);

#endif
