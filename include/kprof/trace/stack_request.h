/* Requests to the agent to sample stacks. src/agent/PROTOCOL.md, "Stacks", describes the forms.
 * Samples arrive through the stream (stream_take_stacks).
 *
 * As in trace/agent_request, the functions are for the session's one control thread, block for a
 * bounded time and return 0, or -1 with err. */
#ifndef KPROF_TRACE_STACK_REQUEST_H
#define KPROF_TRACE_STACK_REQUEST_H

#include <kprof/trace/session.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_REQUEST_MOST 1000 /* processes sampled at a time */

enum stack_who {
    STACK_WHO_TOP,          /* the n processes with the most of `by` */
    STACK_WHO_PIDS,         /* pids[0..n): serial << 32 | id */
    STACK_WHO_NAMES,        /* registered names, one per line in `text` */
    STACK_WHO_INITIAL_CALL, /* text: module, function; arity: n */
    STACK_WHO_APPLICATION   /* text: its name */
};
enum stack_top { STACK_TOP_REDUCTIONS, STACK_TOP_MEMORY, STACK_TOP_QUEUE, STACK_TOP_BINARY };

struct stack_request {
    enum stack_who who;
    enum stack_top by;
    size_t n;
    const uint64_t *pids;
    const char *text, *function;
    uint64_t interval_us; /* between two groups of processes */
    uint64_t period_ms;   /* between two choices of the processes */
    uint32_t statuses;    /* bit 1 << enum stack_status for each */
};

/* Starts sampling, or changes it. */
int stack_request_begin(struct session *s, const struct stack_request *r, struct err *e);
/* Stops sampling. All samples have arrived when it returns. */
int stack_request_end(struct session *s, struct err *e);

#endif
