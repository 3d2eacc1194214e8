/* The bundled sample node: started under load for --demo, ended with us.
 *
 * Invariant: the node's process is our child and ends when demo_stop is called, or by itself when
 * we are gone; its files are in a directory of our own that demo_stop removes. Main thread. */
#ifndef KPROF_APP_DEMO_H
#define KPROF_APP_DEMO_H

#include <kprof/base/err.h>
#include <kprof/cli/options.h>

struct demo;

struct demo *demo_start(uint32_t rate,
                        struct err *e); /* requests/s; returns when it can be attached to */
const char *demo_node(const struct demo *d);
const char *demo_cookie(const struct demo *d);
/* Tiers, entry and identity of the sample where the options give none. */
void demo_defaults(struct options *o);
void demo_stop(struct demo *d); /* NULL is fine */

#endif
