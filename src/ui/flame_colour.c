#include "flame_colour.h"

#include <stddef.h>

enum { BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE, BLACK_256 = 16 };

/* Of the 256: warm and light, so that black is to be read on them; and found, more, less. */
static const short dark[STYLE_COUNT - STYLE_FRAME] = {180, 186, 144, 216, 150, 181, 207, 210, 117};
static const short light[STYLE_COUNT - STYLE_FRAME] = {223, 229, 194, 224, 157, 225, 213, 217, 153};
static const short eight[STYLE_COUNT - STYLE_FRAME] = {GREEN,  YELLOW, GREEN, YELLOW, GREEN,
                                                       YELLOW, WHITE,  RED,   BLUE};

bool flame_colour(enum theme t, enum style st, int colours, short *ink, short *paper)
{
    if (st < STYLE_FRAME) {
        return false;
    }
    size_t i = (size_t)(st - STYLE_FRAME);
    if (colours < 256 || t == THEME_EIGHT) {
        *paper = eight[i];
        *ink = *paper == RED || *paper == BLUE ? WHITE : BLACK;
        return true;
    }
    *paper = t == THEME_LIGHT ? light[i] : dark[i];
    *ink = BLACK_256;
    return true;
}
