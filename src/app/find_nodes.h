/* Finds the nodes that `kprof-top` without a node offers: those of the local epmd, those of this
 * machine that need no epmd (-erl_epmd_port), the node of a release's environment, and those that
 * were used last.
 *
 * Connects to nothing but the local epmd; blocks for at most a second. One thread. */
#ifndef KPROF_APP_FIND_NODES_H
#define KPROF_APP_FIND_NODES_H

#include <kprof/core/node_choice.h>

/* release: the node that the environment names; NULL: none. */
void find_nodes(struct node_choices *out, const char *release);

#endif
