/* Decides where a call belongs: to a request (by its label or by the calls that are open around
 * it), to a request that has closed, to none because there is no entry (each call counts by
 * itself), or nowhere. Private to core; part of the tracker.
 *
 * Invariant: attribution changes no counter of calls. It creates requests, and merges two requests
 * when a label shows that they are one. One thread. */
#ifndef KPROF_CORE_ATTRIBUTION_H
#define KPROF_CORE_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct core;
struct event;
struct proc;

#define ATTRIBUTION_NO_TIME (UINT64_C(1) << 63) /* set in no time */

enum attribution_kind { TO_NOBODY, TO_REQUEST, TO_ITSELF, TO_CLOSED };

struct attribution {
    enum attribution_kind kind;
    uint32_t req;    /* TO_REQUEST; TO_CLOSED: while it is not finalized */
    uint64_t end_ns; /* TO_CLOSED: identifies the request. Its end, or, if that is not known any
                        more, its label and ATTRIBUTION_NO_TIME */
    uint32_t ident;  /* name id; TO_ITSELF, TO_CLOSED */
    uint32_t weight; /* TO_CLOSED */
    bool starts;     /* the call is the entry that starts req */
};

/* p: the process of the call; NULL: it has no open calls. */
struct attribution attribution_of_call(struct core *c, const struct event *ev,
                                       const struct proc *p);
struct attribution attribution_of_entry(struct core *c, const struct event *ev,
                                        const struct proc *p);
/* With lean returns: the call cannot be distinguished from `top`, the call on top of its stack. */
bool attribution_repeats(const struct core *c, const struct event *ev, const struct call *top);

#endif
