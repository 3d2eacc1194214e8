/* A cell of a heat map on a terminal without shades: a character and a few colors. Core thread
 * only. */
#ifndef UI_HEAT_CELL_H
#define UI_HEAT_CELL_H

#include <kprof/ui/canvas.h>

/* part: the count as a fraction of that of the fullest cell, 0..1 */
void heat_cell_draw(struct canvas *c, int row, int col, double part);

#endif
