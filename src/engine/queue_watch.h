/* Asks the node for the lengths of the message queues that are watched, one after the other.
 *
 * Invariant: at most one such question is under way, and none while the breaker is open. Core
 * thread. */
#ifndef KPROF_ENGINE_QUEUE_WATCH_H
#define KPROF_ENGINE_QUEUE_WATCH_H

#include "state.h"

void queue_watch_poll(struct engine *g);
void queue_watch_take(struct engine *g, struct result *r);

#endif
