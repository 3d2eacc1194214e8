/* The node's run queue, scheduler use and memory of the last three hours, from its heartbeats: one
 * value per second. Core thread only. */
#ifndef KPROF_ENGINE_NODE_LOAD_H
#define KPROF_ENGINE_NODE_LOAD_H

#include "state.h"

/* Takes the last heartbeat, if it is of a new second. */
void node_load_take(struct engine *g);
void node_load_release(struct engine *g);
/* Adds the values of the SNAP_LOAD seconds before the end of the window. */
void node_load_fill(const struct engine *g, struct snapshot *s);

#endif
