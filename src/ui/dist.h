/* The screen of the distribution: a histogram of the durations of the row selected in the table,
 * over the window. The screen has no state of its own. Core thread only. */
#ifndef UI_DIST_H
#define UI_DIST_H

#include "screen.h"

extern const struct screen_ops screen_dist;

#endif
