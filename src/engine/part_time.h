/* For how long the node must follow a request if it traces for parts of the time only
 * (trace_config.part_ms). Core thread. */
#ifndef KPROF_ENGINE_PART_TIME_H
#define KPROF_ENGINE_PART_TIME_H

#include "state.h"

void part_time_begin(struct engine *g); /* before the first configuration */
void part_time_poll(struct engine *g);

#endif
