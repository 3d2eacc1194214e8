#include "part_color.h"

#include <assert.h>

enum { BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE };

/* The colors that M. Okabe and K. Ito chose for people with color vision deficiency ("Color
 * Universal Design", 2008), and the nearest of 256. Red is at least 1: terminals with direct color
 * read 0 to 7 as the first eight colors, and some do so with all numbers below 0x10000. */
static const struct {
    int rgb, of_256, of_8; /* of_8 -1: the background of the terminal */
    bool dark;             /* the letter is white */
} colors_of[PART_COUNT] = {
    [PART_RUN] = {0x019e73, 36, GREEN, false},   [PART_RUN_QUEUE] = {0xd55e00, 166, RED, false},
    [PART_GC] = {0xf0e442, 227, YELLOW, false},  [PART_DIRTY] = {0xe69f00, 214, MAGENTA, false},
    [PART_PORT] = {0xcc79a7, 175, WHITE, false}, [PART_WAIT] = {0x56b4e9, 75, CYAN, false},
    [PART_MAILBOX] = {0x0172b2, 25, BLUE, true}, [PART_UNKNOWN] = {0x606060, 241, -1, true},
};

struct paint part_color(enum theme t, enum time_part p, int colors)
{
    assert(p < PART_COUNT);
    if (colors == 0) {
        return (struct paint){-1, -1, 0};
    }
    int paper = colors_of[p].of_8;
    if (colors < 256 || t == THEME_EIGHT) {
        bool deep = paper == RED || paper == BLUE || paper == MAGENTA;
        return (struct paint){paper < 0 ? -1 : deep ? WHITE : BLACK, paper, 0};
    }
    if (colors > 256) {
        return (struct paint){colors_of[p].dark ? WHITE : BLACK, colors_of[p].rgb, 0};
    }
    return (struct paint){colors_of[p].dark ? 231 : 16, colors_of[p].of_256, 0};
}
