/* Aborts if memory that the program needs is not there.
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
