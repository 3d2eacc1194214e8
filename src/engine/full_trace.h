/* A full trace that the operator has requested: the request, its progress, its call tree.
 *
 * Invariant: at most one at a time; a new one frees the tree of the last one, unless the screen has
 * taken it (engine_full_take).
 * Whatever happens to node and connection, it ends, and says why. Core thread. */
#ifndef KPROF_ENGINE_FULL_TRACE_H
#define KPROF_ENGINE_FULL_TRACE_H

#include "control.h"
#include "state.h"

/* A message of a full trace; dropped if none is under way. */
void full_trace_feed(struct engine *g, const struct stack_message *m);
void full_trace_answered(struct engine *g, struct result *r);
void full_trace_lost(struct engine *g);
/* The node has ended it without a last message. */
void full_trace_aborted(struct engine *g, const char *why);
/* Ends it if the node no longer reports. Must be called at each poll: a longer pause means that
 * kprof-top itself did not run, which is not the silence of the node. now_ns: local clock. */
void full_trace_poll(struct engine *g, uint64_t now_ns);
void full_trace_release(struct engine *g);

#endif
