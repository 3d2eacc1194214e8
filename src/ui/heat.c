/* The latency heat map: time to the right, duration upwards, how many calls by shade. */
#include <inttypes.h>
#include <kprof/base/scale.h>
#include <kprof/ui/format.h>
#include <kprof/ui/state.h>
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

void heat_view_query(const struct ui *u, struct view_query *l)
{
    int cols = (u->cols ? u->cols : 80) - LABEL;
    l->heat_cols = cols > 0 ? (uint32_t)cols : 1;
    l->heat_col_s = steps[u->heat.step];
    l->heat_end_s = u->heat.end_s ? u->heat.end_s : l->end_s;
    if (!u->paused && !u->heat.end_s) {
        l->heat_end_s = 0;
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
    double span = (double)(k->to_s - k->from_s) / m->h->col_s;
    return span > 1 ? (double)count / span : (double)count;
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
static size_t cursor_col(const struct ui *u, const struct map *m)
{
    const struct snap_heat *h = m->h;
    if (m->n == 0) {
        return SIZE_MAX;
    }
    if (!u->heat.has_cursor || u->heat.cursor_s >= h->from_s + h->n * h->col_s) {
        return h->n - 1;
    }
    uint64_t i = u->heat.cursor_s > h->from_s ? (u->heat.cursor_s - h->from_s) / h->col_s : 0;
    return i < m->first ? m->first : (size_t)i;
}

/* Group of the cursor: until it is moved, where most of the column's calls are. */
static size_t cursor_group(const struct ui *u, const struct map *m, size_t col)
{
    size_t best = m->low, top = m->low + (size_t)(m->lines > 0 ? m->lines - 1 : 0);
    if (u->heat.has_cursor) {
        size_t g = bins_group(u->heat.cursor_bin, m->per);
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
static bool blind(const struct snap_heat_col *k)
{
    double span = (double)(k->to_s - k->from_s);
    return !k->inside && (!k->known || (k->count == 0 && k->gap_s > span / 2));
}

static void draw_grid(const struct ui *u, struct canvas *c, const struct map *m, int left)
{
    double top = most(m);
    size_t at = cursor_col(u, m), highest = bins_group(m->h->low + m->h->n_bins, m->per);
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
            if (blind(k)) {
                canvas_text(c, row, col, 1, k->known ? STYLE_WARN : STYLE_DIM, "/");
                continue;
            }
            size_t of = m->first + i;
            draw_cell(m, c, row, col, density(m, of, cell(m, of, g)), top);
        }
        if (at != SIZE_MAX && g == cursor_group(u, m, at)) {
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

/* Clock times below; = marks the moment that the other screens show. */
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
    int col = table_row_title(c, a, r);
    canvas_textf(c, a.row, a.col + col + 2, a.cols - col - 2, STYLE_HEAD, "%s-%s  %us per column",
                 from, to, (unsigned)m->h->col_s);
}

static void draw_info(const struct ui *u, struct canvas *c, struct rect a, const struct map *m)
{
    size_t at = cursor_col(u, m);
    if (at == SIZE_MAX) {
        canvas_text(c, a.row, a.col, a.cols, STYLE_DIM, "no data yet");
        return;
    }
    const struct snap_heat_col *k = &m->h->col[holder(m->h, at)];
    char from[FORMAT_BYTES], to[FORMAT_BYTES], low[FORMAT_BYTES], high[FORMAT_BYTES];
    char count[FORMAT_BYTES], all[FORMAT_BYTES];
    size_t g = cursor_group(u, m, at);
    time_range_clock(m->s, k->from_s, from);
    time_range_clock(m->s, k->to_s, to);
    bins_mark(g, m->per, low);
    bins_mark(g + 1, m->per, high);
    format_count(cell(m, at, g), count);
    format_count(k->count, all);
    if (!k->known) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN, "no history for %s-%s", from, to);
    } else if (blind(k)) {
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

static void draw(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s)
{
    const struct snap_row *r = table_selected(u, s);
    u->heat.area = a;
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
    draw_grid(u, c, &m, a.col);
    int below = a.row + a.rows - g.row - g.rows;
    line.row = a.row + a.rows - 1;
    if (below == 3) {
        draw_errors(c, &m, g.row + g.rows, a.col);
        draw_axis(c, &m, g.row + g.rows + 1);
    }
    if (below) {
        draw_info(u, c, line, &m);
    }
}

/* --- keys --- */

static void place(struct ui *u, const struct map *m, size_t col, size_t group)
{
    u->heat.has_cursor = true;
    u->heat.cursor_s = m->h->from_s + col * m->h->col_s;
    u->heat.cursor_bin = bins_first(group, m->per);
}

/* The map's end, moved by some seconds. False: it cannot. */
static bool pan(struct ui *u, const struct snapshot *s, uint64_t by_s, bool back)
{
    uint64_t end = u->heat.end_s ? u->heat.end_s : s->time.now_s;
    if (back && end <= s->time.oldest_s + by_s) {
        ui_message(u, "no earlier history", true);
        return false;
    }
    if (!back && !u->heat.end_s) {
        return false;
    }
    end = back ? end - by_s : end + by_s;
    u->heat.end_s = end < s->time.now_s ? end : 0;
    return true;
}

static bool move(struct ui *u, enum action act, const struct map *m, struct intent *out)
{
    size_t at = cursor_col(u, m), top = m->low + (size_t)(m->lines > 0 ? m->lines - 1 : 0);
    if (at == SIZE_MAX) {
        return true;
    }
    size_t g = cursor_group(u, m, at);
    uint64_t page = m->n * m->h->col_s;
    switch (act) {
    case ACT_UP:
        place(u, m, at, g < top ? g + 1 : g);
        return true;
    case ACT_DOWN:
        place(u, m, at, g > m->low ? g - 1 : g);
        return true;
    case ACT_HOME:
        place(u, m, m->first, g);
        return true;
    case ACT_END:
        u->heat.has_cursor = false;
        return true;
    case ACT_LEFT:
        if (at == m->first && pan(u, m->s, (page + 1) / 2, true)) {
            out->kind = INTENT_LOOK;
        }
        place(u, m, at, g);
        u->heat.cursor_s -= u->heat.cursor_s >= m->h->col_s ? m->h->col_s : 0;
        return true;
    case ACT_RIGHT:
        if (at + 1 == m->h->n && pan(u, m->s, (page + 1) / 2, false)) {
            out->kind = INTENT_LOOK;
        }
        place(u, m, at, g);
        u->heat.cursor_s += m->h->col_s;
        return true;
    default:
        return false;
    }
}

static bool on_time(struct ui *u, enum action act, const struct map *m, struct intent *out)
{
    uint64_t page = m->n * m->h->col_s;
    switch (act) {
    case ACT_EARLIER:
    case ACT_PGUP:
    case ACT_LATER:
    case ACT_PGDN:
        if (page && pan(u, m->s, page, act == ACT_EARLIER || act == ACT_PGUP)) {
            out->kind = INTENT_LOOK;
            u->heat.has_cursor = false;
        }
        return true;
    case ACT_NOW:
        u->heat.end_s = 0;
        u->heat.has_cursor = false;
        return false; /* the moment as well */
    case ACT_FINER:
    case ACT_COARSER:
        u->heat.step -= act == ACT_FINER && u->heat.step > 0;
        u->heat.step += act == ACT_COARSER && u->heat.step + 1 < STEPS;
        out->kind = INTENT_LOOK;
        return true;
    default:
        return false;
    }
}

/* Why there is no slow call in the cell. */
static void say_why(struct ui *u, const struct snapshot *s, const struct snap_heat_col *k)
{
    char why[160], text[200];
    bool helps = slow_why_none(s, snapshot_wall_ns(s, k->from_s), snapshot_wall_ns(s, k->to_s), why,
                               sizeof why);
    snprintf(text, sizeof text, "%s%s", why,
             !helps        ? ""
             : !s->slow_ns ? ": s sets a threshold"
                           : " (s: the threshold)");
    ui_message(u, text, true);
}

static void to_slow(struct ui *u, const struct snapshot *s, const struct snap_heat_col *k)
{
    struct slow_filter f = {.from_ns = snapshot_wall_ns(s, k->from_s),
                            .to_ns = snapshot_wall_ns(s, k->to_s)};
    for (size_t i = 0; i < s->n_slow; i++) {
        if (slow_matches(&f, &s->slow[i])) {
            u->slow.filter = f;
            u->slow.seq = 0;
            u->screen = &screen_slow;
            return;
        }
    }
    say_why(u, s, k);
}

static bool on_cell(struct ui *u, enum action act, const struct map *m, struct intent *out)
{
    if (act != ACT_OPEN && act != ACT_TAKE) {
        return false;
    }
    size_t at = cursor_col(u, m);
    if (at == SIZE_MAX) {
        return true;
    }
    const struct snap_heat_col *k = &m->h->col[holder(m->h, at)];
    if (act == ACT_OPEN) {
        to_slow(u, m->s, k);
    } else if (k->known) {
        uint64_t now = m->s->time.now_s;
        time_range_set(u, k->from_s, k->to_s < now ? k->to_s : now);
        u->screen = screen_main();
        out->kind = INTENT_LOOK;
    } else {
        ui_message(u, "no history for that time", true);
    }
    return true;
}

static bool on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                   struct intent *out)
{
    (void)key;
    const struct snap_row *r = table_selected(u, s);
    if (act == ACT_NEXT_ROW || act == ACT_PREV_ROW) {
        if (s && table_move(u, act == ACT_NEXT_ROW ? ACT_DOWN : ACT_UP, s)) {
            out->kind = INTENT_LOOK;
        }
        return true;
    }
    if (act == ACT_THRESHOLD) {
        slow_ask_threshold(u, s);
        return true;
    }
    if (!r || !is_of(&s->heat, r)) {
        return false;
    }
    struct map m = map_of(s, grid_area(u->heat.area));
    return move(u, act, &m, out) || on_time(u, act, &m, out) || on_cell(u, act, &m, out);
}

static bool on_click(struct ui *u, int row, int col, const struct snapshot *s)
{
    const struct snap_row *r = table_selected(u, s);
    if (!r || !is_of(&s->heat, r)) {
        return false;
    }
    struct map m = map_of(s, grid_area(u->heat.area));
    int line = m.row + m.lines - 1 - row;
    if (col < m.col || (size_t)(col - m.col) >= m.n || line < 0 || line >= m.lines) {
        return false;
    }
    place(u, &m, m.first + (size_t)(col - m.col), m.low + (size_t)line);
    return true;
}

const struct screen_ops screen_heat = {
    .name = "heat map",
    .key = 'H',
    .context = CTX_HEAT,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
