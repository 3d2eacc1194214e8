/* Lowers the scheduling priority of the calling thread: when it wakes, it waits until a core is
 * free or the time slice of another thread ends (SCHED_BATCH, see sched(7)), and it gets a smaller
 * share of a core than others do (nice(2)).
 *
 * Invariant: the change affects only the calling thread (on Linux) and is permanent: nothing
 * here undoes it, and only root could undo the nice value. A failure is ignored. Any thread. */
#ifndef KPROF_BASE_LOW_PRIORITY_H
#define KPROF_BASE_LOW_PRIORITY_H

void low_priority_begin(void);

#endif
