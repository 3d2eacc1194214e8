/* Draws a flame graph: a row for each depth, a box for each node.
 * Invariant: it changes only the positions of what it drew (flame_pane_layout, top). Core
 * thread only. */
#ifndef UI_FLAME_DRAW_H
#define UI_FLAME_DRAW_H

#include "flame_pane.h"
#include "rect.h"

#include <kprof/ui/canvas.h>

/* up: the root is at the bottom. active: the selected node is shown. */
void flame_draw(struct flame_pane *p, struct canvas *c, struct rect a, bool up, bool active);
/* A box with the text of a frame, in its color. */
void flame_draw_frame(struct canvas *c, int row, int col, int cols, const char *text);
/* Stores the node that was drawn at a cell; false: none. */
bool flame_draw_node_at(const struct flame_pane *p, struct rect a, bool up, int row, int col,
                        uint32_t *node);

#endif
