/* Requests captures of calls from the agent and reads their arguments into trees.
 * src/agent/PROTOCOL.md describes the forms.
 *
 * As in trace/agent_request, the functions are for the session's one control thread, block for a
 * bounded time and return 0, or -1 with err. The data of the node is bounded and may contain any
 * bytes. */
#ifndef KPROF_TRACE_CAPTURE_H
#define KPROF_TRACE_CAPTURE_H

#include <kprof/base/value_tree.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>

/* Begins to capture calls of tier ix. out: RUNNING, or FAILED with the reason. */
int capture_begin(struct session *s, uint16_t ix, struct capture *out, struct err *e);
/* Reports the progress of the capture in out. When it is DONE, the caller owns out->set. */
int capture_look(struct session *s, struct capture *out, struct err *e);
int capture_give_up(struct session *s, struct err *e);

/* Reads [[Part]], one list for each call. NULL: the term has another form. */
struct value_tree *capture_read(struct etf *c);

#endif
