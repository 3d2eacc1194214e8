/* A text is complete or gone, and never mixed with another, even while it is overwritten. */
#include <kprof/base/text_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void in_and_out(void **state)
{
    (void)state;
    struct text_ring *s = text_ring_new(0);
    char long_text[1000], out[300];
    memset(long_text, 'x', sizeof long_text);
    uint64_t empty = text_ring_add(s, "", 0), a = text_ring_add(s, "[1,2]", 5);
    uint64_t big = text_ring_add(s, long_text, sizeof long_text),
             b = text_ring_add(s, "12345678", 8);
    assert_true(empty && a && big && b);
    assert_true(text_ring_get(s, empty, out, sizeof out));
    assert_string_equal(out, "");
    assert_true(text_ring_get(s, a, out, sizeof out));
    assert_string_equal(out, "[1,2]");
    assert_true(text_ring_get(s, a, out, 4));
    assert_string_equal(out, "[1,");
    assert_true(text_ring_get(s, big, out, sizeof out));
    assert_int_equal(strlen(out), TEXT_RING_MAX_BYTES);
    assert_true(text_ring_get(s, b, out, sizeof out));
    assert_string_equal(out, "12345678");
    assert_false(text_ring_get(s, 0, out, sizeof out));
    assert_false(text_ring_get(s, b + 100, out, sizeof out)); /* not a number of this ring */
    assert_false(text_ring_get(s, a, out, 0));
    text_ring_free(s);
    text_ring_free(NULL);
}

static void the_oldest_go(void **state)
{
    (void)state;
    enum { N = 100000 };
    static uint64_t handle[N];
    struct text_ring *s = text_ring_new(1 << 16);
    char text[64], out[64];
    int there = 0, last_gone = -1;
    for (int i = 0; i < N; i++) {
        int n = snprintf(text, sizeof text, "text number %d%.*s", i, i % 30,
                         "..............................");
        handle[i] = text_ring_add(s, text, (size_t)n);
    }
    for (int i = 0; i < N; i++) {
        if (!text_ring_get(s, handle[i], out, sizeof out)) {
            last_gone = i;
            continue;
        }
        snprintf(text, sizeof text, "text number %d%.*s", i, i % 30,
                 "..............................");
        assert_string_equal(out, text);
        there++;
    }
    assert_int_equal(last_gone, N - there - 1); /* the stored texts are the newest, without a gap */
    assert_in_range(there, 1000, 1 << 13);
    text_ring_free(s);
}

/* ---- a reader and a writer thread ---- */

enum { ROUNDS = 300000 };

static struct text_ring *shared;
static _Atomic uint64_t newest;
static _Atomic int finished;

static void *writer(void *arg)
{
    char text[200];
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = 1 + (size_t)i % sizeof text;
        memset(text, 'a' + i % 26, n);
        atomic_store(&newest, text_ring_add(shared, text, n));
    }
    atomic_store(&finished, 1);
    return NULL;
}

static void never_half_of_two(void **state)
{
    (void)state;
    pthread_t t;
    char out[300];
    uint64_t got = 0, gone = 0;
    shared = text_ring_new(0);
    assert_int_equal(pthread_create(&t, NULL, writer, NULL), 0);
    while (!atomic_load(&finished) || got == 0) {
        uint64_t handle = atomic_load(&newest);
        if (!handle)
            continue;
        /* sometimes the writer overwrites this text at the same time */
        for (int again = 0; again < 50; again++) {
            if (!text_ring_get(shared, handle, out, sizeof out)) {
                gone++;
                break;
            }
            got++;
            for (const char *c = out; *c; c++)
                assert_int_equal(*c, out[0]);
        }
    }
    pthread_join(t, NULL);
    assert_true(got > 0);
    text_ring_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_and_out),
        cmocka_unit_test(the_oldest_go),
        cmocka_unit_test(never_half_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
