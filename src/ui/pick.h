/* The screen of the picker: the operator finds functions of the node by typing, ticks some, and
 * adds them as tiers. Its state is a struct pick_list. Core thread only. */
#ifndef UI_PICK_H
#define UI_PICK_H

#include "screen.h"

extern const struct screen_ops screen_pick;

#endif
