/* Puts the agent's notes into the log. Core thread. */
#ifndef KPROF_ENGINE_NOTES_H
#define KPROF_ENGINE_NOTES_H

#include "state.h"

void notes_take(struct engine *g);

#endif
