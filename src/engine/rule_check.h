/* Does the identity rule name anything? Inside of engine.
 *
 * Invariant: looks at requests that were counted after the node had the rule for half a second;
 * says so once; the note stays until the rule names something. Not for a recording: its rule is not
 * known. Core thread. */
#ifndef KPROF_ENGINE_RULE_CHECK_H
#define KPROF_ENGINE_RULE_CHECK_H

#include "state.h"

void rule_check_begin(struct engine *g);                 /* the node has the rule that is wanted */
void rule_check_poll(struct engine *g, uint64_t now_ns); /* our clock */

#endif
