/* The latency heat map of one row: its calls by time and duration, made from the packed history.
 * Private to core.
 *
 * Invariant: the sum over a grid is the count of the row in the seconds of the grid's columns. A
 * closed column is computed once and stored while the same row is viewed with the same step. Owns
 * its memory, allocated when first used. One thread. */
#ifndef KPROF_CORE_HEAT_H
#define KPROF_CORE_HEAT_H

#include "window.h"

#include <kprof/base/scale.h>
#include <kprof/core/tier.h>

#define HEAT_COLS 512

/* Selects the rows of the windows that form one row of a screen. */
struct heat_row {
    uint16_t tier, tiers; /* tiers [tier, tier + tiers) */
    uint16_t ident;       /* IDENT_ALL: all identities */
};

struct heat_col {
    bool done;              /* all its seconds have ended: it is used again, not computed again */
    bool known;             /* the history has at least a part of it */
    bool inside;            /* its seconds are all in an earlier column, from a long slot */
    uint64_t start_s;       /* start of the column; those HEAT_COLS steps apart share an element */
    uint64_t after_s;       /* earlier seconds were in another column when this was computed */
    uint64_t from_s, to_s;  /* the seconds it holds */
    uint64_t count, errors; /* of all calls: traced calls times their weights */
    bool estimated;         /* some weights were not 1 */
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
/* Computes the columns for the closed seconds [from, to): to - from is a multiple of step_s with at
 * most HEAT_COLS steps, and from is a multiple of step_s. heat_at then returns each column, until
 * the next heat_make. */
void heat_make(struct heat *h, const struct windows *w, struct heat_row row, uint64_t from_s,
               uint64_t to_s, uint32_t step_s);
const struct heat_col *heat_at(const struct heat *h, uint64_t start_s);

#endif
