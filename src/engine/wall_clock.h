/* The time of core: advances it to the node's time, and converts it to the local wall clock. Core
 * thread. */
#ifndef KPROF_ENGINE_WALL_CLOCK_H
#define KPROF_ENGINE_WALL_CLOCK_H

#include "state.h"

uint64_t wall_clock_of_core(const struct engine *g); /* ns */
/* Computes the node's time at local_ns of the local clock (a replay: of the clock of the
 * recording), and advances core, but not past events that are usually in transit. Requests end only
 * once their events have arrived, or if the node is silent. False: that time is not known. */
bool wall_clock_advance(struct engine *g, uint64_t local_ns);

#endif
