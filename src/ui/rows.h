/* The rows of the table as the operator has ordered, filtered and folded them, and the one that is
 * selected: the screens about one row show that one.
 *
 * Invariant: the selection is a row's key, not its place; when the row is folded away its head
 * stands for it, when the row is gone, the row that is now at its place is selected. Points into no
 * snapshot. Core thread only. */
#ifndef UI_ROWS_H
#define UI_ROWS_H

#include "columns.h"
#include "rect.h"
#include "scroll.h"
#include "view.h"

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>

struct rows {
    struct scroll at;
    uint64_t key, groups[2]; /* the selected row, its groups as tree and as pivot, */
    bool has_key;            /* if there is one */
    bool pivot, reverse;
    int sort; /* as in struct view_opts */
    char filter[128];
    struct folds folds[2]; /* tree, pivot */
};

void rows_release(struct rows *rows);
void rows_view(const struct rows *rows, const struct snapshot *s, struct view *v);
void rows_find_selection(struct rows *rows, const struct view *v);                 /* at.sel */
const struct snap_row *rows_selected(struct rows *rows, const struct snapshot *s); /* NULL: none */
bool rows_have_tier(const struct snapshot *s); /* beside _total */

/* Selects another row, or folds; false: the key means no such thing. */
bool rows_key(struct rows *rows, enum action act, const struct snapshot *s);
void rows_fold_all(struct rows *rows);
void rows_sort(struct rows *rows, int by); /* the same again: reversed */
/* By the next (1) or previous (-1) column that says something. compared: there is a mark. */
void rows_sort_step(struct rows *rows, int step, bool compared);

/* A title line for a screen about one row: its names, and its function where there is room; returns
 * the columns used. */
int rows_title(struct canvas *c, struct rect a, const struct snap_row *r);

#endif
