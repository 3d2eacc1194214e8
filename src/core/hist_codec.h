/* The values of one row, packed into a few bytes for the history. Private to core.
 *
 * Invariant: unpacking gives exactly the values that were packed. Malformed bytes are refused and
 * never read past their end. Form: varint row, length of the rest (2 bytes), flags, scalars as
 * varints (without those that follow from others), then the buckets as a bit stream: Rice-coded
 * gaps and counts (Rice 1979), with parameters chosen for each row. */
#ifndef KPROF_CORE_HIST_CODEC_H
#define KPROF_CORE_HIST_CODEC_H

#include "window.h"

/* Upper bound of the bytes of one packed row. */
#define HIST_CODEC_ROW_MAX ((size_t)HIST_BUCKETS * 16 + 256)

size_t hist_codec_row(uint32_t row, const struct figures *f,
                      uint8_t *out); /* out: HIST_CODEC_ROW_MAX */
/* Reads only the row number, to walk over rows. Returns false at the end or when the bytes are
 * malformed. */
bool hist_codec_peek(const uint8_t *p, const uint8_t *end, uint32_t *row);
/* Which parts of a packed row are added; TAKE: its buckets are subtracted. */
enum hist_codec_what { HIST_CODEC_ALL, HIST_CODEC_SCALARS, HIST_CODEC_BUCKETS, HIST_CODEC_TAKE };
/* Adds one packed row to `into` (NULL: skips it). Returns the byte after the row, or NULL when it
 * is malformed. */
const uint8_t *hist_codec_add(const uint8_t *p, const uint8_t *end, struct figures *into,
                              enum hist_codec_what what);

struct hist_codec_said {
    uint64_t calls, est, errors, value_ns; /* value: at the requested quantile */
};
/* Adds one packed row to n sums at once, and sets *said to the values of the row alone. This is
 * cheaper than unpacking and merging. */
const uint8_t *hist_codec_spread(const uint8_t *p, const uint8_t *end, struct figures *const into[],
                                 size_t n, double quantile, struct hist_codec_said *said);

#endif
