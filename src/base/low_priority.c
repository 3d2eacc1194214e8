#include <kprof/base/low_priority.h>

#include <sys/resource.h>

/* A third of the share of an ordinary thread: enough to follow, and the node's schedulers first. */
#define NICE 5

void low_priority_begin(void)
{
    if (getpriority(PRIO_PROCESS, 0) < NICE) /* 0: on Linux the thread that calls */
        (void)setpriority(PRIO_PROCESS, 0, NICE);
}
