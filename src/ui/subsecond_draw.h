/* Draws the sub-second heat map: the title, the grid with its labels, the marked time and the
 * cursor's. It changes only the stored positions in the state. Core thread only. */
#ifndef UI_SUBSECOND_DRAW_H
#define UI_SUBSECOND_DRAW_H

#include "flame_state.h"

#include <kprof/ui/canvas.h>

void subsecond_draw(struct flame_state *t, struct canvas *c, struct rect a);

#endif
