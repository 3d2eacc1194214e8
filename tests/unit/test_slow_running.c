/* Calls of stored slow requests that end after their request, compared with a list of them. */
#include "rng.h"

#include <core/slow_store.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 4000, LIST = 1 << 16, PIDS = 40 };

/* A running call of the request with this id; end_ns: 0 until it has ended. */
struct running {
    uint64_t id;
    uint32_t call;
    struct slow_trace_call as;
    uint64_t end_ns;
};

struct model {
    struct slow_store s;
    struct running list[LIST];
    size_t n;
    uint64_t now_ns;
};

static void store_request(struct model *m)
{
    struct slow_store *s = &m->s;
    int at = slow_store_begin(s, 7, m->now_ns);
    struct slow_trace_call entry = {.start_ns = m->now_ns, .end_ns = m->now_ns + 1000, .pid = 1};
    uint32_t n = (uint32_t)rng_below(rng() % 8 ? 12 : SLOW_TRACE_CALLS);

    assert_true(at >= 0);
    for (uint32_t i = 1; i <= n; i++) {
        struct slow_trace_call c = {.start_ns = m->now_ns + i / 2 * 2,
                                    .end_ns = m->now_ns + i / 2 * 2 + 1,
                                    .pid = 1 + rng_below(PIDS),
                                    .tier = (uint8_t)rng_below(3)};
        if (rng() % 2) {
            c.flags = SLOW_TRACE_RUNNING;
            c.end_ns = 0;
        }
        if (!slow_store_add(s, at, &c))
            break;
        if (c.flags && m->n < LIST)
            m->list[m->n++] = (struct running){s->building[at]->id, i, c, 0};
    }
    s->building[at]->end_ns = entry.end_ns;
    slow_store_close(s, at, &entry);
    m->now_ns += 2000;
}

static const struct slow_trace_request *with_id(const struct model *m, uint64_t id)
{
    const struct slow_trace_request *r;

    for (uint32_t i = 0; i < SLOW_STORE_REQUESTS && (r = slow_store_request(&m->s, i)); i++)
        if (r->id == id)
            return r;
    return NULL;
}

/* Ends one of the running calls, whose request may have been dropped. Calls with the same process,
 * start and tier cannot be told apart: any of them may have ended. */
static void end_one(struct model *m)
{
    if (m->n == 0)
        return;
    size_t at = rng_below(m->n < 3000 ? m->n : 3000);
    struct running *k = &m->list[m->n - 1 - at];
    struct slow_trace_call c = k->as;
    const struct slow_trace_request *r = with_id(m, k->id);

    if (k->end_ns)
        return;
    c.end_ns = m->now_ns;
    c.flags = rng() % 2 ? SLOW_TRACE_ERROR : 0;
    if (r && rng() % 4 == 0)
        slow_store_late(&m->s, r->end_ns, &c);
    else
        slow_store_ended(&m->s, &c);
    for (size_t i = 0; r && i < m->n; i++) {
        struct running *o = &m->list[i];
        if (o->id != k->id || o->end_ns || o->as.pid != c.pid || o->as.start_ns != c.start_ns ||
            o->as.tier != c.tier || !(r = with_id(m, k->id))->call[o->call].end_ns)
            continue;
        o->end_ns = c.end_ns;
        assert_int_equal(r->call[o->call].flags, SLOW_TRACE_ASYNC | c.flags);
        return;
    }
    if (r)
        fail_msg("the end of call %u of request %llu was not stored", k->call,
                 (unsigned long long)k->id);
}

/* A call that no request has. */
static void end_another(struct model *m)
{
    struct slow_trace_call c = {.start_ns = m->now_ns + 1 + rng_below(100),
                                .end_ns = m->now_ns + 200,
                                .pid = 1 + rng_below(PIDS)};
    uint32_t before = m->s.running.n;

    slow_store_ended(&m->s, &c);
    assert_int_equal(m->s.running.n, before);
}

static void check(const struct model *m)
{
    const struct slow_trace_request *r;
    uint32_t all = 0;

    for (uint32_t i = 0; i < m->s.n && (r = slow_store_request(&m->s, i)); i++) {
        uint32_t running = 0;
        for (uint32_t k = 0; k < r->n; k++)
            running += (r->call[k].flags & SLOW_TRACE_RUNNING) != 0;
        assert_int_equal(r->running, running);
        all += running;
    }
    assert_int_equal(m->s.running.n, all);
    for (size_t i = 0; i < m->n; i++) {
        r = with_id(m, m->list[i].id);
        if (r)
            assert_int_equal(r->call[m->list[i].call].end_ns, m->list[i].end_ns);
    }
}

static void every_end_is_stored(void **state)
{
    (void)state;
    struct model *m = calloc(1, sizeof *m);
    const struct slow_trace_request *other = NULL; /* as a snapshot has */

    assert_non_null(m);
    slow_store_init(&m->s, 0);
    m->now_ns = 1000;
    for (int i = 0; i < ROUNDS; i++) {
        if (rng() % 10 == 0)
            store_request(m);
        for (int k = 0; k < 4; k++)
            end_one(m);
        end_another(m);
        if (rng() % 50 == 0 && m->s.n) {
            if (other)
                slow_trace_unref(other);
            other = slow_trace_ref(slow_store_request(&m->s, (uint32_t)rng_below(m->s.n)));
        }
        if (i % 100 == 99)
            check(m);
    }
    slow_store_clear(&m->s);
    assert_int_equal(m->s.running.n, 0);
    if (other)
        slow_trace_unref(other);
    slow_store_release(&m->s);
    free(m);
}

/* Thousands of calls with the same hash, as a hostile node may send. */
static void chains_are_bounded(void **state)
{
    (void)state;
    struct slow_running r;
    struct slow_running_place place;
    struct slow_trace_call c = {.start_ns = 5, .pid = 9};

    slow_running_init(&r);
    assert_false(slow_running_take(&r, &c, SLOW_RUNNING_ANY, &place));
    for (uint32_t i = 0; i < 5000; i++)
        slow_running_add(&r, &c, i % 200, i % 500);
    assert_int_equal(r.n, SLOW_RUNNING_CHAIN);
    assert_true(slow_running_take(&r, &c, 17, &place));
    assert_int_equal(place.trace, 17);
    assert_false(slow_running_take(&r, &c, 17, &place));
    for (uint32_t i = 1; i < SLOW_RUNNING_CHAIN; i++)
        assert_true(slow_running_take(&r, &c, SLOW_RUNNING_ANY, &place));
    assert_false(slow_running_take(&r, &c, SLOW_RUNNING_ANY, &place));
    for (uint32_t i = 0; i < 200; i++) { /* its memory is used again */
        slow_running_add(&r, &c, 1, i);
        assert_true(slow_running_take(&r, &c, 1, &place));
        assert_int_equal(place.call, i);
    }
    assert_true(r.high <= SLOW_RUNNING_CHAIN);
    slow_running_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_is_stored),
        cmocka_unit_test(chains_are_bounded),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
