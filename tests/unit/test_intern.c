#include "rng.h"

#include <kprof/base/clock.h>
#include <kprof/base/intern.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

enum { STRINGS = 30000 };

/* String number i: all are different, of any length from 1, some with NULs and high bytes. */
static size_t string_of(uint32_t i, char *out)
{
    size_t n = 4 + i % 61;
    memset(out, (int)(i % 256), n);
    memcpy(out + (i % 2 ? 0 : n - 4), &i, 4);
    return n;
}

static void is_string(const struct intern *t, uint32_t id, uint32_t i)
{
    char want[80];
    size_t n = string_of(i, want);
    assert_int_equal(intern_len(t, id), n);
    assert_memory_equal(intern_str(t, id), want, n);
    assert_int_equal(intern_str(t, id)[n], 0);
}

static void same_bytes_same_id(void **state)
{
    (void)state;
    struct intern *t = intern_new(STRINGS, (size_t)64 << 20);
    char s[80];
    const char **at = calloc(STRINGS + 1, sizeof *at);
    for (uint32_t i = 1; i <= STRINGS; i++) {
        size_t n = string_of(i, s);
        assert_int_equal(intern_find(t, s, n), 0);
        assert_int_equal(intern_add(t, s, n), i);
        assert_int_equal(intern_add(t, s, n), i);
        at[i] = intern_str(t, i);
        uint32_t old = 1 + (uint32_t)(rng() % i);
        n = string_of(old, s);
        assert_int_equal(intern_add(t, s, n), old);
        assert_int_equal(intern_find(t, s, n), old);
    }
    assert_int_equal(intern_count(t), STRINGS);
    for (uint32_t i = 1; i <= STRINGS; i++) {
        is_string(t, i, i);
        assert_ptr_equal(intern_str(t, i), at[i]); /* strings never move */
    }
    assert_int_equal(intern_refused(t), 0);
    free((void *)at);
    intern_free(t);
}

/* Strings of one repeated byte differ only in length; one changed byte makes a different string. */
static void near_strings_are_told_apart(void **state)
{
    (void)state;
    struct intern *t = intern_new(100000, (size_t)64 << 20);
    char s[100] = {0};
    uint32_t id = 0;
    for (size_t n = 1; n < sizeof s; n++) {
        assert_int_equal(intern_add(t, s, n), ++id);
        for (size_t i = 0; i < n; i++) {
            s[i] = 1;
            assert_int_equal(intern_add(t, s, n), ++id);
            s[i] = 0;
        }
    }
    intern_free(t);
}

static void none_and_full(void **state)
{
    (void)state;
    struct intern *t = intern_new(2, 1000);
    assert_string_equal(intern_str(t, INTERN_NONE), "");
    assert_int_equal(intern_len(t, INTERN_NONE), 0);
    assert_int_equal(intern_add(t, "", 0), INTERN_NONE);
    assert_int_equal(intern_find(t, "", 0), INTERN_NONE);
    assert_int_equal(intern_count(t), 0);
    assert_int_equal(intern_add(t, "one", 3), 1);
    assert_int_equal(intern_add(t, "two", 3), 2);
    assert_int_equal(intern_add(t, "three", 5), INTERN_FULL);
    uint32_t ids;
    size_t bytes;
    intern_room(t, &ids, &bytes);
    assert_int_equal(ids, 0);
    assert_int_equal(bytes, 1000 - 8);
    assert_int_equal(intern_refused(t), 1);
    assert_int_equal(intern_find(t, "three", 5), 0);
    assert_int_equal(intern_add(t, "one", 3), 1);
    assert_int_equal(intern_refused(t), 1);
    assert_string_equal(intern_str(t, INTERN_FULL), "<other>");
    assert_int_equal(intern_len(t, INTERN_FULL), 7);
    intern_free(t);
    intern_free(NULL);
}

static void bytes_are_bounded(void **state)
{
    (void)state;
    enum { MAX_BYTES = 200000 };
    static char big[MAX_BYTES];
    struct intern *t = intern_new(1000, MAX_BYTES);
    memset(big, 'x', sizeof big);
    assert_int_equal(intern_add(t, big, MAX_BYTES), INTERN_FULL);
    assert_int_equal(intern_add(t, big, 150000), 1);
    assert_int_equal(intern_add(t, big, 50000), INTERN_FULL);
    assert_int_equal(intern_add(t, big, MAX_BYTES - 150001 - 1), 2); /* up to the last byte */
    assert_int_equal(intern_add(t, "a", 1), INTERN_FULL);
    assert_int_equal(intern_refused(t), 3);
    assert_int_equal(intern_len(t, 1), 150000);
    assert_memory_equal(intern_str(t, 2), big, 49998);
    intern_free(t);
    t = intern_new(10, 100);
    assert_int_equal(intern_add_leaving(t, "a", 1, 9, 0), 1);
    assert_int_equal(intern_add_leaving(t, "b", 1, 9, 0), INTERN_FULL);
    assert_int_equal(intern_add_leaving(t, "a", 1, 10, 100), 1); /* is there */
    assert_int_equal(intern_add_leaving(t, "b", 1, 0, 97), INTERN_FULL);
    assert_int_equal(intern_add_leaving(t, "b", 1, 0, 96), 2);
    assert_int_equal(intern_add_leaving(t, "c", 1, 0, SIZE_MAX), INTERN_FULL);
    intern_free(t);
}

/* ---- a reader that receives ids while another thread adds strings ---- */

struct handover {
    struct intern *t;
    _Atomic uint32_t newest; /* id i has string i */
    uint64_t wrong;
};

static void *reader(void *arg)
{
    struct handover *h = arg;
    char want[80];
    uint32_t looked = 0;
    uint64_t deadline = clock_mono_ns() + UINT64_C(120000000000);
    while (looked < STRINGS && clock_mono_ns() < deadline) {
        uint32_t newest = atomic_load_explicit(&h->newest, memory_order_acquire);
        if (newest == looked)
            sched_yield();
        for (; looked < newest; looked++) {
            size_t n = string_of(looked + 1, want);
            h->wrong += intern_len(h->t, looked + 1) != n ||
                        memcmp(intern_str(h->t, looked + 1), want, n) != 0;
        }
    }
    h->wrong += looked != STRINGS;
    return NULL;
}

static void readers_see_what_they_were_handed(void **state)
{
    (void)state;
    struct handover h = {.t = intern_new(STRINGS, (size_t)64 << 20)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, reader, &h), 0);
    char s[80];
    for (uint32_t i = 1; i <= STRINGS; i++) {
        size_t n = string_of(i, s);
        uint32_t id = intern_add(h.t, s, n);
        if (id != i)
            break; /* the reader has a deadline */
        atomic_store_explicit(&h.newest, id, memory_order_release);
    }
    pthread_join(thread, NULL);
    assert_int_equal(h.wrong, 0);
    intern_free(h.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_same_id),
        cmocka_unit_test(near_strings_are_told_apart),
        cmocka_unit_test(none_and_full),
        cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(readers_see_what_they_were_handed),
    };
    rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
