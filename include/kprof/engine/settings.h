/* The settings with which a session starts, as one value: the trace configuration (a profile stores
 * this part), and settings of only this run.
 *
 * Invariant: plain data, copied; the caller owns the strings, which must outlive every user of the
 * value. The value does not show its source: the command line, a file or the screen. */
#ifndef KPROF_ENGINE_SETTINGS_H
#define KPROF_ENGINE_SETTINGS_H

#include <kprof/core/tier.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settings {
    struct tier_spec tier[TIER_MAX]; /* each has a name */
    size_t n_tiers;
    const char *entry;    /* a tier's name; NULL: the first tier */
    bool entry_none;      /* no requests: every call is counted separately */
    const char *identity; /* the rule; NULL: none */
    uint32_t detail;      /* 1/detail of the sampled requests is followed in detail; 0: none */
    uint32_t sample;      /* N of the sampling 1/N of requests (entry_none: of calls) */
    enum returns_mode returns;
    bool mailbox;      /* the time of messages in mailboxes is measured */
    bool slow_args;    /* small arguments of every call are copied */
    bool all_the_time; /* never trace for parts of the time only */
    uint64_t slow_ns;  /* threshold of slow calls; 0: none */
    uint64_t max_age_ns, cooldown_ns;
    uint64_t max_rate;         /* events/s; 0: no limit */
    uint32_t max_overhead_ppm; /* of the node's scheduler time; 0: no limit */

    /* only for this run */
    bool detail_given;     /* the operator asked for `detail`: report if it is not possible */
    bool history;          /* store the values of past seconds, so that one can look back */
    bool force;            /* attach even if another tracer is active */
    const char *self_name; /* name of kprof-top's hidden node; NULL: generated */
    const char *record, *slow_log; /* files; NULL: none */
    size_t
        record_ring_bytes; /* keep the newest events in memory for engine_record_keep; 0: do not */
    uint64_t lease_ns; /* the node stops tracing after this time without a message from kprof-top */
    double replay_speed;     /* speed of a recording; 0: all at once */
    uint64_t replay_most_ns; /* play only this much of a recording; 0: all */
};

#endif
