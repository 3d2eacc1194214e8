/* A full trace on the live screen, as values: what the operator requests, and the progress. The
 * engine asks the node; the result is a core/call_tree.
 *
 * Invariant: plain data, copied. Texts from the node are raw bytes. Any thread. */
#ifndef KPROF_CORE_FULL_TRACE_H
#define KPROF_CORE_FULL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define FULL_IDENT_BYTES     260
#define FULL_CONDITION_BYTES 400

/* The modules whose functions are traced. */
enum full_calls {
    FULL_CALLS_TIERS,        /* the modules of the tiers */
    FULL_CALLS_APPLICATIONS, /* all modules of their applications */
    FULL_CALLS_ALL,
    FULL_CALLS_KINDS
};

struct full_ask {
    uint64_t pid;  /* this process; 0: the next request */
    uint16_t tier; /* the request begins with a call of this tier; TIER_TOTAL: of the entry */
    char ident[FULL_IDENT_BYTES];         /* of this identity; "": any */
    char condition[FULL_CONDITION_BYTES]; /* on its arguments: "arg(1) =:= get"; "": none */
    enum full_calls calls;
    uint64_t slow_ns; /* only a request of this duration or longer; 0: any */
    uint64_t events;  /* at most */
    uint64_t time_ns; /* to wait for the request; for a process: to trace it */
};

enum full_stage {
    FULL_IDLE,      /* none was requested */
    FULL_ASKED,     /* requested, but the node has not answered */
    FULL_ARMED,     /* the node waits for a request */
    FULL_TRACES,    /* the node traces a request or a process */
    FULL_RECEIVES,  /* kprof-top receives the events */
    FULL_ENDED,     /* it has ended, and there are calls */
    FULL_NOT_CAUGHT /* it has ended without calls */
};

struct full_now {
    enum full_stage state;
    char what[FULL_IDENT_BYTES + 80]; /* "a request of update", "process <0.9.0>" */
    char says[900];     /* a sentence without a full stop: the progress, or why it ended */
    char hint[200];     /* after the end: a remark about the result; "": none */
    uint64_t attempts;  /* requests that were traced but not kept */
    uint64_t functions; /* functions that have a pattern */
    uint64_t waited_ns; /* since it was requested */
    uint64_t events, budget;
    bool waits; /* after the end: the VM reported waits; false: functions include them */
};

#endif
