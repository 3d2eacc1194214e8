/* Stacked bars: lengths, one after the other, each with the color and the letter of its part of a
 * call's time.
 *
 * Invariant: a bar draws only in its cells. Where the canvas has shades, the end of a part is drawn
 * to an eighth of a cell, and the first whole cell of a part has its letter. Elsewhere every cell
 * has the letter of the part that fills most of it. A cell that belongs to more than two parts
 * shows the two longest. Core thread only. */
#ifndef UI_PART_BAR_H
#define UI_PART_BAR_H

#include <kprof/core/time_part.h>
#include <kprof/ui/canvas.h>
#include <stddef.h>

enum { PART_NONE = -1 };

struct part_span {
    double length; /* 0 or more, in any unit */
    int part;      /* enum time_part; PART_NONE: blank */
};

/* The sum of the lengths takes `cols` cells. Draws nothing if it is 0. */
void part_bar_draw(struct canvas *c, int row, int col, int cols, const struct part_span *span,
                   size_t n);
/* A bar of the shares of all parts, which add up to 1. */
void part_bar_shares(struct canvas *c, int row, int col, int cols, const double share[PART_COUNT]);
/* A bar of one part: `share` (0 to 1) of `cols`; a share above 0 has at least a mark. */
void part_bar_one(struct canvas *c, int row, int col, int cols, enum time_part p, double share);
/* The letter and the name of each part in the mask (bit 1 << part), as many as fit. Returns the
 * columns used. */
int part_bar_legend(struct canvas *c, int row, int col, int cols, unsigned mask);

#endif
