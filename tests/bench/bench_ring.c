/* Records per second through the ring between two threads: 64 bytes each, pushed in lists of 500
 * (as from a relay), waiting when it is full. Median of 5. */
#include <kprof/base/clock.h>
#include <kprof/base/ring.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORDS = 20000000, LIST = 500, CAPACITY = 16384, RUNS = 5 };

struct record {
    uint64_t seq, words[7];
};

static void *push(void *arg)
{
    struct ring *r = arg;
    static struct record list[LIST];
    for (uint64_t seq = 0; seq < RECORDS;) {
        while (ring_capacity(r) - ring_fill(r) < LIST)
            sched_yield();
        for (size_t i = 0; i < LIST; i++)
            list[i].seq = seq++;
        ring_push_n(r, list, LIST);
    }
    return NULL;
}

/* Millions per second; exits if a record is missing. */
static double run(void)
{
    struct ring *r = ring_new(CAPACITY, sizeof(struct record));
    pthread_t producer;
    uint64_t start = clock_mono_ns(), got = 0, sum = 0;
    if (pthread_create(&producer, NULL, push, r) != 0)
        exit(1);
    while (got < RECORDS) {
        const void *p;
        size_t n = ring_peek(r, &p);
        if (n == 0)
            sched_yield();
        for (size_t i = 0; i < n; i++)
            sum += ((const struct record *)p)[i].seq;
        ring_consume(r, n);
        got += n;
    }
    double seconds = (double)(clock_mono_ns() - start) / 1e9;
    pthread_join(producer, NULL);
    if (sum != (uint64_t)RECORDS * (RECORDS - 1) / 2 || ring_lost(r) != 0) {
        fprintf(stderr, "ring: records are missing\n");
        exit(1);
    }
    ring_free(r);
    return RECORDS / seconds / 1e6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    double rates[RUNS];
    for (int i = 0; i < RUNS; i++)
        rates[i] = run();
    qsort(rates, RUNS, sizeof *rates, ascending);
    printf("ring: %.1f million records/s (64 bytes, two threads, lists of %d; %.1f to %.1f in %d "
           "runs; at least 20 wanted)\n",
           rates[RUNS / 2], LIST, rates[0], rates[RUNS - 1], RUNS);
    return 0;
}
