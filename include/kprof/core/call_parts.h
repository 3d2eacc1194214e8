/* The pieces of one call of a slow trace: their range, their sums by part, and the list of what the
 * call did.
 *
 * Invariant: sums and list cover all pieces of the call: both add up to the time from its start to
 * its end, to the nanosecond. If the number of a name is not valid in the trace, the piece has no
 * name. Pure; any thread that may read the slow trace. */
#ifndef KPROF_CORE_CALL_PARTS_H
#define KPROF_CORE_CALL_PARTS_H

#include <kprof/core/slow_trace.h>
#include <stddef.h>

/* All pieces of a call with the same part, name and process. */
struct call_part {
    enum time_part part;
    uint32_t times;
    const char *what; /* a name in the slow trace (raw bytes); NULL: none */
    uint64_t other;   /* MAILBOX, WAIT: the process; 0: not known */
    uint32_t queue;   /* MAILBOX, WAIT: the longest queue, plus 1; 0: not known */
    uint64_t ns;
};

/* Returns the number of pieces of r->call[call]; *first: the first of them. 0: not recorded. */
size_t call_parts_pieces(const struct slow_trace_request *r, uint32_t call,
                         const struct time_part_piece **first);
void call_parts_sum(const struct slow_trace_request *r, uint32_t call, struct time_parts *out);
/* Lists what the call did, the longest first, at most max. Returns the number of all; *rest_ns: the
 * time of those that are not in the list. */
size_t call_parts_list(const struct slow_trace_request *r, uint32_t call, struct call_part *out,
                       size_t max, uint64_t *rest_ns);
/* The part of a piece; PART_UNKNOWN if the number is not valid. */
enum time_part call_parts_part(const struct time_part_piece *p);
/* The name of a piece; NULL: none. */
const char *call_parts_what(const struct slow_trace_request *r, const struct time_part_piece *p);
/* Lists the processes that the calls of r waited for, the longest wait first, at most max. Returns
 * their number. */
size_t call_parts_others(const struct slow_trace_request *r, uint64_t *pid, size_t max);
/* The call of a process that a piece waits for: the first that is open after from_ns, else any.
 * NULL: no call of the trace is in that process. */
const struct slow_trace_call *call_parts_callee(const struct slow_trace_request *r, uint64_t pid,
                                                uint64_t from_ns);

#endif
