/* Passes each result of the control thread to its unit. Core thread. */
#ifndef KPROF_ENGINE_RESULTS_H
#define KPROF_ENGINE_RESULTS_H

#include "state.h"

void results_take(struct engine *g, struct result *r);
/* Gives core the oldest events of the ring, at most so many. */
void results_take_events(struct engine *g, size_t most);

#endif
