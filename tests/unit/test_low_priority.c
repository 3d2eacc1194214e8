#include <kprof/base/low_priority.h>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_its_thread),
        cmocka_unit_test(keeps_a_lower_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
