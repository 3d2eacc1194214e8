/* core_stalls: tells when a core of this machine did not run, until its parent ends or it is
 * killed. A thread of the highest real-time priority on each core wakes every half millisecond. No
 * program delays it, so if it wakes late, then the core was stopped from outside: by the host of a
 * virtual machine, or by the kernel. Prints a line for each time of more than a millisecond: its
 * begin and end, in microseconds of CLOCK_REALTIME. Exits with 1 if it may not have this priority.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { STEP_NS = 500000, LATE_NS = 1000000, CORES_MAX = 256 };

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int become(int core)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    const struct sched_param highest = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    return pthread_setaffinity_np(pthread_self(), sizeof only, &only) != 0 ||
           pthread_setschedparam(pthread_self(), SCHED_FIFO, &highest) != 0;
}

static void *watch(void *core)
{
    if (become((int)(intptr_t)core) != 0) {
        perror("core_stalls: no real-time priority");
        exit(1);
    }
    for (;;) {
        const int64_t due_ns = now_ns(CLOCK_MONOTONIC) + STEP_NS;
        const struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        const int64_t late_ns = now_ns(CLOCK_MONOTONIC) - due_ns;
        if (late_ns > LATE_NS) {
            const int64_t end_us = now_ns(CLOCK_REALTIME) / 1000;
            printf("%lld %lld\n", (long long)(end_us - late_ns / 1000), (long long)end_us);
            fflush(stdout);
        }
    }
    return NULL;
}

int main(void)
{
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t usable;
    if (getppid() != parent || sched_getaffinity(0, sizeof usable, &usable) != 0) {
        return 1;
    }
    for (int core = 0; core < CORES_MAX; core++) {
        pthread_t thread;
        if (CPU_ISSET(core, &usable) &&
            pthread_create(&thread, NULL, watch, (void *)(intptr_t)core) != 0) {
            return 1;
        }
    }
    for (;;) {
        pause();
    }
}
