/* The engine's own checks: the node is silent, the connection is lost, kprof-top itself is too
 * slow. Core thread. */
#ifndef KPROF_ENGINE_LIVENESS_H
#define KPROF_ENGINE_LIVENESS_H

#include "state.h"

uint64_t liveness_heard_ns(struct engine *g); /* node time of the newest event or heartbeat */
/* Begins a gap at the last message of the node, because nothing is known after it. Records the gap,
 * too. */
void liveness_gap(struct engine *g, enum gap_reason reason);
/* Checks whether the node is silent. The log says so, and when data arrives again; it does not if
 * the connection was lost, or if kprof-top itself did not run. now_ns: local clock. */
void liveness_listen(struct engine *g, uint64_t now_ns);
void liveness_guard(struct engine *g); /* checks whether kprof-top itself is too slow */

#endif
