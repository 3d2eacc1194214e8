/* The state of the screen of processes. Core thread only. */
#ifndef UI_PROCESS_STATE_H
#define UI_PROCESS_STATE_H

#include "process_columns.h"
#include "scroll.h"

#include <kprof/core/process_table.h>

struct process_state {
    struct process_table *table; /* owned; NULL: none has come */
    char why[200];               /* why there is none, or no newer one; "": no reason */
    struct process_query query;  /* as it is shown; sort, at first: PROCESS_REDUCTIONS */
    enum process_value by;       /* the order of the node */
    enum process_group within;   /* only processes of this group are shown */
    char within_name[PROCESS_NAME_BYTES];
    struct scroll at;
    bool selected; /* false: always the first line */
    bool lost;     /* the selected one is not in the list; at.sel is a position only */
    uint64_t pid;  /* the selected process; 0: a group, by its name, or the rest of them */
    bool rest;
    char group[PROCESS_NAME_BYTES];
    uint64_t stack; /* pid of the process that is shown below; 0: none */
    bool dead, asked;
    char lines[4096];               /* of its stack */
    struct process_columns columns; /* of the last draw */
    int title_row;
};

#endif
