/* Names of processes. The node is asked once for each name, which is stored while there is room.
 *
 * Invariant: after a restart of the node, a pid of the old node never gets the name of a process of
 * the new node. Core thread. */
#ifndef KPROF_ENGINE_PROCESS_NAMES_H
#define KPROF_ENGINE_PROCESS_NAMES_H

#include "state.h"

void process_names_apply(struct engine *g, struct snapshot *s); /* does not ask the node */
void process_names_why(struct engine *g, struct snapshot *s);   /* adds the findings (core/why) */
/* Asks for the unknown names of the newest processes in s, a few at a time, before the processes
 * end. */
void process_names_ask(struct engine *g, const struct snapshot *s, uint64_t now_ns);
void process_names_take(struct engine *g, struct result *r);
void process_names_lost(struct engine *g); /* the connection is lost now */
/* the node was restarted after process_names_lost */
void process_names_restarted(struct engine *g);

#endif
