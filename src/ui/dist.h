/* The screen of the distribution: a histogram over durations, of the row that is selected in the
 * table, in the window. Has no state of its own. Core thread only. */
#ifndef UI_DIST_H
#define UI_DIST_H

#include "screen.h"

extern const struct screen_ops screen_dist;

#endif
