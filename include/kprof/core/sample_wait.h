/* Stack samples on their way into a profile: each waits until core has seen the events of its time,
 * then gets the traced request, tier and identity that its process was in.
 *
 * Events and samples take different paths from the node, with delays of up to a few 100 ms. A
 * sample is resolved when core is SAMPLE_WAIT_NS past its time. If its request has no name yet, but
 * may get one, it waits for up to SAMPLE_WAIT_NAME_NS.
 *
 * Invariant: added = resolved + waiting; each sample comes into the profile once. At most
 * SAMPLE_WAIT_MOST wait: if more come, the one that waited longest is resolved as far as is known,
 * and counted in `early`. Core and profile are borrowed. One thread, that of core. */
#ifndef KPROF_CORE_SAMPLE_WAIT_H
#define KPROF_CORE_SAMPLE_WAIT_H

#include <kprof/core/core.h>
#include <kprof/core/stack_profile.h>

#define SAMPLE_WAIT_NS      UINT64_C(20000000) /* as core_limits.grace_ns */
#define SAMPLE_WAIT_NAME_NS UINT64_C(1000000000)
#define SAMPLE_WAIT_MOST    16384u

struct sample_wait;

struct sample_wait_counts {
    uint64_t added, resolved;
    uint64_t inside; /* of a request */
    uint64_t early;  /* resolved before their time */
    uint64_t missed; /* core no longer knew the call of their process */
};

/* Makes core remember the calls of processes (core_keep_inside), until it is freed. */
struct sample_wait *sample_wait_new(struct core *c, struct stack_profile *to);
void sample_wait_free(
    struct sample_wait *w); /* NULL is fine; samples that still wait are dropped */
void sample_wait_add(struct sample_wait *w, const struct stack_sample *s,
                     const struct stack_metrics *m);
/* Resolves the samples that are due; all: also those that are not. */
void sample_wait_pass(struct sample_wait *w, bool all);
void sample_wait_forget(struct sample_wait *w); /* drops those that wait */
size_t sample_wait_waiting(const struct sample_wait *w);
const struct sample_wait_counts *sample_wait_counts(const struct sample_wait *w);

#endif
