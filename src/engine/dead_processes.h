/* Finds dead processes with open calls: asks the node for them and ends their calls.
 *
 * Invariant: at most one request is under way, for at most 128 processes, 10 times a second; the
 * death of a process is handled at most once. The node reports no time of death: core_exit_ns. Core
 * thread. */
#ifndef KPROF_ENGINE_DEAD_PROCESSES_H
#define KPROF_ENGINE_DEAD_PROCESSES_H

#include "state.h"

void dead_processes_ask(struct engine *g);
/* The end of a run: asks once more, for calls of any age. True: call it again soon; it waits for
 * the answer, and then for the events of the dead processes. */
bool dead_processes_last(struct engine *g);
void dead_processes_take(struct engine *g, struct result *r);
/* The connection was lost, and all calls were closed: pids may be used again by new processes. */
void dead_processes_lost(struct engine *g);
/* ends their calls once their last events are certain to have arrived */
void dead_processes_end_calls(struct engine *g);

#endif
