/* The process table of the node, while a screen shows it; see engine_processes. Core thread. */
#ifndef KPROF_ENGINE_PROCESS_WATCH_H
#define KPROF_ENGINE_PROCESS_WATCH_H

#include "state.h"

void process_watch_poll(struct engine *g);
void process_watch_take(struct engine *g, struct result *r);

#endif
