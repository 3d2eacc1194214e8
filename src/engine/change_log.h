/* Writes into the log what has changed in what is traced and how, whoever changed it: tiers, entry,
 * identity rule, sampling (as asked for, and as the limits leave it), threshold, limits. The notes
 * of the agent tell of the breaker.
 *
 * Invariant: a change is one line; what stays as it was is none. A sampling that goes on changing
 * within 10 s is one line, which tells the last of it. Core thread. */
#ifndef KPROF_ENGINE_CHANGE_LOG_H
#define KPROF_ENGINE_CHANGE_LOG_H

#include "state.h"

void change_log_begin(struct engine *g); /* the settings of the run are no change */
void change_log_poll(struct engine *g, uint64_t now_ns);

#endif
