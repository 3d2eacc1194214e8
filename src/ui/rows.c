#include "rows.h"

#include <kprof/base/text.h>
#include <kprof/core/tier.h>
#include <string.h>

void rows_release(struct rows *rows)
{
    folds_release(&rows->folds[0]);
    folds_release(&rows->folds[1]);
}

void rows_view(const struct rows *rows, const struct snapshot *s, struct view *v)
{
    struct view_opts o = {
        .pivot = rows->pivot,
        .reverse = rows->reverse,
        .sort = rows->sort,
        .filter = rows->filter,
        .folds = &rows->folds[rows->pivot],
    };
    view_build(v, s, &o);
}

static void select_line(struct rows *rows, const struct view *v, size_t i)
{
    if (i < v->n) {
        rows->at.sel = i;
        const struct line *l = &v->lines[i];
        rows->key = l->key;
        for (int pivot = 0; pivot < 2; pivot++) {
            rows->groups[pivot] = l->row ? view_row_group(l->row, pivot) : l->group;
        }
        rows->has_key = true;
    }
}

/* The selected row may have moved, be folded, or have disappeared. Then the row at its position is
 * selected, and stays selected: with only a position, each refresh could select another row. Before
 * a key has selected a row, it is the first line. */
void rows_find_selection(struct rows *rows, const struct view *v)
{
    size_t i = rows->has_key ? view_find(v, rows->key) : v->n;
    for (size_t j = 0; rows->has_key && i == v->n && j < v->n; j++) {
        if (v->lines[j].head && v->lines[j].group == rows->groups[rows->pivot]) {
            i = j;
            break;
        }
    }
    if (i < v->n) {
        rows->at.sel = i;
    } else if (!rows->has_key) {
        rows->at.sel = 0;
    } else if (v->n) {
        select_line(rows, v, rows->at.sel < v->n ? rows->at.sel : v->n - 1);
    }
}

const struct snap_row *rows_selected(struct rows *rows, const struct snapshot *s)
{
    if (!s) {
        return NULL;
    }
    struct view v;
    rows_view(rows, s, &v);
    rows_find_selection(rows, &v);
    const struct snap_row *r = v.n ? v.lines[rows->at.sel].row : NULL;
    view_release(&v);
    return r;
}

bool rows_have_tier(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].tier != TIER_TOTAL) {
            return true;
        }
    }
    return false;
}

/* --- keys --- */

static void fold(struct rows *rows, uint64_t group)
{
    struct folds *f = &rows->folds[rows->pivot];
    f->by_hand = true;
    folds_flip(f, group);
}

/* Its line in the view; v->n: it is folded, or does not pass the filter. */
static size_t line_of(const struct rows *rows, const struct snapshot *s, const struct snap_row *r,
                      struct view *v)
{
    rows_view(rows, s, v);
    return view_find(v, view_row_key(r));
}

void rows_select(struct rows *rows, const struct snapshot *s, const struct snap_row *r)
{
    struct view v;
    size_t i = line_of(rows, s, r, &v);
    if (i == v.n && rows->filter[0]) {
        view_release(&v);
        rows->filter[0] = 0;
        i = line_of(rows, s, r, &v);
    }
    if (i == v.n) {
        view_release(&v);
        fold(rows, view_row_group(r, rows->pivot));
        i = line_of(rows, s, r, &v);
    }
    select_line(rows, &v, i);
    view_release(&v);
}

static size_t head_of(const struct view *v, size_t i)
{
    while (i > 0 && !v->lines[i].head) {
        i--;
    }
    return i;
}

/* Left and Right fold and unfold groups, as in file managers. */
static bool walk(struct rows *rows, const struct view *v, enum action act)
{
    const struct line *l = &v->lines[rows->at.sel];
    bool open = l->head && l->children && !l->folded;
    if (act == ACT_OPEN && l->head && l->children) {
        fold(rows, l->group);
    } else if (act == ACT_LEFT && open) {
        fold(rows, l->group);
    } else if ((act == ACT_LEFT || act == ACT_OPEN) && !l->head) {
        size_t head = head_of(v, rows->at.sel);
        select_line(rows, v, head);
        if (act == ACT_OPEN) {
            fold(rows, v->lines[head].group);
        }
    } else if (act == ACT_RIGHT && l->head && l->folded) {
        fold(rows, l->group);
    } else if (act == ACT_RIGHT && open && rows->at.sel + 1 < v->n) {
        select_line(rows, v, rows->at.sel + 1);
    } else {
        return false;
    }
    return true;
}

bool rows_key(struct rows *rows, enum action act, const struct snapshot *s)
{
    struct view v;
    bool taken = true;
    rows_view(rows, s, &v);
    rows_find_selection(rows, &v);
    if (v.n == 0) {
        taken = false;
    } else if (act == ACT_OPEN || act == ACT_LEFT || act == ACT_RIGHT) {
        taken = walk(rows, &v, act);
    } else if (scroll_key(&rows->at, act, v.n)) {
        select_line(rows, &v, rows->at.sel);
    } else {
        taken = false;
    }
    view_release(&v);
    return taken;
}

bool rows_can_fold(const struct rows *rows, const struct snapshot *s)
{
    struct view v;
    bool can = false;
    rows_view(rows, s, &v);
    for (size_t i = 0; i < v.n; i++) {
        can = can || v.lines[i].children > 0;
    }
    view_release(&v);
    return can;
}

void rows_fold_all(struct rows *rows)
{
    rows->folds[rows->pivot].by_hand = true;
    folds_flip_all(&rows->folds[rows->pivot]);
}

void rows_sort(struct rows *rows, int by)
{
    rows->reverse = rows->sort == by && !rows->reverse;
    rows->sort = by;
}

/* True: the column has values. A trend sorts as its value does. Only the menu and a click sort by
 * the parts. */
static bool sortable(int sort, const struct snapshot *s)
{
    if (sort < SORT_COLUMN) {
        return true;
    }
    const struct column *k = column_at((size_t)(sort - SORT_COLUMN));
    bool drawn = k->kind == COLUMN_TREND || k->kind == COLUMN_PARTS;
    return !drawn && column_has_values(k, s);
}

void rows_sort_step(struct rows *rows, int step, const struct snapshot *s)
{
    int n = SORT_COLUMN + (int)columns_n();
    do {
        rows->sort = (rows->sort + step + n) % n;
    } while (!sortable(rows->sort, s));
    rows->reverse = false;
}

/* --- drawing --- */

#define TITLE_REST 36 /* columns for what the screen adds */

int rows_title(struct canvas *c, struct rect a, const struct snap_row *r)
{
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int col = canvas_text(c, a.row, a.col, a.cols, STYLE_HEAD, r->tier_name);
    if (r->ident) {
        col += 1 + canvas_text(c, a.row, a.col + col + 1, a.cols - col - 1, STYLE_HEAD,
                               snapshot_name(r->ident));
    }
    const char *mfa = r->tier_mfa ? r->tier_mfa : "";
    if (mfa[0] && col + 2 + (int)text_width(mfa, strlen(mfa)) + TITLE_REST <= a.cols) {
        col += 2 + canvas_text(c, a.row, a.col + col + 2, a.cols - col - 2, STYLE_HEAD, mfa);
    }
    return col;
}
