/* Durations on a logarithmic scale whose marks are round numbers: 12 bins per decade. Every second,
 * fourth and twelfth mark forms a coarser scale of round numbers (every fourth mark: 1 2 5 10).
 *
 * Invariant: bins are in order and contiguous. Bin i is [scale_low_ns(i), scale_low_ns(i + 1)); the
 * first bin begins at 0, the last bin has no end. Pure; any thread. */
#ifndef KPROF_BASE_SCALE_H
#define KPROF_BASE_SCALE_H

#include <kprof/base/hist.h>
#include <stddef.h>
#include <stdint.h>

#define SCALE_DECADE 12
#define SCALE_BINS   (SCALE_DECADE * 14 + 3) /* up to 1.2e14 ns (33 hours); then one bin */

size_t scale_bin(uint64_t ns);
uint64_t scale_low_ns(size_t bin); /* returns UINT64_MAX for SCALE_BINS */
/* Adds the counts of the histogram to bin[SCALE_BINS]. The middle of a bucket decides its bin, so a
 * value within 1 % of a mark may be counted on the other side of it. Returns the sum of the counts
 * added. */
uint64_t scale_add(const struct hist *h, uint64_t *bin);

#endif
