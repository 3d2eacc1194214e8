/* When the screen is drawn: never too often, and soon after a key. */
#include "rng.h"

#include <app/redraw_limit.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

enum { MOST = REDRAW_LIMIT_BURST + REDRAW_LIMIT_A_SECOND };

/* The draws of the last second; the oldest is removed first. */
struct second {
    uint64_t at[MOST + 1];
    unsigned n;
};

static void drawn(struct second *s, uint64_t now)
{
    if (s->n >= MOST)
        assert_true(now - s->at[(s->n - MOST) % (MOST + 1)] >= S);
    s->at[s->n++ % (MOST + 1)] = now;
}

/* Redraw requests in random order, many or few. */
static void never_more_than_ten_a_second(void **state)
{
    (void)state;
    assert_int_equal(MOST, 10);
    for (int round = 0; round < 200; round++) {
        struct redraw_limit p = {0};
        struct second s = {.n = 0};
        uint64_t now = rng_below(100 * S), most = 1 + rng_below(round % 4 ? 50 * MS : 500 * MS);
        for (int i = 0; i < 3000; i++) {
            now += rng_below(most);
            if (redraw_limit_draw(&p, now, rng_below(2)))
                drawn(&s, now);
        }
        assert_true(s.n > 10);
    }
}

/* Like the main loop: it checks every 10 ms. 30 keys and two new snapshots per second. */
static void a_held_key_is_drawn_evenly(void **state)
{
    (void)state;
    struct redraw_limit p = {0};
    struct second s = {.n = 0};
    uint64_t last = 0;
    bool dirty = false, key = false;
    for (uint64_t now = 10 * S, end = now + 30 * S; now < end; now += 10 * MS) {
        if (now % (500 * MS) < 10 * MS)
            dirty = true;
        if (now / (S / 30) != (now - 10 * MS) / (S / 30))
            dirty = key = true;
        if (!dirty || !redraw_limit_draw(&p, now, key))
            continue;
        drawn(&s, now);
        if (last)
            assert_true(now - last <= REDRAW_LIMIT_GAP_NS + 20 * MS);
        last = now;
        dirty = key = false;
    }
    assert_in_range(s.n, 29 * REDRAW_LIMIT_A_SECOND, 31 * REDRAW_LIMIT_A_SECOND);
}

/* Any key at any time, except for repeats of a held key. */
static void a_single_key_is_drawn_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct redraw_limit p = {0};
        uint64_t now = 10 * S, next_key = now + rng_below(S), next_fresh = now;
        bool dirty = false;
        for (int keys = 0; keys < 50; now += 1 * MS) {
            if (now >= next_fresh) {
                dirty = true;
                next_fresh += 500 * MS;
            }
            if (now >= next_key) {
                assert_true(redraw_limit_draw(&p, now, true));
                next_key = now + REDRAW_LIMIT_GAP_NS + rng_below(round % 2 ? 30 * MS : 2 * S);
                dirty = false;
                keys++;
            } else if (dirty && redraw_limit_draw(&p, now, false)) {
                dirty = false;
            }
        }
    }
}

static void two_keys_in_a_row_as_well(void **state)
{
    (void)state;
    struct redraw_limit p = {0};
    assert_true(redraw_limit_draw(&p, 10 * S, false));
    assert_false(redraw_limit_draw(&p, 10 * S, false));
    assert_true(redraw_limit_draw(&p, 10 * S, true));
    assert_true(redraw_limit_draw(&p, 10 * S, true));
    assert_false(redraw_limit_draw(&p, 10 * S + REDRAW_LIMIT_GAP_NS - 1, true));
    assert_true(redraw_limit_draw(&p, 10 * S + REDRAW_LIMIT_GAP_NS, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_more_than_ten_a_second),
        cmocka_unit_test(a_held_key_is_drawn_evenly),
        cmocka_unit_test(two_keys_in_a_row_as_well),
        cmocka_unit_test(a_single_key_is_drawn_at_once),
    };
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
