#include "flame_color.h"

#include <assert.h>
#include <stddef.h>

enum { BLACK, RED, GREEN, YELLOW, BLUE, WHITE = 7, FRAME_STYLES = STYLE_COUNT - STYLE_FRAME };

/* Light colors of the 256, on which black text is readable; the last three are for frames that
 * match the search, have grown, have shrunk. */
static const int dark[FRAME_STYLES] = {180, 186, 144, 216, 150, 181, 207, 210, 117};
static const int light[FRAME_STYLES] = {223, 229, 194, 224, 157, 225, 213, 217, 153};
static const int eight[FRAME_STYLES] = {GREEN,  YELLOW, GREEN, YELLOW, GREEN,
                                        YELLOW, WHITE,  RED,   BLUE};

/* a color of the cube, 16..231, as 0xRRGGBB */
static int direct(int color)
{
    static const int step[] = {0, 95, 135, 175, 215, 255};
    int n = color - 16;
    return step[n / 36] << 16 | step[n / 6 % 6] << 8 | step[n % 6];
}

struct paint flame_color(enum theme t, enum style st, int colors)
{
    assert(st >= STYLE_FRAME && st < STYLE_COUNT);
    size_t i = (size_t)(st - STYLE_FRAME);
    if (colors == 0) {
        return (struct paint){-1, -1, st == STYLE_MATCH ? PAINT_REVERSE : 0};
    }
    if (colors < 256 || t == THEME_EIGHT) {
        bool deep = eight[i] == RED || eight[i] == BLUE;
        return (struct paint){deep ? WHITE : BLACK, eight[i], 0};
    }
    int paper = t == THEME_LIGHT ? light[i] : dark[i];
    return (struct paint){colors > 256 ? BLACK : 16, colors > 256 ? direct(paper) : paper, 0};
}
