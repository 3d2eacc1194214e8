/* Processes with open calls that are dead: asked after, and their calls ended. Core thread. */
#ifndef KPROF_ENGINE_DEAD_PROCESSES_H
#define KPROF_ENGINE_DEAD_PROCESSES_H

#include "state.h"

void dead_processes_ask(struct engine *g);
void dead_processes_take(struct engine *g, struct result *r);
void dead_processes_bury(struct engine *g); /* when their last events must have come */

#endif
