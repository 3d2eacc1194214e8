#include "subsecond.h"

#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

/* As many lines as fit, of those that divide a second evenly. */
static uint32_t lines_for(int lines)
{
    static const uint32_t some[] = {100, 80, 64, 50, 40, 32, 25, 20, 16, 10, 8, 5, 4, 2};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        if ((int)some[i] <= lines) {
            return some[i];
        }
    }
    return 1;
}

static bool is_same(const struct sample_map_query *a, const struct sample_map_query *b)
{
    return a->end_s == b->end_s && a->cols == b->cols && a->lines == b->lines;
}

const struct sample_map *subsecond_map(struct flame_state *t, struct rect grid, bool halves)
{
    struct subsecond *k = &t->subsecond;
    int cols = grid.cols < (int)SAMPLE_MAP_COLS ? grid.cols : (int)SAMPLE_MAP_COLS;
    struct sample_map_query q = {.filter = t->query.filter,
                                 .by = t->query.by,
                                 .metric = t->query.metric,
                                 .end_s = k->end_s,
                                 .cols = cols > 0 ? (uint32_t)cols : 1,
                                 .lines = lines_for(grid.rows * (halves ? 2 : 1))};
    k->area = grid;
    k->halves = halves;
    if (t->view && (!k->map || !is_same(&k->made, &q))) {
        sample_map_free(k->map);
        k->map = sample_map_make(t->view, &q);
        k->made = q;
    }
    return k->map;
}

const struct sample_map *subsecond_last(const struct flame_state *t)
{
    return t->subsecond.map;
}

/* The last cell that is not in a gap. */
static uint64_t newest_cell(const struct sample_map *m)
{
    uint64_t cell = sample_map_cells(m) - 1;
    while (cell > 0 && m->gap[cell]) {
        cell--;
    }
    return cell;
}

uint64_t subsecond_cursor(const struct flame_state *t, const struct sample_map *m)
{
    const struct subsecond *k = &t->subsecond;
    return k->has_cursor ? sample_map_cell(m, k->cursor_ns) : newest_cell(m);
}

void subsecond_cells(const struct flame_state *t, const struct sample_map *m, uint64_t *from,
                     uint64_t *to)
{
    uint64_t cursor = subsecond_cursor(t, m);
    uint64_t other = t->subsecond.marked ? sample_map_cell(m, t->subsecond.mark_ns) : cursor;
    *from = cursor < other ? cursor : other;
    *to = (cursor < other ? other : cursor) + 1;
}

/* The time in the middle of a cell: it stays in that cell when the clock is corrected a little. */
static uint64_t middle_ns(const struct sample_map *m, uint64_t cell)
{
    return sample_map_begin_ns(m, cell) + SECOND / m->lines / 2;
}

static uint64_t begin_of(const struct sample_map *m, uint64_t time_ns, bool after)
{
    uint64_t step = SECOND / m->lines, at = time_ns + m->zero_ns;
    at = at / step * step + (after ? step : 0);
    return at > m->zero_ns ? at - m->zero_ns : 0;
}

bool subsecond_range(const struct flame_state *t, uint64_t *from_ns, uint64_t *to_ns)
{
    const struct sample_map *m = t->subsecond.map;
    if (!m) {
        return false;
    }
    /* by time, not by cell: the mark may be out of sight */
    uint64_t here = t->subsecond.has_cursor ? t->subsecond.cursor_ns : middle_ns(m, newest_cell(m));
    uint64_t other = t->subsecond.marked ? t->subsecond.mark_ns : here;
    *from_ns = begin_of(m, here < other ? here : other, false);
    *to_ns = begin_of(m, here < other ? other : here, true);
    return true;
}

void subsecond_place(struct flame_state *t, uint64_t cell)
{
    t->subsecond.has_cursor = true;
    t->subsecond.cursor_ns = middle_ns(t->subsecond.map, cell);
}

void subsecond_mark(struct flame_state *t)
{
    struct subsecond *k = &t->subsecond;
    const struct sample_map *m = k->map;
    k->marked = !k->marked && m;
    if (k->marked) {
        subsecond_place(t, subsecond_cursor(t, m));
        k->mark_ns = k->cursor_ns;
    }
}

/* --- moving --- */

/* The end of the map, moved by some columns. False: there are no samples there. */
static bool pan(struct flame_state *t, const struct sample_map *m, uint64_t by, bool back)
{
    uint64_t end = m->from_s + m->cols;
    if (back && m->from_s <= m->first_s) {
        return false;
    }
    if (!back && end > m->newest_s) {
        t->subsecond.end_s = 0;
        return false;
    }
    end = back ? end - by : end + by;
    t->subsecond.end_s = end > m->newest_s ? 0 : end;
    return true;
}

static bool move_by(struct flame_state *t, const struct sample_map *m, int64_t by)
{
    int64_t cell = (int64_t)subsecond_cursor(t, m) + by;
    int64_t cells = (int64_t)sample_map_cells(m);
    bool out = cell < 0 || cell >= cells;
    if (out && !pan(t, m, (m->cols + 1) / 2, cell < 0)) {
        return false;
    }
    uint64_t at = cell < 0 ? 0 : (uint64_t)cell;
    t->subsecond.has_cursor = true;
    t->subsecond.cursor_ns =
        out && cell < 0 ? middle_ns(m, subsecond_cursor(t, m)) - (uint64_t)-by * (SECOND / m->lines)
                        : middle_ns(m, at);
    return true;
}

static bool page(struct flame_state *t, const struct sample_map *m, bool back)
{
    uint64_t cursor_ns = middle_ns(m, subsecond_cursor(t, m)), by_ns = m->cols * SECOND;
    if (!pan(t, m, m->cols, back)) {
        return false;
    }
    t->subsecond.has_cursor = true;
    t->subsecond.cursor_ns = !back ? cursor_ns + by_ns : cursor_ns > by_ns ? cursor_ns - by_ns : 0;
    return true;
}

static bool in_column(struct flame_state *t, const struct sample_map *m, bool up)
{
    uint64_t at = subsecond_cursor(t, m), line = at % m->lines;
    if (up ? line + 1 == m->lines : line == 0) {
        return false;
    }
    return move_by(t, m, up ? 1 : -1);
}

bool subsecond_move(struct flame_state *t, enum action act, bool *moved)
{
    const struct sample_map *m = t->subsecond.map;
    *moved = false;
    if (!m) {
        return false;
    }
    switch (act) {
    case ACT_UP:
    case ACT_DOWN:
        *moved = in_column(t, m, act == ACT_UP);
        return true;
    case ACT_LEFT:
        *moved = move_by(t, m, -(int64_t)m->lines);
        return true;
    case ACT_RIGHT:
        *moved = move_by(t, m, (int64_t)m->lines);
        return true;
    case ACT_EARLIER:
    case ACT_PGUP:
        *moved = page(t, m, true);
        return true;
    case ACT_LATER:
    case ACT_PGDN:
        *moved = page(t, m, false);
        return true;
    case ACT_HOME:
        *moved = subsecond_cursor(t, m) != 0;
        subsecond_place(t, 0);
        return true;
    case ACT_END:
    case ACT_NOW:
        *moved = t->subsecond.has_cursor || t->subsecond.end_s;
        t->subsecond.has_cursor = false;
        t->subsecond.end_s = 0;
        return true;
    default:
        return false;
    }
}

bool subsecond_at(const struct flame_state *t, int row, int col, uint64_t *cell)
{
    const struct subsecond *k = &t->subsecond;
    const struct sample_map *m = k->map;
    int from_bottom = k->area.row + k->area.rows - 1 - row, at = col - k->area.col;
    if (!m || at < 0 || at >= (int)m->cols || from_bottom < 0) {
        return false;
    }
    uint32_t line = (uint32_t)from_bottom * (k->halves ? 2 : 1);
    if (line >= m->lines) {
        return false;
    }
    *cell = (uint64_t)at * m->lines + line;
    if (k->halves && line + 1 < m->lines && m->width[*cell + 1] > m->width[*cell]) {
        *cell += 1;
    }
    return true;
}

void subsecond_time_text(const struct stack_view *v, uint64_t time_ns, char *out)
{
    int64_t wall_ns = stack_profile_meta(stack_view_profile(v))->wall_ns;
    if (wall_ns > 0) {
        format_time((uint64_t)wall_ns + time_ns, true, out);
    } else {
        snprintf(out, FORMAT_BYTES, "%.3f s", (double)time_ns / 1e9);
    }
}
