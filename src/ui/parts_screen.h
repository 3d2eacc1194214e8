/* The screen of the parts of the time of the row that is selected in the table, and of the other
 * rows of its tier: run, run queue, garbage collection, waits. The screen has no state of its own.
 * Core thread only. */
#ifndef UI_PARTS_SCREEN_H
#define UI_PARTS_SCREEN_H

#include "screen.h"

extern const struct screen_ops screen_parts;

#endif
