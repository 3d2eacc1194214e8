/* Latencies of an open load: when requests are due, and exact quantiles of their latencies, of all
 * and of short slices of the time. One thread at a time. */
#ifndef KPROF_REAL_LATENCY_H
#define KPROF_REAL_LATENCY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct latency {
    int64_t *ns;
    size_t n, cap;
};

static inline int64_t latency_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* When the i-th request is due, at `rate` requests a second. */
static inline int64_t latency_due(int64_t start_ns, uint64_t i, uint64_t rate)
{
    return start_ns +
           (int64_t)(i / rate * UINT64_C(1000000000) + i % rate * UINT64_C(1000000000) / rate);
}

static inline void latency_init(struct latency *l, size_t most)
{
    *l = (struct latency){.ns = calloc(most + 1, sizeof *l->ns), .cap = most};
    if (!l->ns) {
        fprintf(stderr, "no memory for %zu latencies\n", most);
        exit(1);
    }
}

/* Values beyond the capacity are dropped: the caller knows the maximum number. */
static inline void latency_add(struct latency *l, int64_t ns)
{
    if (l->n < l->cap)
        l->ns[l->n++] = ns;
}

static inline int latency_order(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the values. Returns 0 if there are none. */
static inline double latency_quantile_of(int64_t *ns, size_t n, double q)
{
    if (!n)
        return 0;
    qsort(ns, n, sizeof *ns, latency_order);
    size_t rank = (size_t)(q * (double)n);
    return (double)ns[rank < n ? rank : n - 1] / 1000;
}

static inline double latency_quantile_us(struct latency *l, double q)
{
    return latency_quantile_of(l->ns, l->n, q);
}

/* The median of this quantile in slices of 250 ms, or of 100 values if the rate is low: a stop of
 * the whole machine has an effect on one slice only. To be called before the values are sorted, and
 * sorts each slice. */
static inline double latency_slices_us(struct latency *l, double q, uint64_t rate)
{
    const size_t each = rate / 4 > 100 ? rate / 4 : 100, n = l->n / each;
    int64_t *of = calloc(n + 1, sizeof *of);

    if (!of) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    for (size_t i = 0; i < n; i++)
        of[i] = (int64_t)(1000 * latency_quantile_of(l->ns + i * each, each, q));
    const double found = latency_quantile_of(of, n, 0.5);
    free(of);
    return found;
}

#endif
