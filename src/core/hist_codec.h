/* Figures of one row as a few bytes, for history. Inside of core.
 *
 * Invariant: what was packed is unpacked exactly; broken bytes are refused, never read past their
 * end. Form: varint row, flags, scalars as varints (those that follow from others are left out),
 * then the buckets as a bit stream: Rice-coded gaps and counts (Rice 1979), parameters chosen a
 * row. */
#ifndef KPROF_CORE_HIST_CODEC_H
#define KPROF_CORE_HIST_CODEC_H

#include "window.h"

/* Upper bound of the bytes one row takes. */
#define HIST_CODEC_ROW_MAX ((size_t)HIST_BUCKETS * 16 + 256)

size_t hist_codec_row(uint32_t row, const struct figures *f,
                      uint8_t *out); /* out: HIST_CODEC_ROW_MAX */
/* Reads the row number only, for walks; false at the end or on nonsense. */
bool hist_codec_peek(const uint8_t *p, const uint8_t *end, uint32_t *row);
/* What of a packed row is added; TAKE: its buckets are taken away again. */
enum hist_codec_what { HIST_CODEC_ALL, HIST_CODEC_SCALARS, HIST_CODEC_BUCKETS, HIST_CODEC_TAKE };
/* One packed row onto `into` (NULL: skips it); the byte after it, or NULL when broken. */
const uint8_t *hist_codec_add(const uint8_t *p, const uint8_t *end, struct figures *into,
                              enum hist_codec_what what);

struct hist_codec_said {
    uint64_t count, est, value_ns; /* value: at the quantile that was asked for */
};
/* The same onto several at once, and what the row by itself says: cheaper than to unpack it and to
 * merge that. */
const uint8_t *hist_codec_spread(const uint8_t *p, const uint8_t *end, struct figures *const into[],
                                 size_t n, double quantile, struct hist_codec_said *said);

#endif
