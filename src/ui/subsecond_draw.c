#include "subsecond_draw.h"
#include "flame_live.h"
#include "flame_title.h"
#include "heat_cell.h"
#include "palette.h"
#include "subsecond.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

#define LABEL_COLS 8 /* left of the grid */
#define TIME_COLS  9 /* of a time on the axis */
#define SECOND     UINT64_C(1000000000)

/* A map on the screen. */
struct shown {
    struct flame_state *t;
    struct canvas *c;
    const struct sample_map *m;
    struct rect grid;
    uint64_t cursor, from, to; /* cells: of the cursor; marked */
};

static bool is_base(const struct shown *w, uint64_t cell)
{
    const struct flame_state *t = w->t;
    uint64_t at = sample_map_begin_ns(w->m, cell);
    return at >= t->base_from_ns && at < t->base_to_ns;
}

/* --- the grid --- */

static unsigned shade_of(const struct shown *w, uint64_t cell, uint32_t line)
{
    if (line >= w->m->lines) {
        return SHADE_NONE;
    }
    uint64_t n = w->m->width[cell];
    bool end = w->t->subsecond.marked && (cell == w->from || cell + 1 == w->to);
    if (cell == w->cursor || end) {
        return SHADE_CURSOR;
    }
    return n > 0 ? palette_shade((double)n / (double)w->m->top) : SHADE_NONE;
}

static bool is_marked(const struct shown *w, uint64_t cell)
{
    return w->t->subsecond.marked && cell >= w->from && cell < w->to;
}

static void draw_gap(const struct shown *w, int row, int col, bool selected)
{
    canvas_text(w->c, row, col, 1, selected ? STYLE_SELECT : STYLE_DIM, "/");
}

static void draw_two(const struct shown *w, int row, int col, uint64_t cell, uint32_t line)
{
    bool upper = line + 1 < w->m->lines;
    bool gap = w->m->gap[cell] && (!upper || w->m->gap[cell + 1]);
    bool selected = cell == w->cursor || (upper && cell + 1 == w->cursor);
    if (gap) {
        draw_gap(w, row, col, selected || is_marked(w, cell));
    } else {
        canvas_halves(w->c, row, col, shade_of(w, cell + 1, line + 1), shade_of(w, cell, line));
    }
}

static void draw_one(const struct shown *w, int row, int col, uint64_t cell)
{
    uint64_t n = w->m->width[cell];
    if (w->m->gap[cell]) {
        draw_gap(w, row, col, false);
    } else if (n > 0) {
        heat_cell_draw(w->c, row, col, (double)n / (double)w->m->top);
    }
    if (cell == w->cursor || is_marked(w, cell)) {
        canvas_style(w->c, row, col, 1, STYLE_SELECT);
    }
}

static void draw_row(const struct shown *w, int row, uint32_t line)
{
    char text[32];
    snprintf(text, sizeof text, "%ums", (unsigned)(line * 1000 / w->m->lines));
    canvas_right(w->c, row, w->grid.col - LABEL_COLS, LABEL_COLS - 1, STYLE_DIM, text);
    for (uint32_t i = 0; i < w->m->cols; i++) {
        uint64_t cell = (uint64_t)i * w->m->lines + line;
        if (w->t->subsecond.halves) {
            draw_two(w, row, w->grid.col + (int)i, cell, line);
        } else {
            draw_one(w, row, w->grid.col + (int)i, cell);
        }
    }
}

static void draw_grid(const struct shown *w)
{
    uint32_t each = w->t->subsecond.halves ? 2 : 1;
    for (int i = 0; i < w->grid.rows && (uint32_t)i * each < w->m->lines; i++) {
        draw_row(w, w->grid.row + w->grid.rows - 1 - i, (uint32_t)i * each);
    }
}

/* --- around it --- */

static void second_text(const struct sample_map *m, uint64_t second, char *out)
{
    if (m->zero_ns) {
        format_time(second * SECOND, false, out);
    } else {
        snprintf(out, FORMAT_BYTES, "%" PRIu64 " s", second);
    }
}

/* Clock times; = is the marked time, ~ the one that is compared with. */
static void draw_axis(const struct shown *w, int row)
{
    const struct sample_map *m = w->m;
    for (uint32_t i = 0; i < m->cols; i++) {
        uint64_t cell = (uint64_t)i * m->lines;
        bool base = false;
        for (uint32_t l = 0; l < m->lines && w->t->base_to_ns; l++) {
            base = base || is_base(w, cell + l);
        }
        bool marked = w->t->subsecond.marked && cell < w->to && cell + m->lines > w->from;
        if (marked || base) {
            canvas_text(w->c, row, w->grid.col + (int)i, 1, STYLE_KEY, marked ? "=" : "~");
        }
        if ((m->from_s + i) % 15 == 0 && i + TIME_COLS <= m->cols && !marked && !base) {
            char when[FORMAT_BYTES + 1] = "|";
            second_text(m, m->from_s + i, when + 1);
            canvas_text(w->c, row, w->grid.col + (int)i, TIME_COLS, STYLE_DIM, when);
        }
    }
}

static void draw_info(const struct shown *w, struct rect a)
{
    const struct sample_map *m = w->m;
    char amount[FORMAT_BYTES];
    uint64_t from_ns, to_ns;
    struct buf range;
    buf_init(&range, 0);
    subsecond_range(w->t, &from_ns, &to_ns);
    flame_title_range(&range, w->t->view, from_ns, to_ns);
    flame_title_amount(amount, w->t->query.by,
                       stack_profile_meta(stack_view_profile(w->t->view))->unit,
                       sample_map_sum(m, w->from, w->to));
    if (w->to == w->from + 1 && m->gap[w->from]) {
        canvas_textf(w->c, a.row, a.col, a.cols, STYLE_WARN, "no samples  %s", range.data);
    } else {
        canvas_textf(w->c, a.row, a.col, a.cols, STYLE_BOLD, "%s  %s%s", amount,
                     w->t->subsecond.marked ? "marked " : "", range.data);
    }
    buf_release(&range);
}

/* The shades from little to most, if there is room. */
static void draw_legend(const struct shown *w, struct rect a, int used)
{
    char top[FORMAT_BYTES];
    flame_title_amount(top, w->t->query.by,
                       stack_profile_meta(stack_view_profile(w->t->view))->unit, w->m->top);
    int cols = SHADES + 1 + (int)strlen(top);
    if (!w->c->shades || w->m->top == 0 || used + cols + 2 > a.cols) {
        return;
    }
    int col = a.col + a.cols - cols;
    for (int i = 0; i < SHADES; i++) {
        canvas_halves(w->c, a.row, col + i, (unsigned)i + 1, (unsigned)i + 1);
    }
    canvas_text(w->c, a.row, col + SHADES + 1, cols, STYLE_HEAD, top);
}

static void draw_title(const struct shown *w, struct rect a)
{
    const struct flame_state *t = w->t;
    const struct flame_width by = {t->query.by, t->query.metric};
    struct buf text;
    buf_init(&text, 0);
    buf_adds(&text, "SUB-SECOND HEAT MAP  ");
    flame_width_text(&text, &by, stack_profile_meta(stack_view_profile(t->view))->unit);
    flame_title_filter(&text, t, false);
    buf_addf(&text, "  %.4gms a line", 1000.0 / w->m->lines);
    buf_adds(&text, t->frozen ? "  FROZEN" : "");
    canvas_fill(w->c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int used = canvas_text(w->c, a.row, a.col, a.cols, STYLE_HEAD, text.data);
    buf_release(&text);
    draw_legend(w, a, used);
}

static void draw_none(const struct flame_state *t, struct canvas *c, struct rect a)
{
    char why[500] = "No stack samples.";
    bool some = t->view && stack_view_count(t->view) > 0;
    if (some) {
        snprintf(why, sizeof why, "These samples have no times: folded stacks contain none.");
    } else if (t->live) {
        flame_live_why(t, why, sizeof why);
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, why);
}

void subsecond_draw(struct flame_state *t, struct canvas *c, struct rect a)
{
    int title = a.rows >= 3, live = t->live && a.rows >= 7;
    int under = a.rows >= 6 ? 2 : a.rows >= 2;
    struct shown w = {.t = t, .c = c, .grid = a};
    w.grid.row += title + live;
    w.grid.rows -= title + live + under;
    w.grid.col += LABEL_COLS;
    w.grid.cols -= LABEL_COLS;
    if (live) {
        flame_live_draw(t, c, (struct rect){a.row + title, a.col, 1, a.cols});
    }
    w.m = subsecond_map(t, w.grid, c->shades);
    if (!w.m || w.grid.cols < 1 || w.grid.rows < 1) {
        canvas_fill(c, a.row, a.col, title ? a.cols : 0, STYLE_HEAD, ' ');
        canvas_text(c, a.row, a.col, title ? a.cols : 0, STYLE_HEAD, "SUB-SECOND HEAT MAP");
        draw_none(t, c, (struct rect){w.grid.row, a.col, w.grid.rows, a.cols});
        return;
    }
    w.cursor = subsecond_cursor(t, w.m);
    subsecond_cells(t, w.m, &w.from, &w.to);
    if (title) {
        draw_title(&w, a);
    }
    draw_grid(&w);
    if (under == 2) {
        draw_axis(&w, a.row + a.rows - 2);
    }
    if (under) {
        draw_info(&w, (struct rect){a.row + a.rows - 1, a.col, 1, a.cols});
    }
}
