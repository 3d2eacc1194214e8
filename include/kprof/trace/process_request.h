/* Requests to the agent for the process table. src/agent/PROTOCOL.md, "Processes", describes the
 * forms.
 *
 * As in trace/agent_request, the functions that take a session are for the session's one control
 * thread, block for a bounded time and return 0, or -1 with err. process_request_read survives any
 * bytes. */
#ifndef KPROF_TRACE_PROCESS_REQUEST_H
#define KPROF_TRACE_PROCESS_REQUEST_H

#include <kprof/base/err.h>
#include <kprof/core/process_table.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>

struct process_request {
    struct process_order order;
    uint32_t period_ms; /* between two rounds */
};

/* Asks for the newest round. The first request begins the rounds; they end when none comes for five
 * periods (at least 3 s). If there is no newer round, t is empty: only its head is set. */
int process_request_take(struct session *s, const struct process_request *r,
                         struct process_table *t, struct err *e);
/* Ends the rounds. */
int process_request_end(struct session *s, struct err *e);
/* Reads the answer into t, which is new. False: the answer cannot be read; a part of it may be in
 * t. */
bool process_request_read(struct etf *c, struct process_table *t);

#endif
