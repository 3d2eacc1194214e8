#include "table.h"
#include "part_bar.h"
#include "shared.h"
#include "spark.h"
#include "table_keys.h"
#include "table_state.h"

#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Highlights, the only bold values: in each column of times or shares, the tier with the highest
 * value, and the identity with the highest value of any tier. _total is not a tier. If all are
 * equal, or there is only one, none is highlighted. */
struct peak {
    double top, least;
};

struct peaks {
    struct peak head[COLUMNS_MAX], leaf[COLUMNS_MAX], whole[COLUMNS_MAX]; /* whole: of _total */
};

static struct peak *peak(struct peaks *p, const struct line *l, size_t j)
{
    return l->head ? &p->head[j] : l->pinned ? &p->whole[j] : &p->leaf[j];
}

struct painter {
    struct canvas *c;
    struct column_set set;
    struct peaks peaks;
    bool has_gap; /* part of the window was not traced; columns that need tracing are marked ~ */
};

static void find_peaks(struct peaks *p, const struct column_set *set, const struct view *v)
{
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < v->n; i++) {
        const struct line *l = &v->lines[i];
        bool total = l->head && l->pinned;
        for (size_t j = 0; l->row && !total && j < set->n; j++) {
            const struct column *k = column_at(set->index[j]);
            if (k->kind != COLUMN_TIME && k->kind != COLUMN_SHARE) {
                continue;
            }
            double x = column_value(k, l->row);
            struct peak *of = peak(p, l, j);
            if (x > 0) {
                of->least = of->top == 0 || x < of->least ? x : of->least;
                of->top = x > of->top ? x : of->top;
            }
        }
    }
}

static const char *sort_mark(bool ascii, bool up)
{
    return ascii ? (up ? "<" : ">") : (up ? "\xe2\x96\xb2" : "\xe2\x96\xbc");
}

static void draw_titles(const struct rows *rows, struct painter *p, int row, int col,
                        const struct view *v)
{
    struct canvas *c = p->c;
    char title[64];
    const char *what = rows->pivot ? "IDENTITY" : "TIER";
    canvas_fill(c, row, col, c->cols - col, STYLE_HEAD, ' ');
    const char *mark =
        rows->sort == SORT_NAME || rows->reverse ? sort_mark(c->ascii, !rows->reverse) : "";
    if (rows->sort >= SORT_COLUMN) {
        mark = "";
    }
    if (v->n > rows->at.page) {
        snprintf(title, sizeof title, "%s%s %zu/%zu", what, mark, rows->at.sel + 1, v->n);
    } else {
        snprintf(title, sizeof title, "%s%s", what, mark);
    }
    canvas_text(c, row, col, p->set.name_cols, STYLE_HEAD, title);
    col += p->set.name_cols;
    for (size_t i = 0; i < p->set.n; i++) {
        const struct column *k = column_at(p->set.index[i]);
        bool sorted = rows->sort == SORT_COLUMN + (int)p->set.index[i];
        bool stale = p->has_gap && k->needs_trace;
        snprintf(title, sizeof title, "%s%s%s", stale ? "~" : "", k->title,
                 sorted ? sort_mark(c->ascii, rows->reverse) : "");
        enum style st = sorted ? STYLE_SELECT : STYLE_HEAD;
        if (sorted) {
            canvas_fill(c, row, col, k->width + 1, st, ' ');
        }
        canvas_right(c, row, col, k->width + 1, st, title);
        col += k->width + 1;
    }
}

/* A change of more than a tenth is colored; slower is bad, more calls are neither good nor bad. A
 * quantile of a few calls is not significant. */
static enum style change_style(const struct column *k, const struct snap_row *r, double part)
{
    bool rate = k->offset == offsetof(struct snap_row, d_rate);
    uint64_t least = rate ? 1 : k->offset == offsetof(struct snap_row, d_p99) ? 200 : 20;
    if (r->count < least || r->then_count < least || !(part > 0.1 || part < -0.1)) {
        return STYLE_DIM;
    }
    return rate ? STYLE_NORMAL : part > 0 ? STYLE_BAD : STYLE_GOOD;
}

static enum style cell_style(struct painter *p, const struct line *l, size_t j)
{
    const struct column *k = column_at(p->set.index[j]);
    double x = column_value(k, l->row);
    if (l->row->former || (p->has_gap && k->needs_trace)) {
        return STYLE_DIM;
    }
    if (k->offset == offsetof(struct snap_row, errors)) {
        return x > 0 ? STYLE_WARN : STYLE_DIM;
    }
    bool rate = k->kind == COLUMN_RATE && l->row->counted > 0;
    if (l->row->count == 0 && !rate) {
        return STYLE_DIM;
    }
    if (k->kind == COLUMN_CHANGE) {
        return change_style(k, l->row, x);
    }
    bool total = l->head && l->pinned;
    const struct peak *of = peak(&p->peaks, l, j);
    bool slowest = x >= of->top && of->top > of->least;
    if ((k->kind == COLUMN_TIME || k->kind == COLUMN_SHARE) && !total && x > 0 && slowest) {
        return STYLE_BOLD;
    }
    return STYLE_NORMAL;
}

static void draw_trend(struct painter *p, int row, int col, const struct column *k,
                       const struct snap_row *r)
{
    const float *v = column_trend(k, r);
    bool rate = k->offset == offsetof(struct snap_row, rate);
    if (v) {
        spark_draw(p->c, row, col, k->width, rate ? STYLE_NORMAL : STYLE_GOOD, v, SNAP_TREND,
                   rate ? SPARK_MEAN : SPARK_MAX);
    }
}

static void draw_parts(struct painter *p, int row, int col, const struct snap_row *r)
{
    for (size_t j = 0; r && j < p->set.n; j++) {
        const struct column *k = column_at(p->set.index[j]);
        if (k->kind == COLUMN_PARTS && r->parts) {
            part_bar_shares(p->c, row, col + 1, k->width, r->parts->share);
        }
        col += k->width + 1;
    }
}

static void draw_cells(struct painter *p, int row, int col, const struct line *l)
{
    for (size_t j = 0; j < p->set.n; j++) {
        const struct column *k = column_at(p->set.index[j]);
        char text[COLUMN_TEXT_BYTES + 1] = "~";
        bool stale = p->has_gap && k->needs_trace;
        if (k->kind == COLUMN_TREND) {
            draw_trend(p, row, col + 1, k, l->row);
            col += k->width + 1;
            continue;
        }
        column_text(k, l->row, text + stale);
        if (stale && text[1] == '-') {
            strcpy(text, "-");
        }
        canvas_right(p->c, row, col, k->width + 1, cell_style(p, l, j), text);
        col += k->width + 1;
    }
}

/* A name that only a former rule gave is drawn dim. */
static enum style name_style(const struct line *l)
{
    return l->row && l->row->former ? STYLE_DIM : STYLE_NORMAL;
}

static void draw_name(struct painter *p, int row, int col, const struct line *l)
{
    bool ascii = p->c->ascii;
    int cols = p->set.name_cols, indent = l->head ? 2 : 4;
    if (l->head && l->children) {
        const char *open = ascii ? "-" : "\xe2\x96\xbe", *shut = ascii ? "+" : "\xe2\x96\xb8";
        canvas_text(p->c, row, col, 1, STYLE_DIM, l->folded ? shut : open);
    }
    canvas_name(p->c, row, col + indent, cols - indent, name_style(l),
                l->label[0] ? l->label : "\"\"");
}

static void draw_line(struct painter *p, int row, int col, const struct line *l, bool selected,
                      bool focus)
{
    struct canvas *c = p->c;
    draw_name(p, row, col, l);
    int right = col + p->set.name_cols;
    const struct snap_row *r = l->row;
    bool empty = r && r->count == 0 && r->counted == 0;
    if (empty && r->note) {
        canvas_text(c, row, right + 1, c->cols - right - 1, STYLE_WARN, r->note);
    } else if (empty && r->oldest_open_us > 0) {
        char age[FORMAT_BYTES];
        format_us(r->oldest_open_us, age);
        canvas_textf(c, row, right + 1, c->cols - right - 1, STYLE_WARN,
                     "no call has ended yet; the oldest has been open for %s", age);
    } else if (l->row) {
        draw_cells(p, row, right, l);
    }
    if (selected && focus) {
        canvas_style(c, row, col, c->cols - col, STYLE_SELECT);
    }
    if (!empty) {
        draw_parts(p, row, right, r); /* keeps its colors in the selected line */
    }
}

/* --- the screen --- */

/* Until the operator folds a row: if not all rows fit, every tier is shown, and the identities of
 * only the total. */
static void fold_by_itself(struct rows *rows, const struct snapshot *s, struct view *v,
                           size_t lines)
{
    struct folds *f = &rows->folds[rows->pivot];
    if (f->by_hand || rows->filter[0] || v->n == 0) {
        return;
    }
    bool fits = v->unfolded <= lines;
    uint64_t first = v->lines[0].group;
    size_t children = v->lines[0].children, heads = 0;
    for (size_t i = 0; i < v->n; i++) {
        heads += v->lines[i].head;
    }
    bool open_first = v->lines[0].pinned && heads + children <= lines;
    folds_only(f, !fits, !fits && open_first ? &first : NULL);
    view_release(v);
    rows_view(rows, s, v);
}

/* While paused, the state of the breaker is the present one: it may have opened after the pause. */
static bool has_gap(const struct ui_shared *sh, const struct snapshot *s)
{
    bool open = s->breaker.state == BREAKER_OPEN;
    return s->counted_s > 0 || (open && (!sh->time_range.paused || s->gap_s > 0));
}

static void draw_table(struct table_state *t, struct ui_shared *sh, struct canvas *c, struct rect a,
                       const struct snapshot *s)
{
    struct rows *rows = &sh->rows;
    bool titles = a.rows > 1;
    int lines = a.rows - titles > 0 ? a.rows - titles : 0;
    struct view v;
    rows_view(rows, s, &v);
    fold_by_itself(rows, s, &v, (size_t)lines);
    rows_find_selection(rows, &v);
    struct painter p = {.c = c, .has_gap = has_gap(sh, s)};
    struct column_choice choice = {.compared = s->compared[0] != 0, .mailbox = columns_measured(s)};
    for (size_t i = 0; i < s->n_rows; i++) {
        choice.parts |= s->rows[i].parts != NULL;
    }
    choice.sorted = rows->sort < SORT_COLUMN ? SIZE_MAX : (size_t)(rows->sort - SORT_COLUMN);
    memcpy(choice.state, t->columns, sizeof choice.state);
    columns_choose(&p.set, a.cols, v.widest < 300 ? (int)v.widest : 300, &choice);
    t->trends = false;
    for (size_t i = 0; i < p.set.n; i++) {
        t->trends |= column_at(p.set.index[i])->kind == COLUMN_TREND;
    }
    find_peaks(&p.peaks, &p.set, &v);
    scroll_fit(&rows->at, v.n, (size_t)lines);
    rows->at.row = a.row + titles;
    t->set = p.set;
    t->title_row = titles ? a.row : -1;
    if (titles) {
        draw_titles(rows, &p, a.row, a.col, &v);
    }
    for (int i = 0; i < lines && rows->at.top + (size_t)i < v.n; i++) {
        size_t at = rows->at.top + (size_t)i;
        draw_line(&p, a.row + titles + i, a.col, &v.lines[at], at == rows->at.sel,
                  !sh->slow.pane_focus);
    }
    if (v.n == 0) {
        canvas_text(c, a.row + titles, a.col + 2, a.cols - 2, STYLE_DIM,
                    "no name matches the filter; Esc clears it");
    }
    view_release(&v);
}

static int slow_rows(const struct snapshot *s, int rows)
{
    int most = rows >= 34 ? 11 : rows >= 24 ? 7 : rows >= 17 ? 5 : rows >= 12 ? 3 : 0;
    int all = (int)(s->n_slow < 20 ? s->n_slow : 20) + 1;
    return s->n_slow == 0 ? 0 : all < most ? all : most;
}

static void draw_pane(struct ui_shared *sh, struct canvas *c, struct rect a,
                      const struct snapshot *s)
{
    /* Without the focus: the newest is selected, whatever was selected on the screen of slow
     * requests. */
    if (!sh->slow.pane_focus) {
        sh->slow.seq = 0;
        sh->slow.at.sel = sh->slow.at.top = 0;
    }
    struct slow_picks p = slow_list_pick(&sh->slow, s);
    slow_list_draw(&sh->slow, c, a, s, &p, sh->slow.pane_focus);
    free(p.at);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    if (!s) {
        return;
    }
    if (!rows_have_tier(s)) {
        sh->slow.pane_focus = false;
        start_draw(&sh->start, c, a);
        return;
    }
    int below = slow_rows(s, a.rows);
    sh->slow.pane_focus = sh->slow.pane_focus && below > 0;
    struct rect top = a, bottom = a;
    top.rows -= below;
    bottom.row += top.rows;
    bottom.rows = below;
    draw_table(own, sh, c, top, s);
    sh->slow.at.row = 0;
    if (below) {
        draw_pane(sh, c, bottom, s);
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)key;
    return table_keys(own, sh, act, s, out);
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)own;
    return sh->slow.pane_focus ? &sh->slow.at : &sh->rows.at;
}

/* A click on a title sorts; a click in a list gives it the focus. */
static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    const struct table_state *t = own;
    struct rows *rows = &sh->rows;
    bool slow = scroll_line_at(&sh->slow.at, row) != SIZE_MAX;
    if (slow || scroll_line_at(&rows->at, row) != SIZE_MAX) {
        sh->slow.pane_focus = slow && s && s->n_slow;
        return false;
    }
    if (row != t->title_row) {
        return false;
    }
    int left = t->set.name_cols;
    if (col < left) {
        rows_sort(rows, rows->sort == SORT_NAME ? SORT_ORDER : SORT_NAME);
        return true;
    }
    for (size_t i = 0; i < t->set.n; i++) {
        int width = column_at(t->set.index[i])->width + 1;
        if (col >= left && col < left + width) {
            rows_sort(rows, SORT_COLUMN + (int)t->set.index[i]);
            return true;
        }
        left += width;
    }
    return false;
}

const struct screen_ops screen_table = {
    .name = "table",
    .context = CTX_TABLE,
    .draw = draw,
    .on_key = on_key,
    .list = list,
    .on_click = on_click,
};
