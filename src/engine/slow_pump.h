/* Writes each slow request to the file of --slow-log when it has ended, and sets the threshold.
 * Core thread. */
#ifndef KPROF_ENGINE_SLOW_PUMP_H
#define KPROF_ENGINE_SLOW_PUMP_H

#include "state.h"

void slow_pump_set_threshold(struct engine *g, uint64_t ns); /* 0: none */
/* A replay: the threshold of the recording, unless the operator has chosen one. */
void slow_pump_recorded(struct engine *g, uint64_t ns);
/* all: also requests that wait for a name or for their end */
void slow_pump_run(struct engine *g, bool all);

#endif
