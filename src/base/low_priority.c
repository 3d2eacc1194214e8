#include <kprof/base/low_priority.h>

#include <sys/resource.h>

/* Nice value with about a third of the CPU share of an ordinary thread. */
#define NICE 5

void low_priority_begin(void)
{
    if (getpriority(PRIO_PROCESS, 0) < NICE) /* 0: on Linux the calling thread */
        (void)setpriority(PRIO_PROCESS, 0, NICE);
}
