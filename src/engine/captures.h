/* A capture of calls whose arguments are looked at: begun, watched, brought. Core thread. */
#ifndef KPROF_ENGINE_CAPTURES_H
#define KPROF_ENGINE_CAPTURES_H

#include "state.h"

void captures_poll(struct engine *g);
void captures_take(struct engine *g, struct result *r);

#endif
