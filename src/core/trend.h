/* The last minute of every row, second by second: rate, p99, errors, for sparklines and findings.
 * Private to core.
 *
 * Invariant: a second trend_make with the same end does nothing; one with a slightly later end
 * reads only the seconds between. A series is NAN where nothing is stored; its p99 and errors are
 * also NAN where there was no call. Owns its memory, allocated when first used. One thread. */
#ifndef KPROF_CORE_TREND_H
#define KPROF_CORE_TREND_H

#include "window.h"

struct trend_row {
    float rate[SNAP_TREND], p99_us[SNAP_TREND];
    float errors[SNAP_TREND]; /* as a part of the calls, 0..1 */
};

struct trend {
    /* (TIER_MAX + 1) * (idents + 1); last of each tier: all identities. By second modulo
     * SNAP_TREND. */
    struct trend_row **row;
    uint16_t idents;
    uint64_t end_s, generation;
    bool valid, all_tiers;
    bool known[SNAP_TREND];
    struct figures tier_sum, *total; /* scratch; total: by identity, last: all of them */
};

void trend_init(struct trend *t);
void trend_release(struct trend *t);
/* Computes the series for the seconds [end - SNAP_TREND, end); end is at most the running second.
 * all_tiers: `_total` is the sum of the tiers (there is no entry), not a separate row. */
void trend_make(struct trend *t, const struct windows *w, uint64_t end_s, bool all_tiers);
/* Copies the series of a row, oldest first. */
void trend_copy(const struct trend *t, uint16_t tier, uint16_t ident, struct trend_row *out);

#endif
