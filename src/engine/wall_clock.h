/* The time of core: advances it to the node's time, and converts it to the local wall clock. Core
 * thread. */
#ifndef KPROF_ENGINE_WALL_CLOCK_H
#define KPROF_ENGINE_WALL_CLOCK_H

#include "state.h"

uint64_t wall_clock_of_core(const struct engine *g); /* ns */
/* Advances core to the node's time at local_ns of the local clock (a replay: of the clock of the
 * recording), but not past events that may still be in transit. False: that time is not known. */
bool wall_clock_advance(struct engine *g, uint64_t local_ns);

#endif
