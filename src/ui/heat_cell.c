#include "heat_cell.h"

#include <math.h>

#define LEVELS 8

void heat_cell_draw(struct canvas *c, int row, int col, double part)
{
    static const char *const shade[] = {"\xc2\xb7",     "\xe2\x96\x91", "\xe2\x96\x91",
                                        "\xe2\x96\x92", "\xe2\x96\x92", "\xe2\x96\x93",
                                        "\xe2\x96\x93", "\xe2\x96\x88"};
    static const char *const plain[] = {".", ":", "-", "=", "+", "*", "#", "@"};
    static const enum style styles[] = {STYLE_DIM,  STYLE_DIM,  STYLE_NORMAL, STYLE_NORMAL,
                                        STYLE_GOOD, STYLE_GOOD, STYLE_WARN,   STYLE_WARN};
    int level = (int)(cbrt(part) * LEVELS); /* cube root: small counts stay visible */
    level = level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level;
    canvas_text(c, row, col, 1, styles[level], c->ascii ? plain[level] : shade[level]);
}
