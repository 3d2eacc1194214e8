/* The colors of the parts of a call's time: for a cell with a letter, and for a bar without
 * letters.
 *
 * Invariant: with 256 colors or more, people who see few hues can tell any two parts apart
 * (tests/unit/test_part_bar.c computes what they see). With 8 or 16 colors each part has its own
 * background. Constant data; any thread. */
#ifndef UI_PART_COLOR_H
#define UI_PART_COLOR_H

#include "paint.h"

#include <kprof/core/time_part.h>

/* A letter on the color of the part: `paper` is the color. colors: as in paint_style. */
struct paint part_color(enum theme t, enum time_part p, int colors);

#endif
