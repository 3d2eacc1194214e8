/* A log-linear histogram of nanosecond values: 64 sub-buckets per octave; an octave is allocated
 * when it is first used.
 *
 * Invariant: count, sum, min and max are exact. A quantile is within 1 % of the exact value from 0
 * ns to HIST_MAX_NS; larger values are put into the last bucket and counted in `clipped` (max stays
 * exact). Single-threaded, but several threads may read a const hist at once. Source: the bucket
 * scheme of HdrHistogram (Gil Tene); the code is original. */
#ifndef KPROF_BASE_HIST_H
#define KPROF_BASE_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIST_SUB     64
#define HIST_OCTAVES 42 /* values below HIST_SUB are exact; 64 << 42 ns is 78 hours */
#define HIST_BUCKETS (HIST_SUB * (HIST_OCTAVES + 1))
#define HIST_MAX_NS  ((uint64_t)HIST_SUB << HIST_OCTAVES)

struct hist {
    uint64_t count, min_ns, max_ns, clipped; /* min_ns is UINT64_MAX when empty */
    double sum_ns, sumsq_ns;
    uint64_t *octave[HIST_OCTAVES + 1]; /* HIST_SUB counters each; NULL: all zero */
};

void hist_init(struct hist *h);
void hist_release(struct hist *h);
void hist_clear(struct hist *h); /* keeps the memory of the octaves, zeroed */
void hist_add(struct hist *h, uint64_t value_ns);
/* Adds a value n times: it stands for n values, for example because one of n was measured. */
void hist_add_n(struct hist *h, uint64_t value_ns, uint64_t n);
void hist_merge(struct hist *into, const struct hist *from); /* `into` and `from` must differ */
/* Adds everything except the buckets. Callers of hist_unpack_add use it, because that function adds
 * only the buckets. */
void hist_merge_scalars(struct hist *into, uint64_t count, double sum_ns, double sumsq_ns,
                        uint64_t min_ns, uint64_t max_ns, uint64_t clipped);

/* Returns the value at quantile q in [0,1]; 0 when the histogram is empty. The value is always
 * within [min,max]; q = 0 gives min, q = 1 gives max. */
uint64_t hist_quantile(const struct hist *h, double q);
/* Computes n quantiles in one pass, which is cheaper; q must be ascending. */
void hist_quantiles(const struct hist *h, const double *q, uint64_t *out, size_t n);
/* The two steps of hist_quantile, for callers that hold the buckets in another form: hist_rank
 * returns the rank (from 1 to count) of the value at quantile q, hist_middle returns the value to
 * report for a bucket. Rank 1 stands for min and rank `count` for max, without a bucket. */
uint64_t hist_rank(double q, uint64_t count);
uint64_t hist_middle(size_t bucket, uint64_t min_ns, uint64_t max_ns);
double hist_mean(const struct hist *h);
double hist_sd(const struct hist *h); /* population standard deviation */

size_t hist_bucket_of(uint64_t value_ns); /* 0 .. HIST_BUCKETS-1 */
uint64_t hist_bucket_low(size_t bucket);  /* least value in the bucket */
uint64_t hist_bucket_high(size_t bucket); /* greatest value in the bucket */
uint64_t hist_bucket_count(const struct hist *h, size_t bucket);

/* The sparse form: pairs of varint(bucket delta) and varint(count, at most UINT32_MAX). Returns the
 * bytes written; when more than cap_bytes are needed, writes nothing and returns the bytes needed.
 */
size_t hist_pack(const struct hist *h, uint8_t *out, size_t cap_bytes);
/* Adds the packed buckets to `into`. It does not add count, sums, min and max; the caller adds
 * these with hist_merge_scalars. Returns false when the bytes are malformed; the buckets before the
 * malformed place are then already added. */
bool hist_unpack_add(struct hist *into, const uint8_t *packed, size_t n_bytes);

#endif
