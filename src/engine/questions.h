/* Questions to the node that the operator asks, and why a tier is empty. Core thread. */
#ifndef KPROF_ENGINE_QUESTIONS_H
#define KPROF_ENGINE_QUESTIONS_H

#include "state.h"

void questions_ask_empty(struct engine *g, const struct snapshot *s); /* why tiers stay empty */
void questions_take_why(struct engine *g, struct result *r);
void questions_take_stack(struct engine *g, struct result *r);

#endif
