#include <kprof/base/hist.h>

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Octave 0 holds 0..63, one value a bucket. Octave k >= 1 holds [64 << (k-1), 64 << k) in 64
 * buckets of 1 << (k-1) values: the middle of a bucket is within 1/128 of every value in it. */
enum { SUB_BITS = 6, LAST_BUCKET = HIST_BUCKETS - 1, VARINT_MAX = 5 };

_Static_assert(HIST_SUB == 1 << SUB_BITS, "the shifts below");

void hist_init(struct hist *h)
{
    *h = (struct hist){.min_ns = UINT64_MAX};
}

void hist_release(struct hist *h)
{
    for (size_t k = 0; k <= HIST_OCTAVES; k++)
        free(h->octave[k]);
    hist_init(h);
}

void hist_clear(struct hist *h)
{
    h->count = h->max_ns = h->clipped = 0;
    h->min_ns = UINT64_MAX;
    h->sum_ns = h->sumsq_ns = 0;
    for (size_t k = 0; k <= HIST_OCTAVES; k++)
        if (h->octave[k])
            memset(h->octave[k], 0, HIST_SUB * sizeof *h->octave[k]);
}

size_t hist_bucket_of(uint64_t value_ns)
{
    if (value_ns < HIST_SUB)
        return (size_t)value_ns;
    if (value_ns >= HIST_MAX_NS)
        return LAST_BUCKET;
    unsigned shift = 63u - SUB_BITS - (unsigned)__builtin_clzll(value_ns); /* octave - 1 */
    return (size_t)shift * HIST_SUB + (size_t)(value_ns >> shift);
}

uint64_t hist_bucket_low(size_t bucket)
{
    assert(bucket < HIST_BUCKETS);
    if (bucket < HIST_SUB)
        return bucket;
    return (uint64_t)(HIST_SUB + bucket % HIST_SUB) << (bucket / HIST_SUB - 1);
}

uint64_t hist_bucket_high(size_t bucket)
{
    assert(bucket < HIST_BUCKETS);
    return bucket < HIST_SUB
               ? bucket
               : hist_bucket_low(bucket) + ((uint64_t)1 << (bucket / HIST_SUB - 1)) - 1;
}

uint64_t hist_bucket_count(const struct hist *h, size_t bucket)
{
    assert(bucket < HIST_BUCKETS);
    const uint64_t *o = h->octave[bucket / HIST_SUB];
    return o ? o[bucket % HIST_SUB] : 0;
}

static uint64_t *new_octave(struct hist *h, size_t k)
{
    h->octave[k] = calloc(HIST_SUB, sizeof *h->octave[k]);
    if (!h->octave[k])
        abort();
    return h->octave[k];
}

static uint64_t *octave_of(struct hist *h, size_t k)
{
    return __builtin_expect(h->octave[k] != NULL, 1) ? h->octave[k] : new_octave(h, k);
}

void hist_add(struct hist *h, uint64_t value_ns)
{
    hist_add_n(h, value_ns, 1);
}

void hist_add_n(struct hist *h, uint64_t value_ns, uint64_t n)
{
    if (n == 0)
        return;
    size_t bucket = hist_bucket_of(value_ns);
    octave_of(h, bucket / HIST_SUB)[bucket % HIST_SUB] += n;
    double v = (double)value_ns;
    h->sum_ns += v * (double)n;
    h->sumsq_ns += v * v * (double)n;
    h->count += n;
    h->clipped += value_ns >= HIST_MAX_NS ? n : 0;
    if (value_ns < h->min_ns)
        h->min_ns = value_ns;
    if (value_ns > h->max_ns)
        h->max_ns = value_ns;
}

void hist_merge_scalars(struct hist *into, uint64_t count, double sum_ns, double sumsq_ns,
                        uint64_t min_ns, uint64_t max_ns, uint64_t clipped)
{
    into->count += count;
    into->sum_ns += sum_ns;
    into->sumsq_ns += sumsq_ns;
    into->clipped += clipped;
    if (min_ns < into->min_ns)
        into->min_ns = min_ns;
    if (max_ns > into->max_ns)
        into->max_ns = max_ns;
}

/* A separate function with restrict, so that compilers can vectorize it. */
static void merge_octave(uint64_t *restrict into, const uint64_t *restrict from)
{
    for (size_t i = 0; i < HIST_SUB; i++)
        into[i] += from[i];
}

void hist_merge(struct hist *into, const struct hist *from)
{
    assert(into != from);
    for (size_t k = 0; k <= HIST_OCTAVES; k++) {
        const uint64_t *add = from->octave[k];
        if (!add)
            continue;
        merge_octave(octave_of(into, k), add);
    }
    hist_merge_scalars(into, from->count, from->sum_ns, from->sumsq_ns, from->min_ns, from->max_ns,
                       from->clipped);
}

/* ---- quantiles ---- */

/* The position of a walk over the buckets: `seen` values are below `bucket`. Walks go upwards only.
 * */
struct walk {
    size_t bucket;
    uint64_t seen;
};

static uint64_t octave_sum(const uint64_t *o)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < HIST_SUB; i++)
        sum += o[i];
    return sum;
}

/* Moves w to the bucket that holds the rank-th value (from 1); false when there is none, because
 * counts were too large for the packed form. */
static bool walk_to(const struct hist *h, struct walk *w, uint64_t rank)
{
    while (w->bucket < HIST_BUCKETS) {
        const uint64_t *o = h->octave[w->bucket / HIST_SUB];
        if (!o) {
            w->bucket = (w->bucket / HIST_SUB + 1) * HIST_SUB;
            continue;
        }
        if (w->bucket % HIST_SUB == 0) { /* skips a whole octave, if that is not too far */
            uint64_t all = octave_sum(o);
            if (w->seen + all < rank) {
                w->seen += all;
                w->bucket += HIST_SUB;
                continue;
            }
        }
        uint64_t here = o[w->bucket % HIST_SUB];
        if (w->seen + here >= rank)
            return true;
        w->seen += here;
        w->bucket++;
    }
    return false;
}

uint64_t hist_rank(double q, uint64_t count)
{
    if (!(q > 0))
        return 1;
    if (q >= 1)
        return count;
    double rank = ceil(q * (double)count);
    return rank < 1 ? 1 : rank >= (double)count ? count : (uint64_t)rank;
}

uint64_t hist_middle(size_t bucket, uint64_t min_ns, uint64_t max_ns)
{
    uint64_t low = hist_bucket_low(bucket);
    uint64_t mid = low + (hist_bucket_high(bucket) - low) / 2;
    return mid < min_ns ? min_ns : mid > max_ns ? max_ns : mid;
}

static uint64_t value_at(const struct hist *h, struct walk *w, double q)
{
    uint64_t rank = hist_rank(q, h->count);
    if (rank == 1)
        return h->min_ns;
    if (rank == h->count || !walk_to(h, w, rank))
        return h->max_ns;
    return hist_middle(w->bucket, h->min_ns, h->max_ns);
}

void hist_quantiles(const struct hist *h, const double *q, uint64_t *out, size_t n)
{
    struct walk w = {0, 0};
    for (size_t i = 0; i < n; i++) {
        assert(i == 0 || !(q[i] < q[i - 1]));
        out[i] = h->count > 0 ? value_at(h, &w, q[i]) : 0;
    }
}

uint64_t hist_quantile(const struct hist *h, double q)
{
    uint64_t v;
    hist_quantiles(h, &q, &v, 1);
    return v;
}

double hist_mean(const struct hist *h)
{
    return h->count > 0 ? h->sum_ns / (double)h->count : 0;
}

double hist_sd(const struct hist *h)
{
    if (h->count == 0 || h->min_ns >= h->max_ns)
        return 0; /* all values are equal: a rounding error is not a deviation */
    double mean = hist_mean(h);
    double variance = h->sumsq_ns / (double)h->count - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

/* ---- packed form ---- */

static size_t varint_bytes(uint32_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

static uint8_t *varint_put(uint8_t *p, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Returns false for a truncated, over-long or too large number. */
static bool varint_get(const uint8_t **p, const uint8_t *end, uint32_t *out)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < VARINT_MAX && *p < end; i++) {
        uint8_t b = *(*p)++;
        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            *out = (uint32_t)v;
            return v <= UINT32_MAX && (b != 0 || i == 0);
        }
    }
    return false;
}

/* Writes to p unless it is NULL; returns the number of bytes in both cases. */
static size_t hist_codec_to(const struct hist *h, uint8_t *p)
{
    size_t bytes = 0, last = 0;
    for (size_t k = 0; k <= HIST_OCTAVES; k++) {
        const uint64_t *o = h->octave[k];
        if (!o)
            continue;
        for (size_t i = 0; i < HIST_SUB; i++) {
            uint32_t n = o[i] < UINT32_MAX ? (uint32_t)o[i] : UINT32_MAX;
            if (n == 0)
                continue;
            uint32_t delta = (uint32_t)(k * HIST_SUB + i - last);
            last = k * HIST_SUB + i;
            bytes += varint_bytes(delta) + varint_bytes(n);
            if (p)
                p = varint_put(varint_put(p, delta), n);
        }
    }
    return bytes;
}

size_t hist_pack(const struct hist *h, uint8_t *out, size_t cap_bytes)
{
    size_t bytes = hist_codec_to(h, NULL);
    if (bytes > 0 && bytes <= cap_bytes)
        hist_codec_to(h, out);
    return bytes;
}

bool hist_unpack_add(struct hist *into, const uint8_t *packed, size_t n_bytes)
{
    const uint8_t *p = packed, *end = packed + n_bytes;
    size_t bucket = 0;
    for (bool first = true; p < end; first = false) {
        uint32_t delta, count;
        if (!varint_get(&p, end, &delta) || !varint_get(&p, end, &count))
            return false;
        if ((delta == 0 && !first) || delta >= HIST_BUCKETS - bucket || count == 0)
            return false;
        bucket += delta;
        octave_of(into, bucket / HIST_SUB)[bucket % HIST_SUB] += count;
    }
    return true;
}
