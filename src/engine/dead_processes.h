/* Finds dead processes with open calls: asks the node for them and ends their calls. Core
 * thread. */
#ifndef KPROF_ENGINE_DEAD_PROCESSES_H
#define KPROF_ENGINE_DEAD_PROCESSES_H

#include "state.h"

void dead_processes_ask(struct engine *g);
/* The end of a run: asks once more, for calls of any age. True: call it again soon; it waits for
 * the answer, and then for the events of the dead processes. */
bool dead_processes_last(struct engine *g);
void dead_processes_take(struct engine *g, struct result *r);
/* ends their calls once their last events are certain to have arrived */
void dead_processes_end_calls(struct engine *g);

#endif
