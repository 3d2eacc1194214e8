/* A log-linear histogram of nanosecond values: 64 sub-buckets an octave, octaves allocated when
 * first used.
 *
 * Invariant: count, sum, min and max are exact; a quantile is within 1 % of the exact value, 0 ns
 * to HIST_MAX_NS; larger values land in the last bucket and are counted in `clipped` (max stays
 * exact). Single-threaded; a const hist may be read by several threads at once. Source: the bucket
 * scheme of HdrHistogram (Gil Tene), own code. */
#ifndef KPROF_BASE_HIST_H
#define KPROF_BASE_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIST_SUB     64
#define HIST_OCTAVES 42 /* values below HIST_SUB are exact; 64 << 41 ns is 39 hours */
#define HIST_BUCKETS (HIST_SUB * (HIST_OCTAVES + 1))
#define HIST_MAX_NS  ((uint64_t)HIST_SUB << HIST_OCTAVES)

struct hist {
    uint64_t count, min_ns, max_ns, clipped; /* min_ns is UINT64_MAX when empty */
    double sum_ns, sumsq_ns;
    uint32_t *octave[HIST_OCTAVES + 1]; /* HIST_SUB counters each, saturating; NULL: all zero */
};

void hist_init(struct hist *h);
void hist_release(struct hist *h);
void hist_clear(struct hist *h); /* keeps the octaves' memory, zeroed */
void hist_add(struct hist *h, uint64_t value_ns);
void hist_merge(struct hist *into, const struct hist *from); /* of two, not of one with itself */
/* Adds everything but the buckets: what hist_unpack_add leaves to its caller. */
void hist_merge_scalars(struct hist *into, uint64_t count, double sum_ns, double sumsq_ns,
                        uint64_t min_ns, uint64_t max_ns, uint64_t clipped);

/* Value at quantile q in [0,1]; 0 when empty. Never outside [min,max]; 0 gives min, 1 gives max. */
uint64_t hist_quantile(const struct hist *h, double q);
/* n at once, cheaper; q ascending. */
void hist_quantiles(const struct hist *h, const double *q, uint64_t *out, size_t n);
/* Its two halves, for who has the buckets in another form: which value of `count` (from 1) is at q,
 * and what a value in that bucket is told as. Rank 1 is min, rank `count` is max. */
uint64_t hist_rank(double q, uint64_t count);
uint64_t hist_middle(size_t bucket, uint64_t min_ns, uint64_t max_ns);
double hist_mean(const struct hist *h);
double hist_sd(const struct hist *h); /* population standard deviation */

size_t hist_bucket_of(uint64_t value_ns); /* 0 .. HIST_BUCKETS-1 */
uint64_t hist_bucket_low(size_t bucket);  /* least value in it */
uint64_t hist_bucket_high(size_t bucket); /* greatest value in it */
uint64_t hist_bucket_count(const struct hist *h, size_t bucket);

/* The sparse form: varint(bucket delta), varint(count) pairs. Returns bytes written, or the bytes
 * needed when that is more than cap (nothing is written then). */
size_t hist_pack(const struct hist *h, uint8_t *out, size_t cap_bytes);
/* Adds the packed buckets to `into` (buckets only: count, sums, min, max are the caller's to add
 * with hist_merge_scalars). False, and `into` untouched from there on, when the bytes are
 * malformed. */
bool hist_unpack_add(struct hist *into, const uint8_t *packed, size_t n_bytes);

#endif
