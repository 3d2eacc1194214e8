/* The columns of the table: contents, width, and the order in which they are dropped when there is
 * no room.
 *
 * Invariant: a drawn value comes only from the row. Constant data; any thread. */
#ifndef UI_COLUMNS_H
#define UI_COLUMNS_H

#include <kprof/base/format.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>

#define COLUMNS_MAX 32

enum { SORT_ORDER, SORT_NAME, SORT_COLUMN /* + index of the column */ };

struct column {
    const char *title;
    int width;    /* without the blank before it */
    int priority; /* 1 is dropped last; 0: shown before the others, when it has values */
    enum {
        COLUMN_COUNT,
        COLUMN_RATE,
        COLUMN_TIME,
        COLUMN_SHARE,
        COLUMN_CHANGE,
        COLUMN_TREND,
        COLUMN_PARTS
    } kind;
    bool needs_trace; /* not valid while the breaker is open */
    size_t offset;    /* in struct snap_row */
    const char *help;
};

size_t columns_n(void);
const struct column *column_at(size_t i);
bool columns_measured(const struct snapshot *s); /* times in mailboxes are known */
/* False: without a reference, or without times in mailboxes, the column is empty. s: may be NULL */
bool column_has_values(const struct column *c, const struct snapshot *s);
/* COLUMN_PARTS: the share of the time in which the calls did not run. */
double column_value(const struct column *c, const struct snap_row *r);
/* COLUMN_TREND: returns the series that the column draws, SNAP_TREND values; NULL: not known. For
 * such a column, column_value returns the row's own value. */
const float *column_trend(const struct column *c, const struct snap_row *r);
#define COLUMN_TEXT_BYTES (FORMAT_BYTES + 1)
/* out: COLUMN_TEXT_BYTES. An estimated count begins with "~". */
void column_text(const struct column *c, const struct snap_row *r, char *out);

struct column_set {
    size_t n, index[COLUMNS_MAX]; /* from left to right */
    int name_cols;                /* columns left for the name */
};

/* The operator's choice for a column: none (it is shown if there is room), show, hide. */
enum column_state { COLUMN_AUTO, COLUMN_SHOW, COLUMN_HIDE };

struct column_choice {
    size_t sorted; /* index of the column that is always shown; SIZE_MAX: none */
    bool mailbox;  /* times in mailboxes are known */
    bool compared; /* there is a reference: changes against it are shown */
    bool parts;    /* a row has the parts of its time: they are shown */
    enum column_state state[COLUMNS_MAX];
};

/* Chooses the columns that fit `cols`, with name_cols for names: the sorted column, columns with
 * COLUMN_SHOW, changes against a reference and measured mailbox columns, then the others by
 * priority. */
void columns_choose(struct column_set *set, int cols, int name_cols, const struct column_choice *w);

#endif
