/* Converts the time that core has reached to the local wall clock. Core thread. */
#ifndef KPROF_ENGINE_WALL_CLOCK_H
#define KPROF_ENGINE_WALL_CLOCK_H

#include "state.h"

uint64_t wall_clock_of_core(const struct engine *g); /* ns */

#endif
