#include <kprof/base/low_priority.h>

#include <kprof/base/clock.h>
#include <kprof/base/machine_use.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Nice value with about a third of the CPU share of an ordinary thread. */
#define NICE 5

#define WATCH_NS   (50 * UINT64_C(1000000))
#define LATE_NS    (150 * UINT64_C(1000000)) /* three turns */
#define LEAST_HOLD (2 * CLOCK_SEC_NS)
#define MOST_HOLD  (64 * CLOCK_SEC_NS)
#define BUSY       0.8 /* of all cores: no time is left */
#define FREE       0.6

enum { THREADS_MAX = 4 };

struct low_priority {
    pthread_mutex_t lock; /* of all but turn_ns */
    pthread_cond_t ends;
    pthread_t watch;
    pid_t thread[THREADS_MAX];
    int n;
    bool watched, ended;
    double (*busy)(void *arg);
    void *busy_arg;
    struct machine_use use;
    struct low_priority_choice choice;
    _Atomic uint64_t turn_ns;
};

static bool set_policy(pid_t thread, int policy)
{
    const struct sched_param param = {0};

    return sched_setscheduler(thread, policy, &param) == 0;
}

void low_priority_begin(void)
{
    /* A thread that was given another policy keeps it. */
    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)set_policy(0, SCHED_BATCH);
    if (getpriority(PRIO_PROCESS, 0) < NICE) /* 0: on Linux the calling thread */
        (void)setpriority(PRIO_PROCESS, 0, NICE);
}

/* ---- the choice ---- */

static bool change(struct low_priority_choice *c, uint64_t now_ns)
{
    c->idle = !c->idle;
    c->since_ns = now_ns;
    return true;
}

bool low_priority_choose(struct low_priority_choice *c, uint64_t now_ns, uint64_t turn_ns,
                         double busy)
{
    bool late = now_ns > turn_ns && now_ns - turn_ns > LATE_NS;
    uint64_t lasts_ns = now_ns - c->since_ns;

    if (!c->idle)
        return !late && busy < FREE && lasts_ns >= c->hold_ns && change(c, now_ns);
    if (late) {
        c->hold_ns = c->hold_ns < MOST_HOLD ? c->hold_ns * 2 : MOST_HOLD;
        return change(c, now_ns);
    }
    if (lasts_ns > MOST_HOLD)
        c->hold_ns = LEAST_HOLD;
    return !(busy < BUSY) && change(c, now_ns);
}

/* ---- the watch ---- */

/* The kernel lets a thread leave SCHED_IDLE only with a privilege. */
static bool can_return(void)
{
    return set_policy(0, SCHED_IDLE) && set_policy(0, SCHED_BATCH);
}

static void wait_a_turn(struct low_priority *l)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)WATCH_NS;
    if (until.tv_nsec >= (long)CLOCK_SEC_NS) {
        until.tv_nsec -= (long)CLOCK_SEC_NS;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&l->ends, &l->lock, &until);
}

static void apply(const struct low_priority *l)
{
    for (int i = 0; i < l->n; i++)
        (void)set_policy(l->thread[i], l->choice.idle ? SCHED_IDLE : SCHED_BATCH);
}

static void *watch(void *arg)
{
    struct low_priority *l = arg;
    double busy = NAN;
    uint64_t looked_ns = 0;

    low_priority_begin();
    if (!can_return())
        return NULL;
    pthread_mutex_lock(&l->lock);
    while (!l->ended) {
        uint64_t now = clock_mono_ns();
        if (now - looked_ns >= CLOCK_SEC_NS) {
            looked_ns = now;
            busy = l->busy(l->busy_arg);
        }
        if (low_priority_choose(&l->choice, now, atomic_load(&l->turn_ns), busy))
            apply(l);
        wait_a_turn(l);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static double busy_of_machine(void *arg)
{
    struct low_priority *l = arg;

    return machine_use_since(&l->use);
}

struct low_priority *low_priority_new(double (*busy)(void *arg), void *arg)
{
    struct low_priority *l = calloc(1, sizeof *l);
    pthread_condattr_t at;

    if (!l)
        abort();
    l->busy = busy ? busy : busy_of_machine;
    l->busy_arg = busy ? arg : l;
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&at);
    pthread_condattr_setclock(&at, CLOCK_MONOTONIC);
    pthread_cond_init(&l->ends, &at);
    pthread_condattr_destroy(&at);
    return l;
}

void low_priority_free(struct low_priority *l)
{
    pthread_mutex_lock(&l->lock);
    l->ended = true;
    pthread_cond_signal(&l->ends);
    pthread_mutex_unlock(&l->lock);
    if (l->watched)
        pthread_join(l->watch, NULL);
    pthread_cond_destroy(&l->ends);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static int place_of(const struct low_priority *l, pid_t thread)
{
    int i = 0;

    while (i < l->n && l->thread[i] != thread)
        i++;
    return i;
}

void low_priority_join(struct low_priority *l)
{
    pid_t me = gettid();

    low_priority_begin();
    if (sched_getscheduler(0) != SCHED_BATCH)
        return; /* it has joined before, or has a policy of its own */
    pthread_mutex_lock(&l->lock);
    if (l->n < THREADS_MAX && place_of(l, me) == l->n) {
        l->thread[l->n++] = me;
        if (l->choice.idle)
            (void)set_policy(me, SCHED_IDLE);
    }
    if (!l->watched) {
        l->choice =
            (struct low_priority_choice){.since_ns = clock_mono_ns(), .hold_ns = LEAST_HOLD};
        l->watched = pthread_create(&l->watch, NULL, watch, l) == 0;
    }
    pthread_mutex_unlock(&l->lock);
}

void low_priority_leave(struct low_priority *l)
{
    pthread_mutex_lock(&l->lock);
    int at = place_of(l, gettid());
    if (at < l->n)
        l->thread[at] = l->thread[--l->n];
    pthread_mutex_unlock(&l->lock);
}

void low_priority_turn(struct low_priority *l, uint64_t now_ns)
{
    atomic_store_explicit(&l->turn_ns, now_ns, memory_order_relaxed);
}
