/* What the processes of a full trace did in each column of a time axis. Pure; draws nothing. */
#ifndef UI_FULL_LINE_CELLS_H
#define UI_FULL_LINE_CELLS_H

#include <kprof/core/stack_profile.h>

enum { FULL_CELL_RUNS, FULL_CELL_WAITS, FULL_CELL_COLLECTS, FULL_CELL_KINDS };

struct full_axis {
    uint64_t from_ns, to_ns; /* to > from */
    int cols;
};

/* One column of one process. */
struct full_cell {
    uint64_t ns[FULL_CELL_KINDS];
    uint64_t most_ns; /* longest time of one stack in this column */
    uint32_t stack;   /* that stack; 0: none */
};

/* The column of a time, within the axis. */
int full_axis_col(const struct full_axis *x, uint64_t ns);
uint64_t full_axis_ns(const struct full_axis *x, int col); /* where the column begins */
/* Fills cell[process][column] for n processes. hide: a status is left out (1 << enum stack_status).
 */
void full_line_cells(const struct stack_view *v, const struct full_axis *x, const uint64_t *pids,
                     size_t n, uint32_t hide, struct full_cell *cell);
/* The sample of a process at a time; NULL: it was not traced then. */
const struct stack_sample *full_line_at(const struct stack_view *v, uint64_t pid, uint64_t ns);

#endif
