#include "slow_parts.h"

#include <kprof/core/call_parts.h>

bool slow_parts_any(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_slow_traces; i++) {
        if (s->slow_traces[i].request->n_pieces > 0) {
            return true;
        }
    }
    return false;
}

bool slow_parts_shares(const struct snapshot *s, const struct snap_slow *w,
                       double share[PART_COUNT])
{
    struct time_parts sum;
    uint64_t all = 0;
    size_t i = 0;
    while (i < s->n_slow_traces && s->slow_traces[i].request->id != w->trace) {
        i++;
    }
    if (!w->trace || i == s->n_slow_traces) {
        return false;
    }
    call_parts_sum(s->slow_traces[i].request, 0, &sum);
    for (int p = 0; p < PART_COUNT; p++) {
        all += sum.ns[p];
    }
    for (int p = 0; p < PART_COUNT; p++) {
        share[p] = all ? (double)sum.ns[p] / (double)all : 0;
    }
    return all > 0;
}
