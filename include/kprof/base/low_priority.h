/* Lowers the scheduling priority of threads that share the machine with the node.
 *
 * low_priority_begin: when the thread wakes, it waits until a core is free or the time slice of
 * another thread ends (SCHED_BATCH, see sched(7)), and it gets a smaller share of a core than
 * others do (nice(2)). But once it runs, a waking thread of the node waits for it.
 *
 * struct low_priority: threads that also give way at once to every other thread (SCHED_IDLE), as
 * long as the machine has time for them. Such a thread hardly runs on a machine that is fully in
 * use, so a small thread watches: it takes the policy back while the machine is busy, or when the
 * thread that tells its turns is late. It is used only where the process may take it back (root, or
 * RLIMIT_NICE).
 *
 * Invariant: only threads of this process change; the nice value and SCHED_BATCH are permanent. A
 * thread that had another policy keeps it. Failures are ignored: then the threads have SCHED_BATCH,
 * or what they had. Any thread may call these functions. */
#ifndef KPROF_BASE_LOW_PRIORITY_H
#define KPROF_BASE_LOW_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

void low_priority_begin(void); /* the calling thread */

struct low_priority;

/* The caller owns it. It has no thread until the first join. busy: tells the part of all cores that
 * was in use since its last call, 0..1, NAN: not known (called once a second by that thread);
 * NULL: machine_use_since. */
struct low_priority *low_priority_new(double (*busy)(void *arg), void *arg);
/* All threads but the calling one must have left. */
void low_priority_free(struct low_priority *l);
/* Begins as low_priority_begin; at most 4 threads, the others keep SCHED_BATCH. A thread that ends
 * must leave before. */
void low_priority_join(struct low_priority *l);
void low_priority_leave(struct low_priority *l);
/* The thread that tells its turns runs at least every 50 ms if it can. now_ns: clock_mono_ns. */
void low_priority_turn(struct low_priority *l, uint64_t now_ns);

/* ---- the choice, for tests ---- */

struct low_priority_choice {
    bool idle;         /* SCHED_IDLE */
    uint64_t since_ns; /* when this was chosen */
    uint64_t hold_ns;  /* how long SCHED_BATCH lasts at least: longer after each late turn */
};

/* busy: the part of all cores that was in use in the last second, 0..1; NAN: not known. Returns
 * true if the policy changes. */
bool low_priority_choose(struct low_priority_choice *c, uint64_t now_ns, uint64_t turn_ns,
                         double busy);

#endif
