/* The heartbeat: what the agent reports twice a second about the node and about itself.
 *
 * Invariant: every value of a heartbeat that was read is in its range, whatever the node sent;
 * unknown keys are skipped. Pure. src/agent/PROTOCOL.md (`kh`) describes the form. */
#ifndef KPROF_TRACE_HEARTBEAT_H
#define KPROF_TRACE_HEARTBEAT_H

#include <kprof/erl/etf.h>
#include <stdbool.h>
#include <stdint.h>

struct heartbeat {
    uint64_t ts_ns;       /* node time */
    uint64_t received_ns; /* monotonic clock of this machine */
    uint32_t run_queue;
    int32_t dirty_queue;    /* part of run_queue: of the dirty CPU schedulers; -1: not reported */
    uint32_t schedulers;    /* online; 0: not reported */
    int32_t sched_permille; /* -1: not known */
    uint64_t memory_bytes, processes, uptime_ms, relay_queue, relay_bytes, dropped;
    uint32_t breaker;        /* 0 closed, 1 open, 2 half open */
    uint64_t trips, next_ms; /* next_ms: time to the next try; 0: not open */
    uint64_t pause_ms;       /* length of the breaker's present pause */
    uint32_t sample;         /* sampling in use: N of 1/N; 0: not reported */
    uint32_t sample_why;     /* 0 as requested, 1 max_rate, 2 cost, 3 breaker, 4 flood, 5 part of
                              * the time, 6 copies of return values */
    uint32_t detail;         /* one of this many sampled requests is followed in detail; 0: none */
    int vm_events;           /* events of the VM: 0 off, 1 on, 2 not on this VM; -1: not reported */
    int detail_why;    /* 0 as requested, 1 not on this VM, 2 cost, 3 no entry; -1: not reported */
    uint32_t cost_ppm; /* of the node's scheduler time */
    uint32_t call_ns;  /* cost of a traced call; 0: not reported */
    bool cost_assumed; /* the cost was not measured on this node */
    int gap;           /* enum gap_reason: why the node does not trace; -1: not reported */
};

/* Reads the map. False: it is no map, or is cut off. ts_ns and received_ns are the caller's. */
bool heartbeat_read(struct etf *c, struct heartbeat *out);

#endif
