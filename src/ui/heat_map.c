#include "heat_map.h"
#include "bins.h"
#include "heat_cell.h"
#include "palette.h"

#include <kprof/base/format.h>
#include <kprof/base/scale.h>
#include <stdio.h>
#include <string.h>

size_t heat_map_holder(const struct snap_heat *h, size_t i)
{
    while (i > 0 && h->col[i].inside) {
        i--;
    }
    return i;
}

static uint64_t count_of(const struct heat_map *m, const struct snap_heat_col *k, size_t group)
{
    size_t from = bins_first(group, m->per), to = bins_first(group + 1, m->per);
    size_t end = m->h->low + m->h->n_bins;
    uint64_t sum = 0;
    from = from < m->h->low ? m->h->low : from;
    to = to > end ? end : to;
    for (size_t b = from; k->bin && b < to; b++) {
        sum += k->bin[b - m->h->low];
    }
    return sum;
}

uint64_t heat_map_count(const struct heat_map *m, size_t i, size_t group)
{
    return count_of(m, &m->h->col[heat_map_holder(m->h, i)], group);
}

bool heat_map_has_gap(const struct snap_heat_col *k)
{
    double length_s = (double)(k->to_s - k->from_s);
    return !k->inside && (!k->known || (k->count == 0 && k->gap_s > length_s / 2));
}

/* If the history of a column has longer steps than its width, its calls are divided accordingly. */
static double density(const struct heat_map *m, const struct snap_heat_col *k, size_t group)
{
    double count = (double)count_of(m, k, group);
    uint64_t length_s = k->to_s - k->from_s;
    return length_s > m->h->col_s ? count * m->h->col_s / (double)length_s : count;
}

static double most(const struct heat_map *m)
{
    double top = 0;
    for (size_t i = m->first; i < m->first + m->n; i++) {
        const struct snap_heat_col *k = &m->h->col[heat_map_holder(m->h, i)];
        for (size_t g = m->low; g < m->low + m->lines; g++) {
            double d = density(m, k, g);
            top = d > top ? d : top;
        }
    }
    return top;
}

struct heat_map heat_map_of(const struct snapshot *s, struct rect a, bool halves)
{
    const struct snap_heat *h = &s->heat;
    struct heat_map m = {.s = s, .h = h, .row = a.row, .rows = a.rows, .halves = halves};
    size_t cols = a.cols > HEAT_LABEL_COLS ? (size_t)(a.cols - HEAT_LABEL_COLS) : 0;
    m.lines = (size_t)(a.rows > 0 ? a.rows : 0) * (halves ? 2 : 1);
    m.n = h->n < cols ? h->n : cols;
    m.first = h->n - m.n;
    m.col = a.col + HEAT_LABEL_COLS + (int)(cols - m.n);
    m.per = bins_per(h->low, h->n_bins ? h->n_bins : 1, m.lines ? m.lines : 1);
    m.low = bins_group(h->low, m.per);
    m.top = most(&m);
    return m;
}

size_t heat_map_fullest(const struct heat_map *m, size_t i)
{
    size_t best = m->low;
    for (size_t g = m->low; g < m->low + m->lines; g++) {
        best = heat_map_count(m, i, g) > heat_map_count(m, i, best) ? g : best;
    }
    return best;
}

/* The lower line of a screen row. */
static size_t lower_line(const struct heat_map *m, int row)
{
    return (size_t)(m->row + m->rows - 1 - row) * (m->halves ? 2 : 1);
}

bool heat_map_at(const struct heat_map *m, int row, int col, size_t *i, size_t *group)
{
    if (col < m->col || (size_t)(col - m->col) >= m->n || row < m->row || row >= m->row + m->rows) {
        return false;
    }
    *i = m->first + (size_t)(col - m->col);
    *group = m->low + lower_line(m, row);
    if (m->halves && heat_map_count(m, *i, *group + 1) > heat_map_count(m, *i, *group)) {
        *group += 1;
    }
    return true;
}

/* --- drawing --- */

static unsigned shade_of(double n, double top)
{
    return n > 0 ? palette_shade(top > 0 ? n / top : 1) : SHADE_NONE;
}

/* A column as it is drawn, and the group of the cursor in it (SIZE_MAX: none). */
struct drawn {
    const struct snap_heat_col *shown;
    size_t i;
    int col; /* of the canvas */
    size_t cursor;
};

static bool is_marked(const struct heat_map *m, size_t i, size_t group)
{
    const struct heat_marked *k = &m->mark;
    return k->on && i >= k->first && i <= k->last && group >= k->low && group <= k->high;
}

/* At the edge of the marked cells: those inside keep their shades. */
static bool is_edge(const struct heat_map *m, size_t i, size_t group)
{
    const struct heat_marked *k = &m->mark;
    return is_marked(m, i, group) &&
           (i == k->first || i == k->last || group == k->low || group == k->high);
}

static void draw_halves(const struct heat_map *m, struct canvas *c, int row, const struct drawn *d)
{
    size_t lower = m->low + lower_line(m, row), upper = lower + 1;
    unsigned up = shade_of(density(m, d->shown, upper), m->top);
    unsigned down = shade_of(density(m, d->shown, lower), m->top);
    up = upper == d->cursor || is_edge(m, d->i, upper) ? SHADE_CURSOR : up;
    down = lower == d->cursor || is_edge(m, d->i, lower) ? SHADE_CURSOR : down;
    canvas_halves(c, row, d->col, up, down);
}

static void draw_cell(const struct heat_map *m, struct canvas *c, int row, const struct drawn *d)
{
    size_t group = m->low + lower_line(m, row);
    double n = density(m, d->shown, group);
    if (n > 0) {
        heat_cell_draw(c, row, d->col, m->top > 0 ? n / m->top : 1);
    }
    if (group == d->cursor || is_marked(m, d->i, group)) {
        canvas_style(c, row, d->col, 1, STYLE_SELECT);
    }
}

/* The cursor can be on an empty column, too. */
static void draw_blind(const struct heat_map *m, struct canvas *c, int row, const struct drawn *d)
{
    size_t group = m->low + lower_line(m, row);
    bool here =
        group == d->cursor || (m->halves && group + 1 == d->cursor) || is_marked(m, d->i, group);
    enum style st = here ? STYLE_SELECT : d->shown->known ? STYLE_WARN : STYLE_DIM;
    canvas_text(c, row, d->col, 1, st, "/");
}

static void draw_column(const struct heat_map *m, struct canvas *c, size_t i, size_t cursor)
{
    struct drawn d = {.i = i, .col = m->col + (int)(i - m->first), .cursor = cursor};
    bool blind = heat_map_has_gap(&m->h->col[i]);
    d.shown = &m->h->col[blind ? i : heat_map_holder(m->h, i)];
    for (int row = m->row; row < m->row + m->rows; row++) {
        if (blind) {
            draw_blind(m, c, row, &d);
        } else if (m->halves) {
            draw_halves(m, c, row, &d);
        } else {
            draw_cell(m, c, row, &d);
        }
    }
}

/* The label of a row is the start of its lower line. */
static void draw_label(const struct heat_map *m, struct canvas *c, int row, int left)
{
    size_t g = m->low + lower_line(m, row), highest = bins_group(m->h->low + m->h->n_bins, m->per);
    char mark[FORMAT_BYTES];
    bins_mark(g, m->per, mark);
    if (m->h->n_bins && bins_first(g, m->per) < SCALE_BINS && (g == m->low || g <= highest)) {
        canvas_right(c, row, left, HEAT_LABEL_COLS - 1, STYLE_DIM, mark);
    }
}

void heat_map_draw(const struct heat_map *m, struct canvas *c, int left, size_t i, size_t group)
{
    for (int row = m->row; row < m->row + m->rows; row++) {
        draw_label(m, c, row, left);
    }
    for (size_t k = m->first; k < m->first + m->n; k++) {
        draw_column(m, c, k, k == i ? group : SIZE_MAX);
    }
}

void heat_map_legend(const struct heat_map *m, struct canvas *c, int row, int col, int cols)
{
    char last[FORMAT_BYTES];
    if (!c->shades || m->top < 1) {
        return;
    }
    format_count((uint64_t)m->top, last);
    int used = 1 + 1 + SHADES + 1 + (int)strlen(last) + 6;
    if (used > cols) {
        return;
    }
    col += cols - used;
    canvas_text(c, row, col, 1, STYLE_HEAD, "1");
    for (int i = 0; i < SHADES; i++) {
        canvas_halves(c, row, col + 2 + i, (unsigned)i + 1, (unsigned)i + 1);
    }
    canvas_textf(c, row, col + 3 + SHADES, cols, STYLE_HEAD, "%s calls", last);
}
