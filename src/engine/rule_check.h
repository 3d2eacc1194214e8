/* Checks that the identity rule names requests. For src/engine only.
 *
 * Invariant: the check uses requests that were counted after the node had the rule for half a
 * second. If a rule names nothing, it reports this once; the note stays until the rule names
 * something. There is no check for a recording, because its rule is not known. Core thread. */
#ifndef KPROF_ENGINE_RULE_CHECK_H
#define KPROF_ENGINE_RULE_CHECK_H

#include "state.h"

void rule_check_begin(struct engine *g);                 /* the node uses the requested rule */
void rule_check_poll(struct engine *g, uint64_t now_ns); /* clock of this machine */

#endif
