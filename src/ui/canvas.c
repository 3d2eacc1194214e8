#include <assert.h>
#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <kprof/ui/canvas.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE 10000 /* rows or columns; a terminal that reports more is broken */

static int clamp_side(int n)
{
    return n < 0 ? 0 : n > MAX_SIDE ? MAX_SIDE : n;
}

static struct cell *at(const struct canvas *c, int row, int col)
{
    return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

static void set_style(struct cell *k, enum style st)
{
    k->style = (uint8_t)st;
    k->ink = k->paper = SHADE_NONE;
}

static void blank(struct cell *k, uint8_t style)
{
    memset(k, 0, sizeof *k);
    k->utf8[0] = ' ';
    k->style = style;
}

void canvas_init(struct canvas *c, int rows, int cols, bool ascii)
{
    memset(c, 0, sizeof *c);
    c->ascii = ascii;
    canvas_resize(c, rows, cols);
}

void canvas_release(struct canvas *c)
{
    free(c->cells);
    c->cells = NULL;
    c->rows = c->cols = 0;
}

void canvas_resize(struct canvas *c, int rows, int cols)
{
    rows = clamp_side(rows);
    cols = clamp_side(cols);
    free(c->cells);
    c->cells = calloc((size_t)rows * (size_t)cols + 1, sizeof *c->cells);
    if (!c->cells) {
        abort();
    }
    c->rows = rows;
    c->cols = cols;
    canvas_clear(c);
}

void canvas_clear(struct canvas *c)
{
    static const struct cell empty = {.utf8 = " ", .style = STYLE_NORMAL};
    size_t n = (size_t)c->rows * (size_t)c->cols;
    for (size_t i = 0; i < n; i++) {
        c->cells[i] = empty;
    }
    c->cursor_row = c->cursor_col = -1;
}

/* Called before cell (row, col) is overwritten: clears the other half of a wide character. */
static void split_wide(struct canvas *c, int row, int col)
{
    struct cell *k = at(c, row, col);
    if (!k->utf8[0] && col > 0) {
        blank(k - 1, (k - 1)->style);
    }
    if (col + 1 < c->cols && !k[1].utf8[0]) {
        blank(k + 1, (k + 1)->style);
    }
}

static struct cell *put(struct canvas *c, int row, int col, int width, enum style st,
                        const char *bytes, size_t n)
{
    for (int i = 0; i < width; i++) {
        split_wide(c, row, col + i);
    }
    struct cell *k = at(c, row, col);
    memset(k->utf8, 0, sizeof k->utf8);
    memcpy(k->utf8, bytes, n);
    set_style(k, st);
    if (width == 2) {
        memset(k[1].utf8, 0, sizeof k[1].utf8);
        set_style(&k[1], st);
    }
    return k;
}

static void combine(struct cell *k, const char *bytes, size_t n)
{
    size_t len = strlen(k->utf8);
    if (len + n < sizeof k->utf8) {
        memcpy(k->utf8 + len, bytes, n);
    }
}

/* s is safe already and fits into cols. */
static int put_safe(struct canvas *c, int row, int col, int cols, enum style st, const char *s,
                    size_t n)
{
    int used = 0;
    struct cell *last = NULL;
    for (size_t i = 0, step; i < n; i += step) {
        uint32_t cp;
        step = text_next(s + i, n - i, &cp);
        int w = text_cp_width(cp);
        if (w == 0 && last) {
            combine(last, s + i, step);
        } else if (w > 0 && used + w <= cols) {
            last = put(c, row, col + used, w, st, s + i, step);
            used += w;
        }
    }
    return used;
}

static bool is_plain(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] < 32 || s[i] > 126) {
            return false;
        }
    }
    return true;
}

typedef size_t fit(struct buf *out, const char *s, size_t n, size_t max_cols, bool ascii);

static int draw_text(struct canvas *c, int row, int col, int max_cols, enum style st, const char *s,
                     size_t n, fit *cut)
{
    if (row < 0 || row >= c->rows || col < 0 || col >= c->cols || max_cols <= 0) {
        return 0;
    }
    int room = c->cols - col < max_cols ? c->cols - col : max_cols;
    if (n <= (size_t)room && is_plain(s, n)) {
        for (size_t i = 0; i < n; i++) {
            put(c, row, col + (int)i, 1, st, s + i, 1);
        }
        return (int)n;
    }
    struct buf b;
    buf_init(&b, 0);
    cut(&b, s, n, (size_t)room, c->ascii);
    int used = put_safe(c, row, col, room, st, b.data, b.len);
    buf_release(&b);
    return used;
}

int canvas_text(struct canvas *c, int row, int col, int max_cols, enum style st, const char *s)
{
    int room = max_cols < MAX_SIDE ? max_cols : MAX_SIDE;
    size_t n = strnlen(s, room > 0 ? (size_t)room * 16 + 64 : 0); /* longer is cut in any case */
    return draw_text(c, row, col, max_cols, st, s, n, text_safe);
}

int canvas_name(struct canvas *c, int row, int col, int max_cols, enum style st, const char *s)
{
    return draw_text(c, row, col, max_cols, st, s, strlen(s), text_middle);
}

int canvas_textf(struct canvas *c, int row, int col, int max_cols, enum style st, const char *fmt,
                 ...)
{
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    return canvas_text(c, row, col, max_cols, st, line);
}

int canvas_wrap(struct canvas *c, int row, int col, int rows, int cols, enum style st,
                const char *s)
{
    int used = 0;
    size_t n = strlen(s);

    while (n > 0 && used < rows) {
        size_t take = 0, width = 0, blank = 0;
        while (take < n) {
            uint32_t cp;
            size_t step = text_next(s + take, n - take, &cp);
            width += text_width(s + take, step);
            if (width > (size_t)(cols > 0 ? cols : 0)) {
                break;
            }
            if (s[take] == ' ') {
                blank = take + 1;
            }
            take += step;
        }
        if (take < n && blank) {
            take = blank;
        }
        if (take == 0) {
            break;
        }
        canvas_textf(c, row + used++, col, cols, st, "%.*s", (int)take, s);
        s += take;
        n -= take;
    }
    return used;
}

void canvas_right(struct canvas *c, int row, int col, int cols, enum style st, const char *s)
{
    if (cols <= 0) {
        return;
    }
    size_t w = text_width(s, strnlen(s, (size_t)cols * 16 + 64));
    int gap = w < (size_t)cols ? cols - (int)w : 0;
    canvas_text(c, row, col + gap, cols - gap, st, s);
}

void canvas_fill(struct canvas *c, int row, int col, int cols, enum style st, char ch)
{
    if (row < 0 || row >= c->rows) {
        return;
    }
    char safe = ch < 32 || ch > 126 ? ' ' : ch;
    for (int i = col < 0 ? 0 : col; i < c->cols && i - col < cols; i++) {
        put(c, row, i, 1, st, &safe, 1);
    }
}

void canvas_style(struct canvas *c, int row, int col, int cols, enum style st)
{
    if (row < 0 || row >= c->rows) {
        return;
    }
    for (int i = col < 0 ? 0 : col; i < c->cols && i - col < cols; i++) {
        set_style(at(c, row, i), st);
    }
}

void canvas_halves(struct canvas *c, int row, int col, unsigned upper, unsigned lower)
{
    static const char upper_half[] = "\xe2\x96\x80", lower_half[] = "\xe2\x96\x84";
    assert(c->shades && upper <= SHADE_CURSOR && lower <= SHADE_CURSOR);
    if (row < 0 || row >= c->rows || col < 0 || col >= c->cols || (!upper && !lower)) {
        return;
    }
    struct cell *k = put(c, row, col, 1, STYLE_NORMAL, upper ? upper_half : lower_half, 3);
    k->ink = (uint8_t)(upper ? upper : lower);
    k->paper = (uint8_t)(upper ? lower : SHADE_NONE);
}

static bool is_part_shade(unsigned shade)
{
    return shade >= SHADE_PART && shade <= SHADE_PART_LAST;
}

void canvas_split(struct canvas *c, int row, int col, unsigned eighths, unsigned left,
                  unsigned right)
{
    assert(c->shades && is_part_shade(left) && (right == SHADE_NONE || is_part_shade(right)));
    if (row < 0 || row >= c->rows || col < 0 || col >= c->cols) {
        return;
    }
    const char *block = format_eighths(eighths);
    struct cell *k = put(c, row, col, 1, STYLE_NORMAL, block, strlen(block));
    k->ink = (uint8_t)left;
    k->paper = (uint8_t)right;
}

void canvas_shade(struct canvas *c, int row, int col, int cols, unsigned shade)
{
    assert(c->shades && shade <= SHADE_PART_LAST);
    if (row < 0 || row >= c->rows) {
        return;
    }
    for (int i = col < 0 ? 0 : col; i < c->cols && i - col < cols; i++) {
        at(c, row, i)->ink = (uint8_t)shade;
        at(c, row, i)->paper = SHADE_NONE;
    }
}

void canvas_dump(const struct canvas *c, struct buf *out)
{
    for (int row = 0; row < c->rows; row++) {
        int end = c->cols;
        while (end > 0 && strcmp(at(c, row, end - 1)->utf8, " ") == 0) {
            end--;
        }
        for (int col = 0; col < end; col++) {
            buf_adds(out, at(c, row, col)->utf8);
        }
        buf_addch(out, '\n');
    }
}
