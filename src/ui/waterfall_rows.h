/* A line of a waterfall: the tier of a call, its times, its process, and its bar on the time axis
 * of the request. Draws only. Core thread only. */
#ifndef UI_WATERFALL_ROWS_H
#define UI_WATERFALL_ROWS_H

#include "rect.h"

#include <kprof/core/snapshot.h>
#include <kprof/core/waterfall.h>
#include <kprof/ui/canvas.h>

const char *waterfall_rows_tier(const struct snapshot *s, const struct waterfall_row *r);
/* The column at which the bars begin, on a screen of this many columns. */
int waterfall_rows_bar(int cols);
/* out: FORMAT_BYTES */
void waterfall_rows_duration(uint64_t ns, char *out);
/* The titles of the columns before the bars. */
void waterfall_rows_titles(struct canvas *c, int row, struct rect a);
/* Draws the line in this row of the area. */
void waterfall_rows_draw(struct canvas *c, int row, struct rect a, const struct waterfall *w,
                         const struct waterfall_row *r, const struct snapshot *s);

#endif
