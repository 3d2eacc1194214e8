#include <kprof/base/clock.h>
#include <kprof/base/low_priority.h>
#include <kprof/base/machine_use.h>

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

struct seen {
    int first_policy, policy, nice;
};

static void *lowered(void *arg)
{
    struct seen *seen = arg;
    const struct sched_param none = {0};

    if (seen->first_policy != SCHED_OTHER)
        (void)sched_setscheduler(0, seen->first_policy, &none);
    low_priority_begin();
    seen->policy = sched_getscheduler(0);
    seen->nice = getpriority(PRIO_PROCESS, 0);
    return NULL;
}

static struct seen in_a_thread(int first_policy)
{
    struct seen seen = {.first_policy = first_policy};
    pthread_t t;

    assert_int_equal(pthread_create(&t, NULL, lowered, &seen), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    return seen;
}

/* Only the thread that asks: the screen keeps its priority. */
static void changes_its_thread(void **state)
{
    (void)state;
    const int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);
    struct seen seen = in_a_thread(SCHED_OTHER);

    assert_int_equal(seen.policy, policy == SCHED_OTHER ? SCHED_BATCH : policy);
    assert_true(seen.nice >= 5);
    assert_int_equal(sched_getscheduler(0), policy);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice);
}

static void keeps_a_lower_policy(void **state)
{
    (void)state;
    assert_int_equal(in_a_thread(SCHED_IDLE).policy, SCHED_IDLE);
}

/* ---- threads that give way at once ---- */

#define S UINT64_C(1000000000)

static void waits_for_a_machine_with_time(void **state)
{
    (void)state;
    struct low_priority_choice c = {.hold_ns = 2 * S};

    assert_false(low_priority_choose(&c, 1 * S, 1 * S, 0.1)); /* not at once */
    assert_false(low_priority_choose(&c, 3 * S, 3 * S, NAN)); /* the use is not known */
    assert_false(low_priority_choose(&c, 3 * S, 3 * S, 0.7));
    assert_false(low_priority_choose(&c, 3 * S, 2 * S, 0.1)); /* its turns are late */
    assert_true(low_priority_choose(&c, 3 * S, 3 * S, 0.5));
    assert_true(c.idle);
    assert_false(low_priority_choose(&c, 4 * S, 4 * S, 0.7));
    assert_true(low_priority_choose(&c, 5 * S, 5 * S, 0.9)); /* the machine has no time left */
    assert_false(c.idle);
    assert_false(low_priority_choose(&c, 6 * S, 6 * S, 0.1));
    assert_true(low_priority_choose(&c, 7 * S, 7 * S, 0.1));
    assert_true(low_priority_choose(&c, 8 * S, 8 * S, NAN));
}

/* Each late turn makes the time until the next attempt twice as long. */
static void late_turns_end_it(void **state)
{
    (void)state;
    struct low_priority_choice c = {.hold_ns = 2 * S};
    uint64_t now = 2 * S, held = 2 * S;

    for (int i = 0; i < 10; i++) {
        assert_true(low_priority_choose(&c, now, now, 0.1));
        assert_false(low_priority_choose(&c, now + S / 10, now, 0.1));
        assert_true(low_priority_choose(&c, now + S / 5, now, 0.1));
        held = held < 64 * S ? held * 2 : 64 * S;
        now += S / 5 + held;
        assert_false(low_priority_choose(&c, now - 1, now - 1, 0.1));
    }
    /* turns that were in time for a minute: as at the start */
    assert_true(low_priority_choose(&c, now, now, 0.1));
    now += 65 * S;
    assert_true(low_priority_choose(&c, now, now, 0.9));
    assert_true(low_priority_choose(&c, now + 2 * S, now + 2 * S, 0.1));
}

static void *joined(void *arg)
{
    struct low_priority *l = arg;

    low_priority_join(l);
    low_priority_join(l); /* once is enough */
    int policy = sched_getscheduler(0);
    low_priority_leave(l);
    low_priority_leave(l);
    return policy == SCHED_BATCH || policy == SCHED_IDLE ? l : NULL;
}

/* More threads than it has room for; its own thread ends with it. */
static void threads_join_and_leave(void **state)
{
    (void)state;
    struct low_priority *l = low_priority_new(NULL, NULL);
    pthread_t t[8];

    low_priority_free(l); /* nobody has joined */
    l = low_priority_new(NULL, NULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&t[i], NULL, joined, l), 0);
    for (int i = 0; i < 8; i++) {
        void *was;
        assert_int_equal(pthread_join(t[i], &was), 0);
        assert_ptr_equal(was, l);
    }
    low_priority_free(l);
}

struct gives_way {
    struct low_priority *l;
    _Atomic int percent; /* in use */
    int first, busy, again, late;
};

static double percent_of(void *arg)
{
    struct gives_way *g = arg;

    return (double)g->percent / 100;
}

/* Returns the policy of this thread once it is `wanted`, or after 60 s. */
static int policy_within_a_minute(struct gives_way *g, int wanted, bool turns)
{
    uint64_t end = clock_mono_ns() + 60 * S;

    do {
        if (turns)
            low_priority_turn(g->l, clock_mono_ns());
        usleep(10000);
    } while (sched_getscheduler(0) != wanted && clock_mono_ns() < end);
    return sched_getscheduler(0);
}

static void *gives_way(void *arg)
{
    struct gives_way *g = arg;

    low_priority_join(g->l);
    g->first = policy_within_a_minute(g, SCHED_IDLE, true);
    g->percent = 90;
    g->busy = policy_within_a_minute(g, SCHED_BATCH, true);
    g->percent = 10;
    g->again = policy_within_a_minute(g, SCHED_IDLE, true);
    g->late = policy_within_a_minute(g, SCHED_BATCH, false);
    low_priority_leave(g->l);
    return NULL;
}

static void *may_return(void *arg)
{
    const struct sched_param none = {0};
    bool *may = arg;

    low_priority_begin();
    *may = sched_setscheduler(0, SCHED_IDLE, &none) == 0 &&
           sched_setscheduler(0, SCHED_BATCH, &none) == 0;
    return NULL;
}

static void a_thread_gives_way(void **state)
{
    (void)state;
    struct gives_way g = {.percent = 10};
    pthread_t t;
    bool may = false;

    assert_int_equal(pthread_create(&t, NULL, may_return, &may), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    if (!may || sched_getscheduler(0) != SCHED_OTHER)
        skip(); /* only root, or with RLIMIT_NICE */
    g.l = low_priority_new(percent_of, &g);
    assert_int_equal(pthread_create(&t, NULL, gives_way, &g), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    low_priority_free(g.l);
    assert_int_equal(g.first, SCHED_IDLE);
    assert_int_equal(g.busy, SCHED_BATCH);
    assert_int_equal(g.again, SCHED_IDLE);
    assert_int_equal(g.late, SCHED_BATCH);
}

static void use_of_the_machine(void **state)
{
    (void)state;
    struct machine_use u = {0};

    assert_true(isnan(machine_use_of(&u, "cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 1 1\n")));
    assert_true(isnan(machine_use_of(&u, "cpu  10 0 10 70 10 0 0 0 0 0\n"))); /* no time */
    double used = machine_use_of(&u, "cpu  20 5 15 120 20 0 0 30 0 0\n");
    assert_true(fabs(used - 50.0 / 110) < 1e-9);
    assert_true(isnan(machine_use_of(&u, "cpu  20 5\n")));
    assert_true(isnan(machine_use_of(&u, "")));
    assert_true(isnan(machine_use_of(&u, "cpu  90 5 15 100 20 0 0 30 0 0\n"))); /* less idle */
    u = (struct machine_use){0};
    assert_true(isnan(machine_use_since(&u)));
    assert_true(u.all > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_its_thread),
        cmocka_unit_test(keeps_a_lower_policy),
        cmocka_unit_test(waits_for_a_machine_with_time),
        cmocka_unit_test(late_turns_end_it),
        cmocka_unit_test(threads_join_and_leave),
        cmocka_unit_test(a_thread_gives_way),
        cmocka_unit_test(use_of_the_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
