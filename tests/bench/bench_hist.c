/* Costs in base: for the hot path one hist_add, one lookup of a known string, one map_get; for a
 * snapshot a merge, and the quantiles of a row. In ns, median of 5. */
#include <kprof/base/clock.h>
#include <kprof/base/hist.h>
#include <kprof/base/intern.h>
#include <kprof/base/map.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 4096, RUNS = 5, STRINGS = 256, STRING_BYTES = 40, PIDS = 10000 };

struct bench {
    uint64_t values[VALUES];
    char strings[STRINGS][STRING_BYTES + 1];
    struct hist hist, other;
    struct intern *names;
    struct map pids;
    uint64_t sink; /* prevents the compiler from removing the work */
};

static uint64_t rng(uint64_t *state)
{
    return *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

static void set_up(struct bench *b)
{
    uint64_t state = 1;
    hist_init(&b->hist);
    hist_init(&b->other);
    map_init(&b->pids, PIDS);
    b->names = intern_new(1000, 1 << 20);
    for (size_t i = 0; i < VALUES; i++) { /* latencies around 50 us, long tail */
        double u = (double)(rng(&state) >> 11) / 9007199254740992.0;
        b->values[i] = (uint64_t)(-log(1 - u) * 50000 * (i % 100 == 0 ? 100 : 1));
        hist_add(&b->other, b->values[i]);
    }
    for (int i = 0; i < STRINGS; i++) {
        snprintf(b->strings[i], sizeof b->strings[i], "Elixir.Some.Module.Name:function_%05d/2", i);
        intern_add(b->names, b->strings[i], STRING_BYTES);
    }
    for (uint32_t i = 0; i < PIDS; i++)
        map_put(&b->pids, i * 3, i);
}

static void add_values(struct bench *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hist_add(&b->hist, b->values[i % VALUES]);
}

static void look_up(struct bench *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b->sink += intern_add(b->names, b->strings[i * 7 % STRINGS], STRING_BYTES);
}

static void get_pids(struct bench *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b->sink += map_get(&b->pids, i * 7919 % PIDS * 3);
}

static void merge(struct bench *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hist_merge(&b->hist, &b->other);
}

static void quantiles(struct bench *b, size_t n)
{
    static const double q[] = {0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999};
    uint64_t out[sizeof q / sizeof *q];
    for (size_t i = 0; i < n; i++) {
        hist_quantiles(&b->other, q, out, sizeof q / sizeof *q);
        b->sink += out[6];
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct bench *b, const char *what, void (*work)(struct bench *, size_t),
                    size_t n)
{
    double ns[RUNS];
    work(b, n / 10 + 1); /* warm up */
    for (int i = 0; i < RUNS; i++) {
        uint64_t start = clock_mono_ns();
        work(b, n);
        ns[i] = (double)(clock_mono_ns() - start) / (double)n;
    }
    qsort(ns, RUNS, sizeof *ns, ascending);
    printf("%s: %.1f ns (%.1f to %.1f in %d runs)\n", what, ns[RUNS / 2], ns[0], ns[RUNS - 1],
           RUNS);
}

int main(void)
{
    static struct bench b;
    set_up(&b);
    measure(&b, "hist: one value added", add_values, 20000000);
    measure(&b, "hist: one merge", merge, 200000);
    measure(&b, "hist: seven quantiles", quantiles, 200000);
    measure(&b, "intern: one known 40-byte string", look_up, 10000000);
    measure(&b, "map: one of 10,000 keys", get_pids, 10000000);
    hist_release(&b.hist);
    hist_release(&b.other);
    intern_free(b.names);
    map_release(&b.pids);
    return b.sink == 0;
}
