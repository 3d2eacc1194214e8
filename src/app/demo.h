/* The bundled sample node: started under load for --demo, stopped when kprof-top ends.
 *
 * Invariant: the node's process is a child of kprof-top. It ends when demo_stop is called, or by
 * itself when kprof-top has ended. Its files are in a temporary directory that demo_stop removes.
 * Main thread. */
#ifndef KPROF_APP_DEMO_H
#define KPROF_APP_DEMO_H

#include <kprof/base/err.h>
#include <kprof/cli/options.h>

struct demo;

/* rate: requests/s. trouble: as --demo-trouble; NULL: none. Returns when it can be attached to;
 * NULL with err if it does not start, or if kprof-top was asked to stop. Removes the variables with
 * flags and the port of other nodes from the environment, so no other thread may run yet. */
struct demo *demo_start(uint32_t rate, const char *trouble, struct err *e);
const char *demo_node(const struct demo *d);
const char *demo_cookie(const struct demo *d);
/* Sets tiers, entry and identity of the sample node if the options have none. */
void demo_defaults(struct options *o);
void demo_stop(struct demo *d); /* NULL is allowed */

#endif
