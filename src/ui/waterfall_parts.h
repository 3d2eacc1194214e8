/* The parts of the time of the calls in a waterfall: bars, their legend, and a list for one call.
 *
 * Invariant: the lines of a list add up to the duration of the call. A call whose parts were not
 * recorded has no bar of parts and no list. Core thread only. */
#ifndef UI_WATERFALL_PARTS_H
#define UI_WATERFALL_PARTS_H

#include "rect.h"

#include <kprof/core/snapshot.h>
#include <kprof/core/waterfall.h>
#include <kprof/ui/canvas.h>

bool waterfall_parts_there(const struct waterfall *w, const struct waterfall_row *r);
/* Draws the row on the time axis of the request. False: nothing was drawn. */
bool waterfall_parts_bar(struct canvas *c, int row, int col, int cols, const struct waterfall *w,
                         const struct waterfall_row *r);
void waterfall_parts_legend(struct canvas *c, struct rect a, const struct waterfall *w);
/* Draws a title line and what the call did, the longest first. */
void waterfall_parts_list(struct canvas *c, struct rect a, const struct snapshot *s,
                          const struct waterfall *w, const struct waterfall_row *r);

#endif
