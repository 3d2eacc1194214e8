/* Draws the picker and stores the position of the list. Core thread only. */
#ifndef UI_PICK_DRAW_H
#define UI_PICK_DRAW_H

#include "pick_list.h"
#include "rect.h"

void pick_draw(struct pick_list *p, struct canvas *c, struct rect a);

#endif
