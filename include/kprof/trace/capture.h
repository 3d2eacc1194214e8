/* Captures of calls' arguments, asked of the agent and read into trees. Forms:
 * src/agent/PROTOCOL.md.
 *
 * As trace/agent_request: for the session's one control thread, bounded in time; 0, or -1 with err.
 * What the target sends is bounded and may be anything. */
#ifndef KPROF_TRACE_CAPTURE_H
#define KPROF_TRACE_CAPTURE_H

#include <kprof/base/value_tree.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>

/* Begins to capture calls of tier ix. out: RUNNING, or FAILED with the reason. */
int capture_begin(struct session *s, uint16_t ix, struct capture *out, struct err *e);
/* How far it is; DONE gives out->set to the caller. */
int capture_look(struct session *s, struct capture *out, struct err *e);
int capture_give_up(struct session *s, struct err *e);

/* [[Part]], a list for each call; NULL: not that. */
struct value_tree *capture_read(struct etf *c);

#endif
