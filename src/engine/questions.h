/* Requests of the operator to the node, and requests for the reason why a tier is empty. Core
 * thread. */
#ifndef KPROF_ENGINE_QUESTIONS_H
#define KPROF_ENGINE_QUESTIONS_H

#include "state.h"

/* Writes why no request begins: the node does not have the entry's function. False: the node has
 * the function, or there is no entry. */
bool questions_no_entry(const struct engine *g, char *out, size_t cap);
/* asks why tiers stay empty */
void questions_ask_empty(struct engine *g, const struct snapshot *s);
void questions_take_why(struct engine *g, struct result *r);
void questions_take_stack(struct engine *g, struct result *r);

#endif
