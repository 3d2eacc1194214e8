/* Polls the processes of requests that have been open for a long time.
 *
 * Invariant: at most one request to the node is under way, and none while nothing is traced. Core
 * thread. */
#ifndef KPROF_ENGINE_HANGS_H
#define KPROF_ENGINE_HANGS_H

#include "state.h"

void hangs_ask(struct engine *g);
void hangs_take(struct engine *g, struct result *r);

#endif
