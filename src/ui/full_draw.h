/* Draws the screen of a full trace: its progress, or why it ended, and the lines of its call tree.
 * Invariant: it changes only the positions of what it drew. Core thread only. */
#ifndef UI_FULL_DRAW_H
#define UI_FULL_DRAW_H

#include "full_state.h"
#include "rect.h"

#include <kprof/ui/canvas.h>

/* While there is no call tree. */
void full_draw_state(const struct full_state *t, struct canvas *c, struct rect a);
void full_draw_tree(struct full_state *t, struct canvas *c, struct rect a);
/* The title of the screens that show the result. what: "CALL TREE", ... */
void full_draw_title(const struct full_state *t, struct canvas *c, struct rect a, const char *what,
                     const char *more);

#endif
