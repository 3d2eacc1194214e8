/* Colors and attributes of styles and shades, by theme and number of colors of the terminal.
 *
 * Invariant: a terminal with fewer colors gets no color that it does not have. With 16 colors or
 * more, only STYLE_BOLD and text that is not a value (keys, headings) are bold. Constant data; uses
 * no ncurses; any thread. */
#ifndef UI_PAINT_H
#define UI_PAINT_H

#include <kprof/base/theme.h>
#include <kprof/ui/canvas.h>
#include <stdbool.h>

enum { PAINT_BOLD = 1, PAINT_DIM = 2, PAINT_REVERSE = 4, PAINT_UNDERLINE = 8 };

/* Colors as the terminal numbers them; -1: its own. With more than 256 colors a number from 8 on
 * is 0xRRGGBB. */
struct paint {
    int ink, paper;
    unsigned attributes;
};

/* colors: how many the terminal has; 0: none. */
struct paint paint_style(enum theme t, enum style st, int colors);
bool paint_has_shades(enum theme t, int colors);
/* The color of a shade, -1 for SHADE_NONE; only where there are shades. */
int paint_shade(enum theme t, unsigned shade, int colors);

#endif
