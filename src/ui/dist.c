#include "dist.h"
#include "bins.h"
#include "palette.h"
#include "row_step.h"
#include "shared.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/base/scale.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset; /* in struct snap_row, microseconds */
} marks[] = {{"p50", offsetof(struct snap_row, p50_us)},
             {"p90", offsetof(struct snap_row, p90_us)},
             {"p99", offsetof(struct snap_row, p99_us)},
             {"p99.9", offsetof(struct snap_row, p999_us)}};
#define MARKS (sizeof marks / sizeof *marks)

static double mark_us(const struct snap_row *r, size_t i)
{
    double us;
    memcpy(&us, (const char *)r + marks[i].offset, sizeof us);
    return us;
}

/* Columns of a line: duration, count, share, bar, percentiles. */
struct parts {
    int label, count, share, bar, mark;
};

static struct parts parts_for(int cols)
{
    bool wide = cols >= 60;
    struct parts p = {.label = 7, .count = 8, .share = wide ? 7 : 0, .mark = wide ? 20 : 10};
    p.bar = cols - p.label - p.count - p.share - p.mark - 2;
    return p;
}

static uint64_t line_count(const struct snap_dist *d, size_t group, size_t per)
{
    uint64_t sum = 0;
    for (size_t b = bins_first(group, per); b < bins_first(group + 1, per); b++) {
        if (b >= d->low && b < d->low + d->n) {
            sum += d->bin[b - d->low];
        }
    }
    return sum;
}

static void draw_bar(struct canvas *c, int row, int col, int cols, double part)
{
    int eighths = (int)(part * cols * 8 + 0.5);
    eighths = eighths < 1 ? 1 : eighths > cols * 8 ? cols * 8 : eighths;
    if (c->ascii) {
        int full = eighths / 8;
        canvas_fill(c, row, col, full ? full : 1, STYLE_GOOD, full ? '#' : '.');
        return;
    }
    for (int i = 0; i < eighths / 8; i++) {
        canvas_text(c, row, col + i, 1, STYLE_GOOD, format_eighths(8));
    }
    if (eighths % 8) {
        canvas_text(c, row, col + eighths / 8, 1, STYLE_GOOD,
                    format_eighths((unsigned)eighths % 8));
    }
    if (c->shades) { /* with shades, as in the heat map */
        canvas_shade(c, row, col, (eighths + 7) / 8, palette_shade(part));
    }
}

/* The percentiles in this line. */
static void draw_marks(struct canvas *c, int row, int col, int cols, const struct snap_row *r,
                       size_t group, size_t per)
{
    char text[120] = "";
    size_t seen = 0;
    for (size_t i = 0; i < MARKS; i++) {
        uint64_t ns = (uint64_t)(mark_us(r, i) * 1e3 + 0.5);
        if (bins_group(scale_bin(ns), per) != group) {
            continue;
        }
        size_t n = strlen(text);
        if (seen++ && cols < 20) { /* "p50..p99.9" */
            n = strcspn(text, ".");
            n = seen == 2 ? strlen(text) : n;
        }
        const char *before = !n ? "" : cols < 20 ? ".." : " ";
        snprintf(text + n, sizeof text - n, "%s%s", before, marks[i].name);
    }
    canvas_text(c, row, col, cols, STYLE_KEY, text);
}

static void draw_title(struct canvas *c, struct rect a, const struct snap_row *r,
                       const struct snapshot *s)
{
    char count[FORMAT_BYTES];
    format_count(s->dist.count, count);
    int col = rows_title(c, a, r);
    canvas_textf(c, a.row, a.col + col + 2, a.cols - col - 2, STYLE_HEAD, "%s%s calls by duration",
                 r->est_count != r->count ? "~" : "", count);
}

static void draw_figures(struct canvas *c, struct rect a, int row, const struct snap_row *r)
{
    char text[FORMAT_BYTES];
    int col = a.col;
    for (size_t i = 0; i < MARKS; i++) {
        format_us(mark_us(r, i), text);
        col += canvas_text(c, row, col, a.cols - col, STYLE_DIM, marks[i].name) + 1;
        col += canvas_text(c, row, col, a.cols - col, STYLE_BOLD, text) + 2;
    }
    format_us(r->max_us, text);
    col += canvas_text(c, row, col, a.cols - col, STYLE_DIM, "max") + 1;
    canvas_text(c, row, col, a.cols - col, STYLE_BOLD, text);
}

static void draw_line(struct canvas *c, int row, struct rect a, const struct snap_dist *d,
                      const struct snap_row *r, size_t group, size_t per, uint64_t top)
{
    struct parts p = parts_for(a.cols);
    uint64_t n = line_count(d, group, per);
    char text[FORMAT_BYTES];
    int col = a.col;
    bins_mark(group, per, text);
    canvas_right(c, row, col, p.label, STYLE_DIM, text);
    col += p.label;
    format_count(n, text);
    canvas_right(c, row, col, p.count, n ? STYLE_NORMAL : STYLE_DIM, text);
    col += p.count;
    if (p.share && n) {
        format_share((double)n / (double)d->count, text);
        canvas_right(c, row, col, p.share, STYLE_NORMAL, text);
    }
    col += p.share;
    if (n && p.bar > 0) {
        draw_bar(c, row, col + 1, p.bar, (double)n / (double)top);
    }
    col += p.bar > 0 ? p.bar + 2 : 1;
    draw_marks(c, row, col, a.col + a.cols - col, r, group, per);
}

static void draw_lines(struct canvas *c, struct rect a, const struct snap_dist *d,
                       const struct snap_row *r)
{
    size_t per = bins_per(d->low, d->n, (size_t)a.rows);
    size_t first = bins_group(d->low, per), last = bins_group(d->low + d->n - 1, per);
    uint64_t top = 1;
    for (size_t g = first; g <= last; g++) {
        uint64_t n = line_count(d, g, per);
        top = n > top ? n : top;
    }
    for (size_t g = first; g <= last && (int)(g - first) < a.rows; g++) {
        draw_line(c, a.row + (int)(g - first), a, d, r, g, per, top);
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    if (!r) {
        canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM,
                    "No row is selected: choose one in the table (Esc).");
        return;
    }
    const struct snap_dist *d = &s->dist;
    if (!d->there || d->tier != r->tier || d->ident_n != r->ident_n) {
        canvas_text(c, a.row, a.col, a.cols, STYLE_DIM, "reading the history ...");
        return;
    }
    draw_title(c, a, r, s);
    struct rect lines = {.row = a.row + 1, .col = a.col, .cols = a.cols, .rows = a.rows - 1};
    if (d->count == 0) {
        canvas_text(c, lines.row, a.col, lines.rows > 0 ? a.cols : 0, STYLE_DIM,
                    "No call has ended in the window.");
        return;
    }
    if (a.rows >= 8) {
        draw_figures(c, a, a.row + a.rows - 1, r);
        lines.rows--;
    }
    if (lines.rows > 0) {
        draw_lines(c, lines, d, r);
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)own;
    (void)key;
    enum row_step step = row_step_key(sh, act, s);
    if (step == ROW_STEP_MOVED) {
        out->intent.kind = INTENT_VIEW_QUERY;
    }
    return step != ROW_STEP_NO;
}

const struct screen_ops screen_dist = {
    .name = "distribution",
    .key = 'D',
    .context = CTX_DIST,
    .on_request = true,
    .draw = draw,
    .on_key = on_key,
};
