/* The figures of a row, once: name, place in struct snap_row and form for each format. That the
 * formats agree comes from here. Pure; any thread. */
#ifndef KPROF_EXPORT_COLUMNS_H
#define KPROF_EXPORT_COLUMNS_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_kind {
    COLUMN_COUNT, /* uint64_t */
    COLUMN_RATE,  /* a second: 3 decimals, in text 1 */
    COLUMN_US,    /* microseconds: 3 decimals, in text 1 */
    COLUMN_SHARE  /* 0..1: 4 decimals; in text per cent, 2 */
};

struct column {
    const char *key;   /* JSON and CSV (DESIGN section 6) */
    const char *title; /* text */
    enum column_kind kind;
    size_t offset; /* in struct snap_row */
};

#define COLUMNS           19
#define COLUMN_CELL_BYTES 64

extern const struct column columns[COLUMNS];

uint64_t column_count(const struct column *c, const struct snap_row *r); /* COLUMN_COUNT only */
double column_value(const struct column *c, const struct snap_row *r);   /* the others */
int column_decimals(const struct column *c);
/* The cell for CSV; "" for what is no number. */
void column_plain(const struct column *c, const struct snap_row *r, char cell[COLUMN_CELL_BYTES]);
/* The cell for people; "-" for what is no number, and for times of a row without calls. */
void column_text(const struct column *c, const struct snap_row *r, char cell[COLUMN_CELL_BYTES]);

/* "<0.ID.SERIAL>" */
void column_pid(uint64_t pid, char cell[COLUMN_CELL_BYTES]);

#endif
