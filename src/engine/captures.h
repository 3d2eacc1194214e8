/* Captures calls, so that the operator can read their arguments: begins a capture, polls it, and
 * returns it. Core thread. */
#ifndef KPROF_ENGINE_CAPTURES_H
#define KPROF_ENGINE_CAPTURES_H

#include "state.h"

void captures_poll(struct engine *g);
void captures_take(struct engine *g, struct result *r);

#endif
