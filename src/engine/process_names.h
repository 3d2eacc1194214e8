/* Names of processes, asked of the node once and kept as long as there is room.
 *
 * Invariant: a number of the node that ran before names nobody of the one that runs now. Core
 * thread. */
#ifndef KPROF_ENGINE_PROCESS_NAMES_H
#define KPROF_ENGINE_PROCESS_NAMES_H

#include "state.h"

void process_names_apply(struct engine *g, struct snapshot *s); /* asks nobody */
/* Asks for the newest of s that are not known, a few at a time, before they are gone. */
void process_names_ask(struct engine *g, const struct snapshot *s, uint64_t now_ns);
void process_names_take(struct engine *g, struct result *r);
void process_names_lost(struct engine *g);      /* the connection is lost now; */
void process_names_restarted(struct engine *g); /* since then the node is another */

#endif
