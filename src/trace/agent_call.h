/* One request to the agent: its bytes, its answer, and the message when the answer cannot be read.
 * For the units that send requests.
 *
 * Invariant: after agent_call_begin or agent_call_word the call is ended by agent_call_end,
 * whatever came of it, and c reads in answer, which holds AGENT_CALL_BYTES at the most. Blocks for
 * AGENT_CALL_TIMEOUT_MS at the most; control thread. Knows no single request. */
#ifndef KPROF_TRACE_AGENT_CALL_H
#define KPROF_TRACE_AGENT_CALL_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>

#define AGENT_CALL_TIMEOUT_MS 8000
#define AGENT_CALL_BYTES      ((size_t)8 << 20)

struct agent_call {
    struct buf request, answer;
    struct etf c;
};

/* {what, Term}: the caller writes the term into request. */
void agent_call_begin(struct agent_call *q, const char *what);
/* The atom what, nothing more. */
void agent_call_word(struct agent_call *q, const char *what);
/* 0 with c at the answer, or -1 with err. */
int agent_call_send(struct agent_call *q, struct session *s, struct err *e);
/* Sends and ends it: the answer only has to come. */
int agent_call_done(struct agent_call *q, struct session *s, struct err *e);
void agent_call_end(struct agent_call *q);
/* The answer about `what` cannot be read; -1. */
int agent_call_odd(const char *what, struct err *e);

#endif
