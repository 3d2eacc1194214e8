/* Requests to the node to sample stacks, and the store of the samples that arrive from the node or
 * a recording.
 *
 * Invariant: while samples are wanted, each connection is asked for them again. The store is
 * bounded: the oldest samples make room for new ones. A request to end it that fails is repeated
 * some times, which the operator is told. So is a request to sample again after a reconnect, since
 * the node may have been too busy; the first request for a choice of the operator fails at once.
 * Core thread. */
#ifndef KPROF_ENGINE_STACK_SAMPLING_H
#define KPROF_ENGINE_STACK_SAMPLING_H

#include "state.h"

/* Takes messages with samples that have arrived; a bounded number. True: there are more. */
bool stack_sampling_take(struct engine *g);
void stack_sampling_answered(struct engine *g, struct result *r);
/* Asks again for what has failed. */
void stack_sampling_poll(struct engine *g, uint64_t now_ns);
void stack_sampling_connected(struct engine *g);
void stack_sampling_lost(struct engine *g);
/* The sampler has ended by itself. */
void stack_sampling_ended(struct engine *g, const char *why);
void stack_sampling_fill(const struct engine *g, struct snap_sampling *out);
void stack_sampling_release(struct engine *g);

#endif
