/* Slow requests to the file of --slow-log, each when it has ended, and their threshold. Core
 * thread. */
#ifndef KPROF_ENGINE_SLOW_PUMP_H
#define KPROF_ENGINE_SLOW_PUMP_H

#include "state.h"

void slow_pump_set_threshold(struct engine *g, uint64_t ns); /* 0: none */
void slow_pump_run(struct engine *g, bool all); /* all: nothing waits for its name or its end
                                                  any more */

#endif
