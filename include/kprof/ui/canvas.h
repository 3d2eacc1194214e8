/* A grid of cells on which screens draw. It has two back ends: a plain grid in memory (tests,
 * goldens), and a terminal through ncurses (src/ui/term.c, the only file that includes
 * <ncurses.h>).
 *
 * Invariant: every cell holds printable text of its width; drawing outside is clipped. One thread.
 */
#ifndef KPROF_UI_CANVAS_H
#define KPROF_UI_CANVAS_H

#include <kprof/base/buf.h>
#include <kprof/base/theme.h>
#include <kprof/core/time_part.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum style {
    STYLE_NORMAL,
    STYLE_DIM,
    STYLE_BOLD,
    STYLE_HEAD,
    STYLE_SELECT,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_KEY,
    STYLE_PART, /* a part of the time of a call: one for each, by enum time_part */
    STYLE_PART_LAST = STYLE_PART + PART_COUNT - 1,
    STYLE_FRAME, /* a frame of a flame graph: STYLE_FRAMES of them, by module */
    STYLE_FRAME_LAST = STYLE_FRAME + 5,
    STYLE_MATCH, /* a frame that was searched for */
    STYLE_MORE,  /* a frame that has grown since the base; its text begins with + or -, too */
    STYLE_LESS,
    STYLE_COUNT
};
enum { STYLE_FRAMES = STYLE_FRAME_LAST - STYLE_FRAME + 1 };

/* Colors that show an amount: from the least (1) to the most (SHADES), in even steps of lightness,
 * away from the terminal's background. SHADE_CURSOR differs from all of them. src/ui/palette.h has
 * them. From SHADE_PART on: the colors of the parts of a time, as in STYLE_PART
 * (src/ui/part_color.h). */
enum {
    SHADE_NONE,
    SHADES = 8,
    SHADE_CURSOR,
    SHADE_PART,
    SHADE_PART_LAST = SHADE_PART + PART_COUNT - 1
};

struct cell {
    char utf8[15]; /* one code point and its combining marks; empty: the right half of a wide one */
    uint8_t style;
    uint8_t ink, paper; /* shades of the character and of its background; SHADE_NONE: the colors of
                           the style (if ink has a shade, paper is the terminal's background) */
};

struct canvas {
    int rows, cols;
    bool ascii;                 /* draw no code point above 126 */
    bool shades;                /* the terminal has shades, and the canvas is not ASCII */
    struct cell *cells;         /* rows * cols */
    int cursor_row, cursor_col; /* -1: hidden */
};

void canvas_init(struct canvas *c, int rows, int cols, bool ascii);
void canvas_release(struct canvas *c);
void canvas_resize(struct canvas *c, int rows, int cols);
void canvas_clear(struct canvas *c);
/* Draws s made safe (text_safe); returns the columns used. */
int canvas_text(struct canvas *c, int row, int col, int max_cols, enum style st, const char *s);
/* As canvas_text, but cuts a long text in the middle (text_middle); for names. */
int canvas_name(struct canvas *c, int row, int col, int max_cols, enum style st, const char *s);
int canvas_textf(struct canvas *c, int row, int col, int max_cols, enum style st, const char *fmt,
                 ...) __attribute__((format(printf, 6, 7)));
/* Draws s over at most `rows` rows and breaks it between words if possible; returns the rows
 * used. */
int canvas_wrap(struct canvas *c, int row, int col, int rows, int cols, enum style st,
                const char *s);
void canvas_right(struct canvas *c, int row, int col, int cols, enum style st,
                  const char *s); /* right aligned in cols */
void canvas_fill(struct canvas *c, int row, int col, int cols, enum style st, char ch);
void canvas_style(struct canvas *c, int row, int col, int cols,
                  enum style st); /* sets the style of the cells only, which lose their shades */
/* Draws two shades, one above the other, as the halves of one cell; SHADE_NONE: that half is blank.
 * Only on a canvas with shades. */
void canvas_halves(struct canvas *c, int row, int col, unsigned upper, unsigned lower);
/* Draws two colors of parts, side by side in one cell: `left` fills 1 to 7 eighths. right:
 * SHADE_NONE, or as left. Only on a canvas with shades. */
void canvas_split(struct canvas *c, int row, int col, unsigned eighths, unsigned left,
                  unsigned right);
/* Draws the characters of the cells in a shade. */
void canvas_shade(struct canvas *c, int row, int col, int cols, unsigned shade);
void canvas_dump(const struct canvas *c,
                 struct buf *out); /* rows as text, trailing blanks cut; for goldens */

#endif
