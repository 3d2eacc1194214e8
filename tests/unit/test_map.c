#include "rng.h"

#include <kprof/base/map.h>

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

/* The naive model: value of key number i, MAP_EMPTY if it is not in the map. */
enum { KEYS = 600 };

struct model {
    uint64_t keys[KEYS];
    uint32_t vals[KEYS];
    size_t used;
};

static void agrees(const struct map *m, const struct model *w)
{
    assert_int_equal(m->used, w->used);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(map_get(m, w->keys[i]), w->vals[i]);
    if (!m->vals)
        return;
    size_t taken = 0;
    for (size_t i = 0; i <= m->mask; i++)
        taken += m->vals[i] != MAP_EMPTY;
    assert_int_equal(taken, m->used);
    assert_true(m->used * 4 <= (m->mask + 1) * 3);
}

static void put(struct map *m, struct model *w, size_t i)
{
    uint32_t val = (uint32_t)(rng() % MAP_EMPTY);
    bool fits = w->vals[i] != MAP_EMPTY || w->used < m->max;
    assert_int_equal(map_put(m, w->keys[i], val), fits);
    if (!fits)
        return;
    w->used += w->vals[i] == MAP_EMPTY;
    w->vals[i] = val;
}

static void del(struct map *m, struct model *w, size_t i)
{
    bool there = w->vals[i] != MAP_EMPTY;
    assert_int_equal(map_del(m, w->keys[i]), there);
    w->used -= there;
    w->vals[i] = MAP_EMPTY;
}

/* Typical keys: dense counters, pids with the number in the high half, multiples, random. */
static uint64_t key_of(unsigned shape, size_t i)
{
    switch (shape) {
    case 0:
        return i;
    case 1:
        return (uint64_t)i << 32 | 7;
    case 2:
        return (uint64_t)i << 20;
    default:
        return rng();
    }
}

static void random_operations(unsigned shape, size_t max)
{
    struct model w = {.used = 0};
    for (size_t i = 0; i < KEYS; i++) {
        w.keys[i] = i == KEYS - 1 && shape != 0 ? 0 : key_of(shape, i + (shape != 0));
        w.vals[i] = MAP_EMPTY;
    }
    struct map m;
    map_init(&m, max);
    agrees(&m, &w);
    for (int op = 0; op < 20000; op++) {
        size_t i = rng() % KEYS;
        bool growing = op / 1000 % 2 == 0; /* fill and empty in turn */
        if (rng() % 4 == 0 ? !growing : growing)
            put(&m, &w, i);
        else
            del(&m, &w, i);
        assert_int_equal(map_get(&m, w.keys[i]), w.vals[i]);
        if (op % 97 == 0)
            agrees(&m, &w);
        if (op == 15500) {
            map_clear(&m);
            memset(w.vals, 0xff, sizeof w.vals);
            w.used = 0;
            agrees(&m, &w);
        }
    }
    agrees(&m, &w);
    map_release(&m);
    assert_int_equal(map_get(&m, 1), MAP_EMPTY);
}

static void behaves_like_the_model(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < 4; shape++) {
        random_operations(shape, 10000);
        random_operations(shape, 300); /* sometimes full */
        random_operations(shape, 1);
    }
}

static void large(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct map m;
    map_init(&m, N);
    for (uint32_t i = 0; i < N; i++)
        assert_true(map_put(&m, (uint64_t)i << 32 | i, i));
    assert_false(map_put(&m, 1, 1));
    for (uint32_t i = 0; i < N; i += 2)
        assert_true(map_del(&m, (uint64_t)i << 32 | i));
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(map_get(&m, (uint64_t)i << 32 | i), i % 2 ? i : MAP_EMPTY);
    assert_int_equal(m.used, N / 2);
    map_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_like_the_model),
        cmocka_unit_test(large),
    };
    rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
