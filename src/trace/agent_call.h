/* One request to the agent: its bytes, its answer, and the error for an answer that cannot be read.
 * For the units that send requests.
 *
 * Invariant: agent_call_end must follow each agent_call_begin or agent_call_word, with success or
 * failure. c reads from `answer`, which has at most AGENT_CALL_BYTES. Blocks for at most
 * AGENT_CALL_TIMEOUT_MS; control thread. Does not depend on any request. */
#ifndef KPROF_TRACE_AGENT_CALL_H
#define KPROF_TRACE_AGENT_CALL_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>

#define AGENT_CALL_TIMEOUT_MS 8000
#define AGENT_CALL_BYTES      ((size_t)8 << 20)

struct agent_call {
    const char *what; /* of the caller, until agent_call_end */
    struct buf request, answer;
    struct etf c;
};

/* Begins the request {what, Term}: the caller writes the term into request. */
void agent_call_begin(struct agent_call *q, const char *what);
/* Begins the request that is only the atom what. */
void agent_call_word(struct agent_call *q, const char *what);
/* Returns 0 with c at the answer, or -1 with err. */
int agent_call_send(struct agent_call *q, struct session *s, struct err *e);
/* Sends the request, waits for the answer, and ends the call. 0: it is `ok`; -1 with err: there was
 * none, it cannot be read, or it is {error, Tag, Text}: before, and the text. */
int agent_call_ok(struct agent_call *q, struct session *s, const char *before, struct err *e);
/* Sends the request, waits for the answer, and ends the call. -1 with err: there was none, or it is
 * {error, Tag, Text}. Any other answer is fine. */
int agent_call_done(struct agent_call *q, struct session *s, struct err *e);
/* True if the answer is {error, Tag, Text}: the text is in why. */
bool agent_call_reason(const struct agent_call *q, char *why, size_t cap);
void agent_call_end(struct agent_call *q);
/* Reports in err that the answer to the request `what` cannot be read. Returns -1. */
int agent_call_unreadable(const char *what, struct err *e);

#endif
