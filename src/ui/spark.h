/* Sparklines: a series in a few cells. Draws only; the caller owns the values. */
#ifndef UI_SPARK_H
#define UI_SPARK_H

#include <kprof/ui/canvas.h>
#include <stddef.h>

enum spark_by { SPARK_MEAN, SPARK_MAX }; /* how a cell combines its values */

/* Draws n values, oldest first, in `cols` cells; the scale is from 0 to the greatest value. NAN
 * means unknown: a cell with no other value stays blank. Negative values count as 0. */
void spark_draw(struct canvas *c, int row, int col, int cols, enum style st, const float *v,
                size_t n, enum spark_by by);

#endif
