/* kprof-top --hazards NODE: attaches, traces nothing, prints the node's table of hazards, leaves.
 *
 * Invariant: what is printed is safe to draw, whatever the node says. run_hazards blocks, and is
 * for the main thread, with no engine; the exit status is as with run.h. */
#ifndef KPROF_APP_HAZARDS_H
#define KPROF_APP_HAZARDS_H

#include "run.h"
#include <kprof/base/buf.h>
#include <kprof/trace/hazard.h>

/* Appends a line each: those held back first, else in their order. */
void hazards_text(const struct hazard *h, size_t n, struct buf *out);
int run_hazards(const struct options *o, const struct target *t);

#endif
