/* The latency heat map of one row: its calls by time and duration, out of the packed history.
 * Inside of core.
 *
 * Invariant: the sum over a grid is the row's count in the seconds its columns hold; a closed
 * column is computed once and kept, as long as the same row is viewed in the same steps. Owns
 * its memory, allocated when first used. One thread. */
#ifndef KPROF_CORE_HEAT_H
#define KPROF_CORE_HEAT_H

#include "window.h"

#include <kprof/base/scale.h>
#include <kprof/core/tier.h>

#define HEAT_COLS 512

/* Which rows of the windows make one row of a screen. */
struct heat_row {
    uint16_t tier, tiers; /* tiers [tier, tier + tiers) */
    uint16_t ident;       /* IDENT_ALL: all of them */
};

struct heat_col {
    bool done, known, inside;
    uint64_t start_s;      /* its place; done: that of which it is a copy */
    uint64_t after_s;      /* what is earlier was in another column when it was computed */
    uint64_t from_s, to_s; /* what it holds */
    uint64_t count, errors;
    uint32_t bin[SCALE_BINS];
};

struct heat {
    struct heat_col *col; /* by start / step modulo HEAT_COLS */
    struct heat_row row;
    uint32_t step_s;
    uint64_t generation;
    struct figures sum; /* scratch */
};

void heat_init(struct heat *h);
void heat_release(struct heat *h);
/* The closed seconds [from, to), to - from a multiple of step_s, at most HEAT_COLS steps; from a
 * multiple of step_s. heat_at then gives each column, until the next heat_make. */
void heat_make(struct heat *h, const struct windows *w, struct heat_row row, uint64_t from_s,
               uint64_t to_s, uint32_t step_s);
const struct heat_col *heat_at(const struct heat *h, uint64_t start_s);

#endif
