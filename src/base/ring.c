#include <kprof/base/ring.h>

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64 /* bytes of a cache line; the two sides must not share one */

/* Indices only increase and wrap as size_t; tail - head is the number of records. */
struct ring {
    alignas(LINE) char *data; /* read by both threads, written by none after ring_new */
    size_t mask, record_bytes;

    alignas(LINE) _Atomic size_t tail; /* of the producer: next to write */
    size_t head_seen;                  /* head as the producer last saw it */
    _Atomic uint64_t lost;

    alignas(LINE) _Atomic size_t head; /* of the consumer: next to read */
    size_t tail_seen;                  /* tail as the consumer last saw it */

    alignas(LINE) char end[LINE]; /* the next allocation starts on its own line */
};

static void *aligned(size_t bytes)
{
    void *p = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (!p)
        abort();
    return p;
}

struct ring *ring_new(size_t capacity, size_t record_bytes)
{
    assert(capacity > 0 && capacity <= SIZE_MAX / 4 && record_bytes > 0);
    size_t n = 1;
    while (n < capacity)
        n *= 2;
    if (record_bytes > (SIZE_MAX - LINE) / n)
        abort();
    struct ring *r = aligned(sizeof *r);
    memset(r, 0, sizeof *r);
    r->data = aligned(n * record_bytes);
    r->mask = n - 1;
    r->record_bytes = record_bytes;
    return r;
}

void ring_free(struct ring *r)
{
    if (!r)
        return;
    free(r->data);
    free(r);
}

static void copy_in(struct ring *r, size_t at, const char *from, size_t n)
{
    size_t slot = at & r->mask;
    size_t to_end = r->mask + 1 - slot;
    size_t first = n < to_end ? n : to_end;
    memcpy(r->data + slot * r->record_bytes, from, first * r->record_bytes);
    if (first < n)
        memcpy(r->data, from + first * r->record_bytes, (n - first) * r->record_bytes);
}

size_t ring_push_n(struct ring *r, const void *records, size_t n)
{
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    size_t capacity = r->mask + 1;
    size_t room = capacity - (tail - r->head_seen);
    if (room < n) {
        r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
        room = capacity - (tail - r->head_seen);
    }
    size_t in = n < room ? n : room;
    if (in > 0) {
        copy_in(r, tail, records, in);
        atomic_store_explicit(&r->tail, tail + in, memory_order_release);
    }
    if (in < n) /* one writer, so a load and a store replace an atomic add */
        atomic_store_explicit(&r->lost,
                              atomic_load_explicit(&r->lost, memory_order_relaxed) + (n - in),
                              memory_order_relaxed);
    return in;
}

size_t ring_peek(struct ring *r, const void **records)
{
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
    size_t ready = r->tail_seen - head;
    size_t slot = head & r->mask;
    size_t to_end = r->mask + 1 - slot;
    *records = r->data + slot * r->record_bytes;
    return ready < to_end ? ready : to_end;
}

void ring_consume(struct ring *r, size_t n)
{
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    assert(n <= r->tail_seen - head);
    atomic_store_explicit(&r->head, head + n, memory_order_release);
}

size_t ring_fill(const struct ring *r)
{
    /* Head first: it can only have grown when tail is read, so the difference is never negative. */
    size_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    size_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    size_t fill = tail - head;
    return fill <= r->mask + 1 ? fill : r->mask + 1;
}

size_t ring_capacity(const struct ring *r)
{
    return r->mask + 1;
}

uint64_t ring_lost(const struct ring *r)
{
    return atomic_load_explicit(&r->lost, memory_order_relaxed);
}
