/* Lets others run first: a thread that calls this has less of the processor than others where they
 * want the same one.
 *
 * Invariant: of the calling thread only, and for good: only root could take it back. A kernel that
 * refuses is none of our business. Any thread. */
#ifndef KPROF_BASE_YIELDING_H
#define KPROF_BASE_YIELDING_H

void yielding_begin(void);

#endif
