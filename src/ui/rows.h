/* The rows of the table as the operator has ordered, filtered and folded them, and the selected
 * row. Screens about one row show the selected row.
 *
 * Invariant: the selection is a row's key, not its position. While the row is folded, its head is
 * shown as selected. When the row has disappeared, the row at its position becomes the selected
 * one; while there is no row at all, the selection stays as it is. Nothing here points into a
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
    uint64_t key, groups[2]; /* the selected row, and its groups as tree and as pivot */
    bool has_key;            /* true: a row is selected */
    bool pivot, reverse;
    int sort; /* as in struct view_opts */
    char filter[128];
    struct folds folds[2]; /* tree, pivot */
};

void rows_release(struct rows *rows);
void rows_view(const struct rows *rows, const struct snapshot *s, struct view *v);
void rows_find_selection(struct rows *rows, const struct view *v);                 /* at.sel */
const struct snap_row *rows_selected(struct rows *rows, const struct snapshot *s); /* NULL: none */
/* Selects a row of s; unfolds its group, and drops a filter that hides it. */
void rows_select(struct rows *rows, const struct snapshot *s, const struct snap_row *r);
bool rows_have_tier(const struct snapshot *s); /* a tier other than _total */

/* Selects another row, or folds; false: the key does neither. */
bool rows_key(struct rows *rows, enum action act, const struct snapshot *s);
bool rows_can_fold(const struct rows *rows, const struct snapshot *s); /* a row has others below */
void rows_fold_all(struct rows *rows);
void rows_sort(struct rows *rows, int by); /* the same column again reverses the order */
/* Sorts by the next (1) or previous (-1) column that has values in s. */
void rows_sort_step(struct rows *rows, int step, const struct snapshot *s);

/* Draws the title line of a screen about one row: the names of the row, and its function if there
 * is room. Returns the columns used. */
int rows_title(struct canvas *c, struct rect a, const struct snap_row *r);

#endif
