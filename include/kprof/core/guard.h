/* The guard decides when kprof-top itself requests that the agent stops tracing: when kprof-top
 * loses events, when events arrive too late, or when kprof-top uses too much CPU. The agent has
 * other reasons, which it detects sooner.
 *
 * Invariant: at most one verdict until the breaker has opened and closed again or GUARD_AGAIN_NS
 * have passed; then all counters start again. Pure: the caller passes the time. One thread. */
#ifndef KPROF_CORE_GUARD_H
#define KPROF_CORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define GUARD_LAG_HOLD_NS UINT64_C(2000000000)  /* all batches must be too old for this long */
#define GUARD_CPU_HOLD_NS UINT64_C(5000000000)  /* period over which CPU use is measured */
#define GUARD_CPU_PERCENT 90                    /* of one core */
#define GUARD_AGAIN_NS    UINT64_C(15000000000) /* the request may have been lost */

enum guard_verdict { GUARD_FINE, GUARD_RING, GUARD_LAG, GUARD_CPU };

struct guard_sample {
    uint64_t now_ns;    /* clock of this machine, never less than before */
    uint64_t ring_lost; /* events, over the run */
    uint64_t batches;   /* over the run */
    uint64_t lag_ns;    /* age of the newest event of the last batch when it arrived */
    uint64_t cpu_ns;    /* of this process, over the run */
    bool breaker_open;
};

struct guard {
    uint64_t max_lag_ns; /* 0: no limit */
    bool begun, asked, opened;
    uint64_t asked_ns;
    uint64_t lost, batches; /* as of the last sample */
    uint64_t late_ns;       /* time since which batches arrive too late; 0: they arrive in time */
    uint64_t cpu_at_ns, cpu_ns;
    uint64_t sampled_ns;
};

void guard_init(struct guard *g, uint64_t max_lag_ns);
/* Sets another limit. The time for which batches have arrived too late starts again; everything
 * else stays. */
void guard_limit(struct guard *g, uint64_t max_lag_ns);
/* Called several times a second. For a verdict other than GUARD_FINE, the caller requests that the
 * breaker opens, for this reason. */
enum guard_verdict guard_sample(struct guard *g, const struct guard_sample *l);

#endif
