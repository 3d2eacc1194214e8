/* The table of the values of a row: name, offset in struct snap_row, and form for each format. All
 * formats use this table, so they agree. Pure; any thread. */
#ifndef KPROF_EXPORT_FIELD_H
#define KPROF_EXPORT_FIELD_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
    FIELD_COUNT, /* uint64_t */
    FIELD_RATE,  /* per second: 3 decimals, in text 1 */
    FIELD_US,    /* microseconds: 3 decimals, in text 1 */
    FIELD_SHARE  /* 0..1: 4 decimals; in text per cent, 2 */
};

struct field {
    const char *key;   /* JSON and CSV (kprof.1, OUTPUT) */
    const char *title; /* text */
    enum field_kind kind;
    size_t offset; /* in struct snap_row */
};

#define FIELDS           29
#define FIELD_CELL_BYTES 64

extern const struct field fields[FIELDS];

uint64_t field_count(const struct field *c, const struct snap_row *r); /* FIELD_COUNT only */
double field_value(const struct field *c, const struct snap_row *r);   /* all other kinds */
/* True: the field is about the time in mailboxes, which text contains only if it was measured. */
bool field_is_of_mailbox(const struct field *c);
int field_decimals(const struct field *c);
/* Writes the cell for CSV; "" if the value is not a number. */
void field_plain(const struct field *c, const struct snap_row *r, char cell[FIELD_CELL_BYTES]);
/* Writes the cell for text; "-" if the value is not a number, for times and shares of a row without
 * calls, and for oldest_open_us (also shown without calls) if no call is open. */
void field_text(const struct field *c, const struct snap_row *r, char cell[FIELD_CELL_BYTES]);

#endif
