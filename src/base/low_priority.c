#include <kprof/base/low_priority.h>

#include <sched.h>
#include <sys/resource.h>

/* Nice value with about a third of the CPU share of an ordinary thread. */
#define NICE 5

void low_priority_begin(void)
{
    const struct sched_param none = {0};

    /* 0: on Linux the calling thread. A thread that was given another policy keeps it. */
    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
    if (getpriority(PRIO_PROCESS, 0) < NICE)
        (void)setpriority(PRIO_PROCESS, 0, NICE);
}
