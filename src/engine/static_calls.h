/* Asks the node which functions a function calls, one function at a time. Core thread. */
#ifndef KPROF_ENGINE_STATIC_CALLS_H
#define KPROF_ENGINE_STATIC_CALLS_H

#include "state.h"

void static_calls_take(struct engine *g, struct result *r); /* RESULT_CALLS */
void static_calls_release(struct engine *g);

#endif
