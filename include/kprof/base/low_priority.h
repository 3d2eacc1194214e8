/* Lowers the scheduling priority of the calling thread.
 *
 * Invariant: the change affects only the calling thread (on Linux) and is permanent: only root
 * could undo it. A failure is ignored. Any thread. */
#ifndef KPROF_BASE_LOW_PRIORITY_H
#define KPROF_BASE_LOW_PRIORITY_H

void low_priority_begin(void);

#endif
