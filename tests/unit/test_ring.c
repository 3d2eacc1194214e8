#include "rng.h"

#include <kprof/base/clock.h>
#include <kprof/base/ring.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

struct record {
    uint64_t seq, words[6], sum; /* the sum detects a torn record */
};

static struct record record_of(uint64_t seq)
{
    struct record r = {.seq = seq};
    for (size_t i = 0; i < 6; i++)
        r.sum += r.words[i] = seq * (2 * i + 3);
    return r;
}

static void is_whole(const struct record *r)
{
    struct record want = record_of(r->seq);
    assert_memory_equal(r, &want, sizeof want);
}

/* Random pushes and takes, compared with two counters: the ring contains first_in..next_in-1. */
static void keeps_order_and_counts(void **state)
{
    (void)state;
    for (size_t capacity = 1; capacity < 40; capacity++) {
        struct ring *r = ring_new(capacity, sizeof(struct record));
        size_t cap = ring_capacity(r);
        assert_true(cap >= capacity && cap < 2 * capacity);
        uint64_t first_in = 0, next_in = 0, lost = 0;
        for (int op = 0; op < 2000; op++) {
            struct record batch[16];
            size_t n = rng() % 17;
            size_t room = cap - (size_t)(next_in - first_in);
            size_t fits = n < room ? n : room;
            if (rng() % 2) {
                for (size_t i = 0; i < n; i++)
                    batch[i] = record_of(next_in + i);
                assert_int_equal(ring_push_n(r, batch, n), fits);
                next_in += fits;
                lost += n - fits;
            } else {
                const void *p;
                size_t ready = ring_peek(r, &p);
                size_t to_end = cap - (size_t)first_in % cap;
                size_t held = (size_t)(next_in - first_in);
                assert_int_equal(ready, held < to_end ? held : to_end);
                size_t take = n < ready ? n : ready;
                for (size_t i = 0; i < take; i++) {
                    const struct record *got = (const struct record *)p + i;
                    is_whole(got);
                    assert_int_equal(got->seq, first_in + i);
                }
                ring_consume(r, take);
                first_in += take;
            }
            assert_int_equal(ring_fill(r), next_in - first_in);
            assert_int_equal(ring_lost(r), lost);
        }
        ring_free(r);
    }
}

static void other_record_sizes(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes < 100; bytes += 7) {
        struct ring *r = ring_new(8, bytes);
        unsigned char rec[100], take = 0;
        for (unsigned char i = 0; i < 50; i++) {
            memset(rec, i, sizeof rec);
            assert_int_equal(ring_push_n(r, rec, 1), 1);
            const void *p;
            if (i % 5 != 4)
                continue;
            for (size_t n; (n = ring_peek(r, &p)) > 0; ring_consume(r, n))
                for (size_t k = 0; k < n; k++, take++)
                    for (size_t b = 0; b < bytes; b++)
                        assert_int_equal(((const unsigned char *)p)[k * bytes + b], take);
        }
        assert_int_equal(take, 50);
        ring_free(r);
    }
}

/* ---- two threads ---- */

#ifdef __SANITIZE_THREAD__
enum { RECORDS = 300000 };
#else
enum { RECORDS = 1000000 };
#endif
/* If the threads share a core with other programs, each handover takes a time slice; then use
 * fewer. */
enum { LEAST_RECORDS = 10000 };
#define ENOUGH_NS UINT64_C(10000000000)
#define STUCK_NS  UINT64_C(120000000000)

struct two {
    struct ring *ring;
    bool patient; /* push the refused record again until it is accepted */
    uint64_t offered;
    uint64_t pushed;
    uint64_t seed;
    atomic_bool done;
};

static uint64_t next(uint64_t *seed)
{
    return *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
}

static void *producer(void *arg)
{
    struct two *t = arg;
    struct record batch[64];
    uint64_t enough = clock_mono_ns() + ENOUGH_NS;
    uint64_t seq = 0;
    while (seq < LEAST_RECORDS || (seq < RECORDS && clock_mono_ns() < enough)) {
        size_t n = 1 + (size_t)(next(&t->seed) >> 33) % 64;
        if (n > RECORDS - seq)
            n = (size_t)(RECORDS - seq);
        for (size_t i = 0; i < n; i++)
            batch[i] = record_of(seq + i);
        size_t in = ring_push_n(t->ring, batch, n);
        t->pushed += in;
        seq += t->patient ? in : n;
        if (in < n)
            sched_yield();
    }
    t->offered = seq;
    atomic_store(&t->done, true);
    return NULL;
}

struct seen {
    uint64_t records, gaps, out_of_order, torn, last;
};

static void look_at(struct seen *s, const struct record *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct record want = record_of(r[i].seq);
        s->torn += memcmp(&r[i], &want, sizeof want) != 0;
        s->out_of_order += s->records > 0 && r[i].seq <= s->last;
        s->gaps += r[i].seq - (s->records > 0 ? s->last + 1 : 0);
        s->last = r[i].seq;
        s->records++;
    }
}

static struct seen consume_all(struct two *t)
{
    struct seen s = {0};
    uint64_t moved = clock_mono_ns();
    for (;;) {
        bool done = atomic_load(&t->done); /* read before the peek: nothing is pushed after it */
        const void *p;
        size_t n = ring_peek(t->ring, &p);
        if (n == 0 && done)
            return s;
        if (n == 0) {
            sched_yield();
            assert_true(clock_mono_ns() - moved < STUCK_NS);
            continue;
        }
        moved = clock_mono_ns();
        size_t take = 1 + (size_t)rng() % n;
        look_at(&s, p, take);
        ring_consume(t->ring, take);
        assert_true(ring_fill(t->ring) <= ring_capacity(t->ring));
    }
}

static void between_threads(size_t capacity, bool patient)
{
    struct two t = {
        .ring = ring_new(capacity, sizeof(struct record)), .patient = patient, .seed = rng()};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, producer, &t), 0);
    struct seen s = consume_all(&t);
    pthread_join(thread, NULL);
    assert_int_equal(s.torn, 0);
    assert_int_equal(s.out_of_order, 0);
    assert_int_equal(s.records, t.pushed);
    if (patient) {
        assert_int_equal(s.records, t.offered);
        assert_int_equal(s.gaps, 0);
    } else {
        assert_int_equal(s.records + ring_lost(t.ring), t.offered);
        assert_true(s.gaps <= ring_lost(t.ring)); /* minus the records lost after the last one */
    }
    ring_free(t.ring);
}

static void two_threads_lose_nothing(void **state)
{
    (void)state;
    between_threads(2, true);
    between_threads(1024, true);
}

static void two_threads_count_what_they_lose(void **state)
{
    (void)state;
    between_threads(16, false);
    between_threads(256, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_order_and_counts),
        cmocka_unit_test(other_record_sizes),
        cmocka_unit_test(two_threads_lose_nothing),
        cmocka_unit_test(two_threads_count_what_they_lose),
    };
    rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
