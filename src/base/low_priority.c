#include <kprof/base/low_priority.h>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

/* Nice value with about a third of the CPU share of an ordinary thread. */
#define NICE 5

void low_priority_begin(void)
{
    struct sched_param param;
    int policy;

    /* A thread that was given another policy keeps it. */
    if (pthread_getschedparam(pthread_self(), &policy, &param) == 0 && policy == SCHED_OTHER)
        (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &param);
    if (getpriority(PRIO_PROCESS, 0) < NICE) /* 0: on Linux the calling thread */
        (void)setpriority(PRIO_PROCESS, 0, NICE);
}
