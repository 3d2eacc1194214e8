/* Where a call belongs: a request by its label or by the calls that are open around it, one that
 * has closed, itself, or nobody. Inside of core; part of the tracker.
 *
 * Invariant: no counter of calls changes here; requests begin here, and join when a label shows
 * that two are one. One thread. */
#ifndef KPROF_CORE_ATTRIBUTION_H
#define KPROF_CORE_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct core;
struct event;
struct proc;

enum attribution_kind { TO_NOBODY, TO_REQUEST, TO_ITSELF, TO_CLOSED };

struct attribution {
    enum attribution_kind kind;
    uint32_t req;    /* TO_REQUEST; TO_CLOSED: if it is not finalized yet */
    uint64_t end_ns; /* TO_CLOSED: when that was, which tells it from others */
    uint32_t ident;  /* name id; TO_ITSELF, TO_CLOSED */
    bool starts;     /* the call is the entry that starts req */
};

/* p: the process of the call; NULL: it has no open calls. */
struct attribution attribution_of_call(struct core *c, const struct event *ev,
                                       const struct proc *p);
struct attribution attribution_of_entry(struct core *c, const struct event *ev,
                                        const struct proc *p);
/* Lean: the call cannot be told from `top`, the one on top of its stack. */
bool attribution_repeats(const struct core *c, const struct event *ev, const struct call *top);

#endif
