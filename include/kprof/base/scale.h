/* Durations on a logarithmic scale whose marks are round numbers: 12 bins a decade, of which every
 * second, fourth and twelfth mark is round as well (1 2 5 10 at every fourth).
 *
 * Invariant: bins are in order and leave nothing out: bin i holds [scale_low_ns(i),
 * scale_low_ns(i + 1)); the first begins at 0, the last has no end. Pure; any thread. */
#ifndef KPROF_BASE_SCALE_H
#define KPROF_BASE_SCALE_H

#include <kprof/base/hist.h>
#include <stddef.h>
#include <stdint.h>

#define SCALE_DECADE 12
#define SCALE_BINS   (SCALE_DECADE * 14 + 3) /* up to 1.2e14 ns, 33 hours, and what is longer */

size_t scale_bin(uint64_t ns);
uint64_t scale_low_ns(size_t bin); /* of SCALE_BINS: UINT64_MAX */
/* Adds the histogram's counts to bin[SCALE_BINS]. Each of its buckets goes where its middle is, so
 * a value may be counted across a mark that it is within 1 % of. Returns the sum of what was added.
 */
uint64_t scale_add(const struct hist *h, uint64_t *bin);

#endif
