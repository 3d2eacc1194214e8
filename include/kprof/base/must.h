/* Aborts if an allocation has failed.
 *
 * Invariant: must returns p; it aborts if p is NULL. Any thread. */
#ifndef KPROF_BASE_MUST_H
#define KPROF_BASE_MUST_H

#include <stdlib.h>

static inline void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

#endif
