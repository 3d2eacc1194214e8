/* Draws the flame graph screen: the title, one graph or two halves, what is not shown, the values
 * of the selected frame. It changes only the positions of what it drew. Core thread only. */
#ifndef UI_FLAME_SCREEN_DRAW_H
#define UI_FLAME_SCREEN_DRAW_H

#include "flame_state.h"
#include <kprof/ui/canvas.h>

void flame_screen_draw(struct flame_state *t, struct canvas *c, struct rect a);

#endif
