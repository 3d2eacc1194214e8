/* The node that the environment names, as the script of a release (`bin/app remote`) finds it.
 *
 * It is the first one of KPROF_NODE, RELEASE_NODE and RELEASE_NAME that is set. A release's name
 * without a host gets the short or the full host name of this machine, as RELEASE_DISTRIBUTION
 * says: sname (the default) or name. Reads the environment; the full name of this machine may need
 * a look-up. Any thread. */
#ifndef KPROF_CLI_ENVIRONMENT_H
#define KPROF_CLI_ENVIRONMENT_H

#include <kprof/base/err.h>
#include <kprof/erl/node_name.h>

struct environment_node {
    char name[NODE_NAME_BYTES + 8]; /* name@host or name@host:PORT */
    const char *from;               /* the variable */
};

/* Returns 1: found; 0: no variable is set; -1: what is set cannot be used, err says why. */
int environment_node(struct environment_node *out, struct err *e);

#endif
