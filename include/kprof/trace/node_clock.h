/* The clock of a node: converts its native time stamps to the time of the session.
 *
 * Invariant: a plain value; pure. A stamp counts as the time since the VM started, plus base_ns:
 * after a restart of the node, time continues from that of the old one. */
#ifndef KPROF_TRACE_NODE_CLOCK_H
#define KPROF_TRACE_NODE_CLOCK_H

#include <stdint.h>

struct node_clock {
    int64_t start_native; /* when the VM started */
    int64_t units_per_s;  /* native units; > 0 */
    uint64_t base_ns;
};

static inline uint64_t node_clock_ns(const struct node_clock *k, int64_t native)
{
    uint64_t since = (uint64_t)native - (uint64_t)k->start_native;
    uint64_t per = (uint64_t)k->units_per_s;
    if (per == 1000000000)
        return k->base_ns + since;
    return k->base_ns + since / per * 1000000000u + since % per * 1000000000u / per;
}

#endif
