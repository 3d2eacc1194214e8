/* The state of the table besides its rows: its columns. Core thread only. */
#ifndef UI_TABLE_STATE_H
#define UI_TABLE_STATE_H

#include "columns.h"

struct table_state {
    enum column_state columns[COLUMNS_MAX];
    struct column_set set; /* columns of the last draw */
    int title_row;         /* row of the titles in the last draw; -1: none */
    bool trends;           /* the last draw had columns with trends */
};

#endif
