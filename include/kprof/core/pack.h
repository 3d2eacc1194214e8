/* Figures of one row as a few bytes, for history. Inside of core.
 *
 * Invariant: what was packed is unpacked exactly; broken bytes are refused, never read past their
 * end. Form: varint row, flags, scalars as varints (those that follow from others are left out),
 * then the buckets as a bit stream: Rice-coded gaps and counts (Rice 1979), parameters chosen a
 * row. */
#ifndef KPROF_CORE_PACK_H
#define KPROF_CORE_PACK_H

#include <kprof/core/window.h>

/* Upper bound of the bytes one row takes. */
#define PACK_ROW_MAX ((size_t)HIST_BUCKETS * 16 + 256)

size_t pack_row(uint32_t row, const struct figures *f, uint8_t *out); /* out: PACK_ROW_MAX */
/* Reads the row number only, for walks; false at the end or on nonsense. */
bool pack_peek(const uint8_t *p, const uint8_t *end, uint32_t *row);
/* What of a packed row is added; TAKE: its buckets are taken away again. */
enum pack_what { PACK_ALL, PACK_SCALARS, PACK_BUCKETS, PACK_TAKE };
/* One packed row onto `into` (NULL: skips it); the byte after it, or NULL when broken. */
const uint8_t *pack_add(const uint8_t *p, const uint8_t *end, struct figures *into,
                        enum pack_what what);

struct pack_said {
    uint64_t count, est, value_ns; /* value: at the quantile that was asked for */
};
/* The same onto several at once, and what the row by itself says: cheaper than to unpack it and to
 * merge that. */
const uint8_t *pack_spread(const uint8_t *p, const uint8_t *end, struct figures *const into[],
                           size_t n, double quantile, struct pack_said *said);

#endif
