/* What the engine finds out by itself: a silent node, a lost connection, and that kprof-top
 * itself is too slow. Core thread. */
#ifndef KPROF_ENGINE_LIVENESS_H
#define KPROF_ENGINE_LIVENESS_H

#include "state.h"

/* The node is not heard any more: since its last word nothing is known. Recorded, too. */
void liveness_gap(struct engine *g, enum gap_reason reason);
void liveness_listen(struct engine *g); /* is the node silent? */
void liveness_guard(struct engine *g);  /* are we the ones who cannot follow? */

#endif
