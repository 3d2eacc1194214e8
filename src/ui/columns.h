/* The columns of the table: what each shows, how wide, which go first when there is no room.
 *
 * Invariant: a value drawn comes from the row alone. Constant data; any thread. */
#ifndef UI_COLUMNS_H
#define UI_COLUMNS_H

#include <kprof/base/format.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>

#define COLUMNS_MAX 24

enum { SORT_ORDER, SORT_NAME, SORT_COLUMN /* + index of the column */ };

struct column {
    const char *title;
    int width;    /* without the blank before it */
    int priority; /* 1 is the last to go */
    enum { COLUMN_COUNT, COLUMN_RATE, COLUMN_TIME, COLUMN_SHARE, COLUMN_CHANGE, COLUMN_TREND } kind;
    bool needs_trace; /* worth nothing while the breaker is open */
    size_t offset;    /* in struct snap_row */
    const char *help;
};

size_t columns_n(void);
const struct column *column_at(size_t i);
double column_value(const struct column *c, const struct snap_row *r);
/* COLUMN_TREND: the series it draws, SNAP_TREND values; NULL: not known. column_value is the row's
 * own figure then. */
const float *column_trend(const struct column *c, const struct snap_row *r);
#define COLUMN_TEXT_BYTES (FORMAT_BYTES + 1)
/* out: COLUMN_TEXT_BYTES. A count that is scaled begins with "~". */
void column_text(const struct column *c, const struct snap_row *r, char *out);

struct column_set {
    size_t n, index[COLUMNS_MAX]; /* from left to right */
    int name_cols;                /* what is left for the name */
};

/* What the operator said of a column: nothing (it shows when there is room), show it, hide it. */
enum column_state { COLUMN_AUTO, COLUMN_SHOW, COLUMN_HIDE };

struct column_choice {
    size_t sorted; /* an index, or SIZE_MAX: kept whatever else */
    bool compared; /* there is a mark: changes against it are shown */
    enum column_state state[COLUMNS_MAX];
};

/* The columns that fit `cols`, names needing name_cols: the sorted one, those to be shown, changes
 * against a mark, then the others by their priority. */
void columns_choose(struct column_set *set, int cols, int name_cols, const struct column_choice *w);

#endif
