/* Questions to the node that the operator asks, and why a tier is empty. Core thread. */
#ifndef KPROF_ENGINE_QUESTIONS_H
#define KPROF_ENGINE_QUESTIONS_H

#include "state.h"

/* Why no request begins: the node has no such function as the entry. False: it has, or there is no
 * entry. */
bool questions_no_entry(const struct engine *g, char *out, size_t cap);
void questions_ask_empty(struct engine *g, const struct snapshot *s); /* why tiers stay empty */
void questions_take_why(struct engine *g, struct result *r);
void questions_take_stack(struct engine *g, struct result *r);

#endif
