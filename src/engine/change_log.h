/* Writes a line into the log for each change of the trace configuration, whatever caused it: tiers,
 * entry, identity rule, sampling (as requested, and as reduced by the limits), threshold, limits.
 * The agent's notes report the breaker.
 *
 * Invariant: a change gives one line; an unchanged value gives none. Several changes of the
 * sampling within 10 s give one line, with the last value. Core thread. */
#ifndef KPROF_ENGINE_CHANGE_LOG_H
#define KPROF_ENGINE_CHANGE_LOG_H

#include "state.h"

void change_log_begin(struct engine *g); /* the settings of the run give no line */
void change_log_poll(struct engine *g, uint64_t now_ns);

#endif
