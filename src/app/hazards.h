/* kprof-top --hazards NODE: attaches, traces nothing, prints the node's table of hazards, detaches.
 *
 * Invariant: the printed text is safe to draw, for any answer of the node. run_hazards blocks, is
 * for the main thread, and needs no engine; it returns the exit status as described in run.h. */
#ifndef KPROF_APP_HAZARDS_H
#define KPROF_APP_HAZARDS_H

#include "run.h"
#include <kprof/base/buf.h>
#include <kprof/trace/hazard.h>

/* Appends one line per hazard: first those that are avoided on this VM, then the others, each in
 * the order of the table. */
void hazards_text(const struct hazard *h, size_t n, struct buf *out);
int run_hazards(const struct options *o, const struct conn_target *t);

#endif
