/* Passes each result of the control thread to its unit. Core thread. */
#ifndef KPROF_ENGINE_RESULTS_H
#define KPROF_ENGINE_RESULTS_H

#include "state.h"

void results_take(struct engine *g, struct result *r);

#endif
