#include "paint.h"
#include "flame_color.h"
#include "palette.h"
#include "part_color.h"

#include <assert.h>

enum {
    BLACK,
    RED,
    GREEN,
    YELLOW,
    BLUE,
    MAGENTA,
    CYAN,
    WHITE,
    GREY,
    BRIGHT_RED,
    BRIGHT_YELLOW = 11
};
enum { AMBER = 130 }; /* of 256 */

static const struct paint plain[STYLE_COUNT] = {
    [STYLE_NORMAL] = {-1, -1, 0},
    [STYLE_DIM] = {-1, -1, 0},
    [STYLE_BOLD] = {-1, -1, PAINT_BOLD},
    [STYLE_HEAD] = {-1, -1, PAINT_REVERSE},
    [STYLE_SELECT] = {-1, -1, PAINT_REVERSE | PAINT_BOLD},
    [STYLE_GOOD] = {-1, -1, 0},
    [STYLE_WARN] = {-1, -1, PAINT_UNDERLINE},
    [STYLE_BAD] = {-1, -1, PAINT_BOLD | PAINT_UNDERLINE},
    [STYLE_KEY] = {-1, -1, PAINT_BOLD},
};

static const struct paint of_theme[THEME_COUNT][STYLE_COUNT] = {
    [THEME_DARK] = {[STYLE_NORMAL] = {-1, -1, 0},
                    [STYLE_DIM] = {GREY, -1, 0},
                    [STYLE_BOLD] = {-1, -1, PAINT_BOLD},
                    [STYLE_HEAD] = {BLACK, GREEN, 0},
                    [STYLE_SELECT] = {BLACK, CYAN, 0},
                    [STYLE_GOOD] = {GREEN, -1, 0},
                    [STYLE_WARN] = {BRIGHT_YELLOW, -1, 0},
                    [STYLE_BAD] = {BRIGHT_RED, -1, 0},
                    [STYLE_KEY] = {CYAN, -1, PAINT_BOLD}},
    /* Yellow and cyan are not readable on white. */
    [THEME_LIGHT] = {[STYLE_NORMAL] = {-1, -1, 0},
                     [STYLE_DIM] = {GREY, -1, 0},
                     [STYLE_BOLD] = {-1, -1, PAINT_BOLD},
                     [STYLE_HEAD] = {WHITE, BLUE, 0},
                     [STYLE_SELECT] = {WHITE, MAGENTA, 0},
                     [STYLE_GOOD] = {GREEN, -1, 0},
                     [STYLE_WARN] = {AMBER, -1, 0},
                     [STYLE_BAD] = {RED, -1, 0},
                     [STYLE_KEY] = {BLUE, -1, PAINT_BOLD}},
    /* For terminals that show bright colors badly, or that have eight colors but report 16. */
    [THEME_EIGHT] = {[STYLE_NORMAL] = {-1, -1, 0},
                     [STYLE_DIM] = {-1, -1, PAINT_DIM},
                     [STYLE_BOLD] = {-1, -1, PAINT_BOLD},
                     [STYLE_HEAD] = {BLACK, WHITE, 0},
                     [STYLE_SELECT] = {BLACK, CYAN, 0},
                     [STYLE_GOOD] = {GREEN, -1, 0},
                     [STYLE_WARN] = {MAGENTA, -1, 0},
                     [STYLE_BAD] = {RED, -1, 0},
                     [STYLE_KEY] = {BLUE, -1, 0}},
};

/* With eight colors, other colors are replaced by one of the eight and attributes. */
static struct paint with_eight(struct paint k, enum style st)
{
    if (k.ink == GREY) {
        return (struct paint){-1, k.paper, PAINT_DIM};
    }
    if (k.ink == BRIGHT_YELLOW || k.ink == BRIGHT_RED) {
        k.ink -= 8;
    }
    if (k.ink == AMBER) {
        k.ink = MAGENTA;
    }
    k.attributes |= st == STYLE_WARN || st == STYLE_BAD ? PAINT_BOLD : 0;
    return k;
}

/* A terminal with direct color has no numbers for colors above the first eight. */
static int direct(int color)
{
    switch (color) {
    case GREY:
        return 0x808080;
    case BRIGHT_RED:
        return 0xff5f5f;
    case BRIGHT_YELLOW:
        return 0xffff5f;
    case AMBER:
        return 0xaf5f00;
    default:
        return color;
    }
}

struct paint paint_style(enum theme t, enum style st, int colors)
{
    assert(t < THEME_COUNT && st < STYLE_COUNT);
    if (st >= STYLE_FRAME) {
        return flame_color(t, st, colors);
    }
    if (st >= STYLE_PART) {
        return part_color(t, (enum time_part)(st - STYLE_PART), colors);
    }
    if (colors == 0) {
        return plain[st];
    }
    struct paint k = of_theme[t][st];
    if (colors < 16) {
        return t == THEME_EIGHT ? k : with_eight(k, st);
    }
    if (colors < 256 && k.ink == AMBER) {
        k.ink = MAGENTA;
    }
    if (colors > 256) {
        k.ink = direct(k.ink);
    }
    return k;
}

bool paint_has_shades(enum theme t, int colors)
{
    return t != THEME_EIGHT && colors >= 256;
}

int paint_shade(enum theme t, unsigned shade, int colors)
{
    assert(paint_has_shades(t, colors));
    bool light = t == THEME_LIGHT;
    if (shade == SHADE_NONE) {
        return -1;
    }
    if (shade >= SHADE_PART) {
        return part_color(t, (enum time_part)(shade - SHADE_PART), colors).paper;
    }
    return colors > 256 ? (int)palette_rgb(light, shade) : (int)palette_256(light, shade);
}
