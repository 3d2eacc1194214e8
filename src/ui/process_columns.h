/* The columns of the process table: which of them fit, their titles, their cells. Pure; constant
 * data. */
#ifndef UI_PROCESS_COLUMNS_H
#define UI_PROCESS_COLUMNS_H

#include <kprof/base/format.h>
#include <kprof/core/process_table.h>
#include <stdbool.h>

enum process_column {               /* from left to right, after the name */
                      PC_PROCESSES, /* of a group */
                      PC_REDUCTIONS,
                      PC_MEMORY,
                      PC_QUEUE,
                      PC_GROWTH,
                      PC_BINARY,
                      PC_GCS,
                      PC_RUN,
                      PC_PID,
                      PC_APPLICATION,
                      PC_CURRENT,
                      PC_COLUMNS
};

struct process_columns {
    int name;              /* columns of the name */
    int width[PC_COLUMNS]; /* 0: not shown */
};

enum { PROCESS_CELL_BYTES = 64 };

/* sort: as in struct process_query; its column is always shown. */
void process_columns_choose(struct process_columns *k, int cols, bool groups, unsigned sort);
const char *process_column_title(enum process_column c);
const char *process_column_help(enum process_column c);
bool process_column_is_text(enum process_column c); /* left-aligned */
/* The sort that a click on the title chooses; PROCESS_SORTS: none. */
unsigned process_column_sort(enum process_column c);
/* The column of a sort; PC_COLUMNS: the name. */
enum process_column process_column_of_sort(unsigned sort);
/* Returns the text of a cell; it is in out, or in the row. */
const char *process_cell(enum process_column c, const struct process_row *r,
                         char out[PROCESS_CELL_BYTES]);

#endif
