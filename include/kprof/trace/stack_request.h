/* Requests to the agent to sample stacks. src/agent/PROTOCOL.md, "Stacks", describes the forms.
 * Samples arrive through the stream (stream_take_stacks).
 *
 * As in trace/agent_request, the functions are for the session's one control thread, block for a
 * bounded time and return 0, or -1 with err. */
#ifndef KPROF_TRACE_STACK_REQUEST_H
#define KPROF_TRACE_STACK_REQUEST_H

#include <kprof/trace/process_choice.h>
#include <kprof/trace/session.h>
#include <stdint.h>

struct stack_request {
    struct process_choice processes;
    uint64_t interval_us; /* between two groups of processes */
    uint64_t period_ms;   /* between two choices of the processes */
    uint32_t statuses;    /* bit 1 << enum stack_status for each */
};

/* Starts sampling, or changes it. */
int stack_request_begin(struct session *s, const struct stack_request *r, struct err *e);
/* Stops sampling. All samples have arrived when it returns. */
int stack_request_end(struct session *s, struct err *e);

#endif
