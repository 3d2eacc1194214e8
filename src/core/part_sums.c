#include "part_sums.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NO_TIER UINT16_MAX

void part_sums_init(struct part_sums *s)
{
    memset(s, 0, sizeof *s);
}

void part_sums_release(struct part_sums *s)
{
    free(s->call);
    free(s->view.of);
    free(s->value);
    memset(s, 0, sizeof *s);
}

void part_sums_clear(struct part_sums *s)
{
    s->n = 0;
    s->view.n = 0;
}

static void *reserve(size_t n, size_t bytes)
{
    void *p = calloc(n, bytes);

    if (!p)
        abort();
    return p;
}

void part_sums_add(struct part_sums *s, const struct part_sums_call *call)
{
    if (!s->call) {
        s->call = reserve(PART_SUMS_CALLS, sizeof *s->call);
        s->view.of = reserve(PART_SUMS_CALLS, sizeof *s->view.of);
        s->value = reserve(PART_SUMS_CALLS, sizeof *s->value);
    }
    s->call[s->n++ % PART_SUMS_CALLS] = *call;
}

static size_t stored(const struct part_sums *s)
{
    return s->n < PART_SUMS_CALLS ? (size_t)s->n : PART_SUMS_CALLS;
}

void part_sums_forget_tier(struct part_sums *s, uint16_t tier)
{
    for (size_t i = 0; i < stored(s); i++)
        if (s->call[i].tier == tier)
            s->call[i].tier = NO_TIER;
}

void part_sums_rename(struct part_sums *s, uint16_t from, uint16_t to)
{
    for (size_t i = 0; i < stored(s); i++)
        if (s->call[i].ident == from)
            s->call[i].ident = to;
}

/* ---- reading ---- */

static uint64_t key_of(uint16_t tier, uint16_t ident)
{
    return (uint64_t)tier << 48 | (uint64_t)ident << 32;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

void part_sums_view(struct part_sums *s, uint64_t from_ns, uint64_t to_ns)
{
    s->view.n = 0;
    for (size_t i = 0; i < stored(s); i++) {
        const struct part_sums_call *c = &s->call[i];
        if (c->tier != NO_TIER && c->end_ns >= from_ns && c->end_ns < to_ns)
            s->view.of[s->view.n++] = key_of(c->tier, c->ident) | i;
    }
    if (s->view.n)
        qsort(s->view.of, s->view.n, sizeof *s->view.of, ascending);
}

static size_t lower(const struct part_sums *s, uint64_t key)
{
    size_t low = 0, high = s->view.n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->view.of[mid] < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The calls of a row: positions in view.of. */
struct range {
    size_t from, n;
};

static struct range range_of(const struct part_sums *s, uint16_t tier, uint16_t ident)
{
    bool all = ident == UINT16_MAX;
    size_t from = lower(s, key_of(tier, all ? 0 : ident));
    size_t to =
        lower(s, all ? key_of((uint16_t)(tier + 1), 0) : key_of(tier, ident) + (UINT64_C(1) << 32));

    return (struct range){from, to - from};
}

static const struct part_sums_call *call_at(const struct part_sums *s, struct range r, size_t i)
{
    return &s->call[(uint32_t)s->view.of[r.from + i]];
}

/* The value at position k of the n values in order; changes their order. */
static double nth(double *v, size_t n, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, at = (ptrdiff_t)k;

    while (low < high) {
        double pivot = v[low + (high - low) / 2];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i > j)
                break;
            double t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (at <= j)
            high = j;
        else if (at >= i)
            low = i;
        else
            break;
    }
    return v[at];
}

/* As base/hist: the smallest value that at least this share of them does not exceed. */
static size_t rank_of(size_t n, double q)
{
    size_t r = (size_t)(q * (double)n + 0.9999999);

    return r ? r - 1 : 0;
}

static uint64_t duration(const struct part_sums_call *c)
{
    uint64_t ns = 0;

    for (int p = 0; p < PART_COUNT; p++)
        ns += c->parts.ns[p];
    return ns;
}

/* The values of a part (PART_COUNT: durations) of the calls of a row. */
static void values(struct part_sums *s, struct range r, int part)
{
    for (size_t i = 0; i < r.n; i++) {
        const struct part_sums_call *c = call_at(s, r, i);
        s->value[i] = (double)(part == PART_COUNT ? duration(c) : c->parts.ns[part]);
    }
}

static void shares(const double ns[PART_COUNT], double out[PART_COUNT])
{
    double all = 0;

    for (int p = 0; p < PART_COUNT; p++)
        all += ns[p];
    for (int p = 0; p < PART_COUNT; p++)
        out[p] = all > 0 ? ns[p] / all : p == PART_UNKNOWN;
}

/* The parts of the slowest 1 % of the calls. */
static void slowest(struct part_sums *s, struct range r, struct time_part_view *out)
{
    size_t most = (r.n + 99) / 100, above = 0, equal = 0;
    double sum[PART_COUNT] = {0}, limit;

    values(s, r, PART_COUNT);
    limit = nth(s->value, r.n, r.n - most);
    out->slow_from_us = limit / 1e3;
    for (size_t i = 0; i < r.n; i++)
        above += s->value[i] > limit;
    for (size_t i = 0; i < r.n; i++) {
        const struct part_sums_call *c = call_at(s, r, i);
        double took = (double)duration(c);
        if (took < limit || (took <= limit && equal >= most - above))
            continue;
        equal += took <= limit;
        for (int p = 0; p < PART_COUNT; p++)
            sum[p] += (double)c->parts.ns[p];
    }
    shares(sum, out->slow_share);
}

bool part_sums_read(struct part_sums *s, uint16_t tier, uint16_t ident, struct time_part_view *out)
{
    struct range r = range_of(s, tier, ident);
    double sum[PART_COUNT] = {0};

    memset(out, 0, sizeof *out);
    if (r.n == 0)
        return false;
    out->calls = r.n;
    for (int p = 0; p < PART_COUNT; p++) {
        values(s, r, p);
        for (size_t i = 0; i < r.n; i++)
            sum[p] += s->value[i];
        if (sum[p] <= 0)
            continue;
        out->mean_us[p] = sum[p] / (double)r.n / 1e3;
        out->p50_us[p] = nth(s->value, r.n, rank_of(r.n, 0.5)) / 1e3;
        out->p99_us[p] = nth(s->value, r.n, rank_of(r.n, 0.99)) / 1e3;
    }
    shares(sum, out->share);
    slowest(s, r, out);
    return true;
}
