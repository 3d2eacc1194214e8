/* `kprof-top` without a node: the operator picks one of those that were found. Without a terminal
 * they are printed.
 *
 * One thread. */
#ifndef KPROF_APP_CHOOSE_NODE_H
#define KPROF_APP_CHOOSE_NODE_H

#include <kprof/base/err.h>
#include <kprof/cli/options.h>

/* True: no node was given; or only the environment of a release names one, and there is a screen to
 * offer others, too. */
bool choose_node_wanted(const struct options *o);

/* Returns true if a node was picked: it is then in o. Else *status is the exit status: 0, the
 * operator left; 2, with err: the nodes were printed on stdout, one per line; 1, with err: the
 * screen could not be opened. */
bool choose_node(struct options *o, int *status, struct err *e);

#endif
