/* What the table remembers beside its rows: its columns. Core thread only. */
#ifndef UI_TABLE_STATE_H
#define UI_TABLE_STATE_H

#include "columns.h"

struct table_state {
    enum column_state columns[COLUMNS_MAX];
    struct column_set set; /* of the last picture, */
    int title_row;         /* its titles; -1: none */
    bool trends;           /* the last picture had columns of them */
};

#endif
