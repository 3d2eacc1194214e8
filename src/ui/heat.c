#include "heat.h"
#include "bins.h"
#include "shared.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/base/scale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint32_t steps[] = {1, 2, 5, 10, 30, 60, 300};
#define STEPS  (sizeof steps / sizeof *steps)
#define LABEL  8
#define LEVELS 8

/* Where the map lies in the area: columns from the right, lines from the bottom. */
struct map {
    const struct snapshot *s;
    const struct snap_heat *h;
    size_t first, n; /* columns of h that are shown */
    int row, col;    /* its upper left cell */
    int lines;       /* there are */
    size_t per, low; /* bins a line, the group of the lowest line */
};

bool heat_to_now(struct heat_state *t)
{
    bool was_past = t->end_s != 0;
    t->end_s = 0;
    t->has_cursor = false;
    return was_past;
}

void heat_query(const struct heat_state *t, const struct ui_shared *sh, struct view_query *q)
{
    int cols = (sh->cols ? sh->cols : 80) - LABEL;
    q->heat_cols = cols > 0 ? (uint32_t)cols : 1;
    q->heat_col_s = steps[t->step];
    q->heat_end_s = t->end_s ? t->end_s : q->end_s;
    if (!sh->time_range.paused && !t->end_s) {
        q->heat_end_s = 0;
    }
}

static struct map map_of(const struct snapshot *s, struct rect a)
{
    const struct snap_heat *h = &s->heat;
    struct map m = {.s = s, .h = h, .row = a.row, .lines = a.rows};
    size_t cols = a.cols > LABEL ? (size_t)(a.cols - LABEL) : 0;
    m.n = h->n < cols ? h->n : cols;
    m.first = h->n - m.n;
    m.col = a.col + LABEL + (int)(cols - m.n);
    m.per = bins_per(h->low, h->n_bins ? h->n_bins : 1, (size_t)(a.rows > 0 ? a.rows : 1));
    m.low = bins_group(h->low, m.per);
    return m;
}

/* The column that holds what column i shows. */
static size_t holder(const struct snap_heat *h, size_t i)
{
    while (i > 0 && h->col[i].inside) {
        i--;
    }
    return i;
}

static uint64_t cell(const struct map *m, size_t i, size_t group)
{
    const struct snap_heat_col *k = &m->h->col[holder(m->h, i)];
    uint64_t sum = 0;
    for (size_t b = bins_first(group, m->per); k->bin && b < bins_first(group + 1, m->per); b++) {
        if (b >= m->h->low && b < m->h->low + m->h->n_bins) {
            sum += k->bin[b - m->h->low];
        }
    }
    return sum;
}

/* A column that holds more than its own time is shown as thin as it is long. */
static double density(const struct map *m, size_t i, uint64_t count)
{
    const struct snap_heat_col *k = &m->h->col[holder(m->h, i)];
    double columns = (double)(k->to_s - k->from_s) / m->h->col_s;
    return columns > 1 ? (double)count / columns : (double)count;
}

static double most(const struct map *m)
{
    double top = 0;
    for (size_t i = 0; i < m->n; i++) {
        for (size_t g = 0; g < (size_t)m->lines; g++) {
            top = fmax(top, density(m, m->first + i, cell(m, m->first + i, m->low + g)));
        }
    }
    return top;
}

/* --- the cursor --- */

/* Column of the cursor; SIZE_MAX: there is none. */
static size_t cursor_col(const struct heat_state *t, const struct map *m)
{
    const struct snap_heat *h = m->h;
    if (m->n == 0) {
        return SIZE_MAX;
    }
    if (!t->has_cursor || t->cursor_s >= h->from_s + h->n * h->col_s) {
        return h->n - 1;
    }
    uint64_t i = t->cursor_s > h->from_s ? (t->cursor_s - h->from_s) / h->col_s : 0;
    return i < m->first ? m->first : (size_t)i;
}

/* Group of the cursor: until it is moved, where most of the column's calls are. */
static size_t cursor_group(const struct heat_state *t, const struct map *m, size_t col)
{
    size_t best = m->low, top = m->low + (size_t)(m->lines > 0 ? m->lines - 1 : 0);
    if (t->has_cursor) {
        size_t g = bins_group(t->cursor_bin, m->per);
        return g < m->low ? m->low : g > top ? top : g;
    }
    for (size_t g = m->low; g <= top; g++) {
        best = cell(m, col, g) > cell(m, col, best) ? g : best;
    }
    return best;
}

/* --- drawing --- */

static void draw_cell(const struct map *m, struct canvas *c, int row, int col, double n, double top)
{
    static const char *const shade[] = {"\xc2\xb7",     "\xe2\x96\x91", "\xe2\x96\x91",
                                        "\xe2\x96\x92", "\xe2\x96\x92", "\xe2\x96\x93",
                                        "\xe2\x96\x93", "\xe2\x96\x88"};
    static const char *const plain[] = {".", ":", "-", "=", "+", "*", "#", "@"};
    static const enum style styles[] = {STYLE_DIM,  STYLE_DIM,  STYLE_NORMAL, STYLE_NORMAL,
                                        STYLE_GOOD, STYLE_GOOD, STYLE_WARN,   STYLE_WARN};
    (void)m;
    if (n <= 0) {
        return;
    }
    double part = top > 0 ? cbrt(n / top) : 1; /* between the hot alone and all alike */
    int level = (int)(part * LEVELS);
    level = level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level;
    canvas_text(c, row, col, 1, styles[level], c->ascii ? plain[level] : shade[level]);
}

/* Nothing to see: not kept, or most of it not traced. */
static bool has_gap(const struct snap_heat_col *k)
{
    double length_s = (double)(k->to_s - k->from_s);
    return !k->inside && (!k->known || (k->count == 0 && k->gap_s > length_s / 2));
}

static void draw_grid(const struct heat_state *t, struct canvas *c, const struct map *m, int left)
{
    double top = most(m);
    size_t at = cursor_col(t, m), highest = bins_group(m->h->low + m->h->n_bins, m->per);
    for (int line = 0; line < m->lines; line++) {
        size_t g = m->low + (size_t)line;
        int row = m->row + m->lines - 1 - line;
        char mark[FORMAT_BYTES];
        bins_mark(g, m->per, mark);
        if (m->h->n_bins && bins_first(g, m->per) < SCALE_BINS && (line == 0 || g <= highest)) {
            canvas_right(c, row, left, LABEL - 1, STYLE_DIM, mark);
        }
        for (size_t i = 0; i < m->n; i++) {
            int col = m->col + (int)i;
            const struct snap_heat_col *k = &m->h->col[m->first + i];
            if (has_gap(k)) {
                canvas_text(c, row, col, 1, k->known ? STYLE_WARN : STYLE_DIM, "/");
                continue;
            }
            size_t of = m->first + i;
            draw_cell(m, c, row, col, density(m, of, cell(m, of, g)), top);
        }
        if (at != SIZE_MAX && g == cursor_group(t, m, at)) {
            canvas_style(c, row, m->col + (int)(at - m->first), 1, STYLE_SELECT);
        }
    }
}

static void draw_errors(struct canvas *c, const struct map *m, int row, int left)
{
    canvas_right(c, row, left, LABEL - 1, STYLE_DIM, "errors");
    for (size_t i = 0; i < m->n; i++) {
        uint64_t n = m->h->col[holder(m->h, m->first + i)].errors;
        char text[2] = {n > 9 ? '+' : (char)('0' + n), 0};
        if (n) {
            canvas_text(c, row, m->col + (int)i, 1, STYLE_BAD, text);
        }
    }
}

/* Clock times below; = marks the time range of the other screens. */
static void draw_axis(struct canvas *c, const struct map *m, int row)
{
    const struct snapshot *s = m->s;
    for (size_t i = 0; i < m->n; i++) {
        uint64_t at = m->h->from_s + (m->first + i) * m->h->col_s;
        if (s->time.history && at + m->h->col_s > s->time.from_s && at < s->time.to_s) {
            canvas_text(c, row, m->col + (int)i, 1, STYLE_KEY, "=");
        }
    }
    for (size_t i = 0; i < m->n; i++) {
        uint64_t at = m->h->from_s + (m->first + i) * m->h->col_s;
        char when[FORMAT_BYTES + 1] = "|";
        if (at / m->h->col_s % 12 == 0 && i + 9 <= m->n) {
            time_range_clock(s, at, when + 1);
            canvas_text(c, row, m->col + (int)i, 9, STYLE_DIM, when);
        }
    }
}

static void draw_title(struct canvas *c, struct rect a, const struct snap_row *r,
                       const struct map *m)
{
    char from[FORMAT_BYTES], to[FORMAT_BYTES];
    time_range_clock(m->s, m->h->from_s + m->first * m->h->col_s, from);
    time_range_clock(m->s, m->h->from_s + m->h->n * m->h->col_s, to);
    int col = rows_title(c, a, r);
    canvas_textf(c, a.row, a.col + col + 2, a.cols - col - 2, STYLE_HEAD, "%s-%s  %us per column",
                 from, to, (unsigned)m->h->col_s);
}

static void draw_info(const struct heat_state *t, struct canvas *c, struct rect a,
                      const struct map *m)
{
    size_t at = cursor_col(t, m);
    if (at == SIZE_MAX) {
        canvas_text(c, a.row, a.col, a.cols, STYLE_DIM, "no data yet");
        return;
    }
    const struct snap_heat_col *k = &m->h->col[holder(m->h, at)];
    char from[FORMAT_BYTES], to[FORMAT_BYTES], low[FORMAT_BYTES], high[FORMAT_BYTES];
    char count[FORMAT_BYTES], all[FORMAT_BYTES];
    size_t g = cursor_group(t, m, at);
    time_range_clock(m->s, k->from_s, from);
    time_range_clock(m->s, k->to_s, to);
    bins_mark(g, m->per, low);
    bins_mark(g + 1, m->per, high);
    format_count(cell(m, at, g), count);
    format_count(k->count, all);
    if (!k->known) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN, "no history for %s-%s", from, to);
    } else if (has_gap(k)) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN, "not traced %s-%s: %s", from, to,
                     gap_name(k->gap));
    } else if (!m->h->n_bins) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_DIM, "no calls %s-%s", from, to);
    } else {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD,
                     "%s of %s-%s  %s-%s  (of %s calls, %" PRIu64 " errors)", count, low, high,
                     from, to, all, k->errors);
    }
}

static bool is_of(const struct snap_heat *h, const struct snap_row *r)
{
    return h->there && h->tier == r->tier && h->ident_n == r->ident_n;
}

/* The grid's part of the area. */
static struct rect grid_area(struct rect a)
{
    int under = a.rows >= 9 ? 3 : a.rows >= 4; /* errors, times, cursor */
    int title = a.rows >= 3;
    a.row += title;
    a.rows -= title + under;
    return a;
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct heat_state *t = own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    t->area = a;
    if (!r) {
        canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM,
                    "No row is selected: choose one in the table (Esc).");
        return;
    }
    if (!is_of(&s->heat, r)) {
        canvas_text(c, a.row, a.col, a.cols, STYLE_DIM, "reading the history ...");
        return;
    }
    struct rect g = grid_area(a), line = a;
    struct map m = map_of(s, g);
    if (g.row > a.row) {
        draw_title(c, a, r, &m);
    }
    draw_grid(t, c, &m, a.col);
    int below = a.row + a.rows - g.row - g.rows;
    line.row = a.row + a.rows - 1;
    if (below == 3) {
        draw_errors(c, &m, g.row + g.rows, a.col);
        draw_axis(c, &m, g.row + g.rows + 1);
    }
    if (below) {
        draw_info(t, c, line, &m);
    }
}

/* --- keys --- */

static void place(struct heat_state *t, const struct map *m, size_t col, size_t group)
{
    t->has_cursor = true;
    t->cursor_s = m->h->from_s + col * m->h->col_s;
    t->cursor_bin = bins_first(group, m->per);
}

/* The map's end, moved by some seconds. False: it cannot. */
static bool pan(struct heat_state *t, struct message *why, const struct snapshot *s, uint64_t by_s,
                bool back)
{
    uint64_t end = t->end_s ? t->end_s : s->time.now_s;
    if (back && end <= s->time.oldest_s + by_s) {
        message_set(why, "no earlier history", true);
        return false;
    }
    if (!back && !t->end_s) {
        return false;
    }
    end = back ? end - by_s : end + by_s;
    t->end_s = end < s->time.now_s ? end : 0;
    return true;
}

static bool move(struct heat_state *t, struct ui_shared *sh, enum action act, const struct map *m,
                 struct intent *out)
{
    size_t at = cursor_col(t, m), top = m->low + (size_t)(m->lines > 0 ? m->lines - 1 : 0);
    if (at == SIZE_MAX) {
        return false; /* nowhere to move in; other keys mean what they always do */
    }
    size_t g = cursor_group(t, m, at);
    uint64_t page = m->n * m->h->col_s;
    switch (act) {
    case ACT_UP:
        place(t, m, at, g < top ? g + 1 : g);
        return true;
    case ACT_DOWN:
        place(t, m, at, g > m->low ? g - 1 : g);
        return true;
    case ACT_HOME:
        place(t, m, m->first, g);
        return true;
    case ACT_END:
        t->has_cursor = false;
        return true;
    case ACT_LEFT:
        if (at == m->first && pan(t, &sh->message, m->s, (page + 1) / 2, true)) {
            out->kind = INTENT_VIEW_QUERY;
        }
        place(t, m, at, g);
        t->cursor_s -= t->cursor_s >= m->h->col_s ? m->h->col_s : 0;
        return true;
    case ACT_RIGHT:
        if (at + 1 == m->h->n && pan(t, &sh->message, m->s, (page + 1) / 2, false)) {
            out->kind = INTENT_VIEW_QUERY;
        }
        place(t, m, at, g);
        t->cursor_s += m->h->col_s;
        return true;
    default:
        return false;
    }
}

static bool on_time(struct heat_state *t, struct ui_shared *sh, enum action act,
                    const struct map *m, struct intent *out)
{
    uint64_t page = m->n * m->h->col_s;
    switch (act) {
    case ACT_EARLIER:
    case ACT_PGUP:
    case ACT_LATER:
    case ACT_PGDN:
        if (page && pan(t, &sh->message, m->s, page, act == ACT_EARLIER || act == ACT_PGUP)) {
            out->kind = INTENT_VIEW_QUERY;
            t->has_cursor = false;
        }
        return true;
    case ACT_FINER:
    case ACT_COARSER:
        t->step -= act == ACT_FINER && t->step > 0;
        t->step += act == ACT_COARSER && t->step + 1 < STEPS;
        out->kind = INTENT_VIEW_QUERY;
        return true;
    default:
        return false;
    }
}

/* Why there is no slow call in the cell. */
static void say_why(struct ui_shared *sh, const struct snapshot *s, const struct snap_heat_col *k)
{
    char why[160], text[200];
    bool helps = slow_list_why_none(s, snapshot_wall_ns(s, k->from_s), snapshot_wall_ns(s, k->to_s),
                                    why, sizeof why);
    snprintf(text, sizeof text, "%s%s", why, helps && s->slow_ns ? " (s: the threshold)" : "");
    message_set(&sh->message, text, true);
}

static void to_slow(struct ui_shared *sh, const struct snapshot *s, const struct snap_heat_col *k,
                    struct screen_reply *out)
{
    uint64_t from = snapshot_wall_ns(s, k->from_s), to = snapshot_wall_ns(s, k->to_s);
    if (slow_list_filter_time(&sh->slow, s, from, to)) {
        out->open.to = SCREEN_SLOW;
    } else {
        say_why(sh, s, k);
    }
}

static bool on_cell(struct heat_state *t, struct ui_shared *sh, enum action act,
                    const struct map *m, struct screen_reply *out)
{
    if (act != ACT_OPEN && act != ACT_TAKE) {
        return false;
    }
    size_t at = cursor_col(t, m);
    if (at == SIZE_MAX) {
        return true;
    }
    const struct snap_heat_col *k = &m->h->col[holder(m->h, at)];
    if (act == ACT_OPEN) {
        to_slow(sh, m->s, k, out);
    } else if (k->known) {
        uint64_t now = m->s->time.now_s;
        time_range_set(&sh->time_range, k->from_s, k->to_s < now ? k->to_s : now);
        out->open.to = SCREEN_MAIN;
        out->intent.kind = INTENT_VIEW_QUERY;
    } else {
        message_set(&sh->message, "no history for that time", true);
    }
    return true;
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)key;
    struct heat_state *t = own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    if (act == ACT_NEXT_ROW || act == ACT_PREV_ROW) {
        if (s && rows_key(&sh->rows, act == ACT_NEXT_ROW ? ACT_DOWN : ACT_UP, s)) {
            out->intent.kind = INTENT_VIEW_QUERY;
        }
        return true;
    }
    if (act == ACT_THRESHOLD) {
        slow_list_ask_threshold(&sh->dialog, s);
        return true;
    }
    if (!r || !is_of(&s->heat, r)) {
        return false;
    }
    struct map m = map_of(s, grid_area(t->area));
    return move(t, sh, act, &m, &out->intent) || on_time(t, sh, act, &m, &out->intent) ||
           on_cell(t, sh, act, &m, out);
}

static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    struct heat_state *t = own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    if (!r || !is_of(&s->heat, r)) {
        return false;
    }
    struct map m = map_of(s, grid_area(t->area));
    int line = m.row + m.lines - 1 - row;
    if (col < m.col || (size_t)(col - m.col) >= m.n || line < 0 || line >= m.lines) {
        return false;
    }
    place(t, &m, m.first + (size_t)(col - m.col), m.low + (size_t)line);
    return true;
}

const struct screen_ops screen_heat = {
    .name = "heat map",
    .key = 'H',
    .context = CTX_HEAT,
    .on_request = true,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
