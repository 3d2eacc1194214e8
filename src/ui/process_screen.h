/* The screen of the node's processes: the table as the node ranks it, or sums by first call or
 * application; under it, on request, the selected process with its open calls and its stack.
 *
 * Invariant: the selected process or group stays selected while its place changes. The state owns
 * the table. Core thread only. */
#ifndef UI_PROCESS_SCREEN_H
#define UI_PROCESS_SCREEN_H

#include "process_columns.h"
#include "screen.h"
#include "scroll.h"

#include <kprof/core/process_table.h>

struct process_state {
    struct process_table *table; /* owned; NULL: none has come */
    char why[200];               /* why there is none, or no newer one; "" */
    struct process_query query;  /* as it is shown; sort, at first: PROCESS_REDUCTIONS */
    enum process_value by;       /* the order of the node */
    enum process_group within;   /* only processes of this group are shown */
    char within_name[PROCESS_NAME_BYTES];
    struct scroll at;
    bool selected; /* false: always the first line */
    uint64_t pid;  /* the selected process; 0: a group, by its name, or the rest of them */
    bool rest;
    char group[PROCESS_NAME_BYTES];
    uint64_t stack; /* pid of the process that is shown below; 0: none */
    bool dead, asked;
    char lines[4096];               /* of its stack */
    struct process_columns columns; /* of the last draw */
    int title_row;
};

extern const struct screen_ops screen_processes;

void process_screen_release(struct process_state *t);
/* Takes over table, or NULL: why says why there is none. */
void process_screen_set(struct process_state *t, struct process_table *table, const char *why);
/* A stack of another pid than the last requested one is dropped. */
void process_screen_set_stack(struct process_state *t, uint64_t pid, const char *lines, bool dead);
/* What the node is to be asked for. */
void process_screen_order(const struct process_state *t, struct process_order *o);
/* An item of the menu of columns was picked. */
void process_screen_sort(struct process_state *t, size_t item);

#endif
