/* The run queue of a node over time, for the rules of core/why. Private to core. Pure. */
#ifndef CORE_WHY_LOAD_H
#define CORE_WHY_LOAD_H

#include <kprof/core/snapshot.h>

/* The queue of the schedulers, or that of the dirty CPU schedulers, which collect large heaps and
 * run native code. */
enum why_queue { WHY_NORMAL, WHY_DIRTY };
enum { WHY_LONG = 3, WHY_DIRTY_LONG = 1 }; /* processes per scheduler: a long run queue */

/* The run queue in the last seconds of the window. It is long if at least WHY_LONG (WHY_DIRTY_LONG)
 * processes per scheduler wait to run in most of these seconds. */
struct why_run_queue {
    bool known, is_long;
    size_t from; /* the second of s->load since which it is long; if it is not: the last seconds */
    double mean; /* processes per scheduler since then */
    double use;  /* mean use of the schedulers since then */
};
struct why_run_queue why_run_queue(const struct snapshot *s, enum why_queue of);

#endif
