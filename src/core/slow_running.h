/* Finds the calls of stored slow requests that were running when their request was closed, by
 * process, start and tier. Private to core.
 *
 * Invariant: each running call of a trace in slow_store has an entry, with the position of the
 * trace and of the call in it, as long as at most SLOW_RUNNING_CHAIN of them have the same hash; a
 * call without an entry is shown as running until its trace is dropped. The entries are at most as
 * many as the calls of all traces (24 bytes each). Memory is reserved when the first is added; only
 * slow_running_add allocates. One thread. */
#ifndef KPROF_CORE_SLOW_RUNNING_H
#define KPROF_CORE_SLOW_RUNNING_H

#include <kprof/core/slow_trace.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLOW_RUNNING_HASHES = 1 << 14, SLOW_RUNNING_CHAIN = 64 };

#define SLOW_RUNNING_ANY UINT32_MAX

struct slow_running {
    struct slow_running_call {
        uint64_t pid, start_ns;
        uint32_t next; /* with the same hash, or the next free one */
        uint16_t call; /* position in its trace */
        uint8_t trace, tier;
    } * of;
    uint32_t *first;             /* by hash; NULL until the first call */
    uint32_t n, high, cap, free; /* entries below `high` have been used */
};

void slow_running_init(struct slow_running *r);
void slow_running_release(struct slow_running *r);
/* c: call number `call` of the trace at this position, at most 255. */
void slow_running_add(struct slow_running *r, const struct slow_trace_call *c, uint32_t trace,
                      uint32_t call);
struct slow_running_place {
    uint32_t trace, call;
};
/* Removes the entry of the call with the process, start and tier of c. trace: only one of this
 * trace, or SLOW_RUNNING_ANY. False: there is none. */
bool slow_running_take(struct slow_running *r, const struct slow_trace_call *c, uint32_t trace,
                       struct slow_running_place *from);

#endif
