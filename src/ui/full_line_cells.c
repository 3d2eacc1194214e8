#include "full_line_cells.h"

#include <string.h>

int full_axis_col(const struct full_axis *x, uint64_t ns)
{
    if (ns <= x->from_ns) {
        return 0;
    }
    double part = (double)(ns - x->from_ns) / (double)(x->to_ns - x->from_ns);
    int col = part < 1 ? (int)(part * x->cols) : x->cols - 1;
    return col < x->cols ? col : x->cols - 1;
}

uint64_t full_axis_ns(const struct full_axis *x, int col)
{
    double ns = (double)(x->to_ns - x->from_ns) / x->cols * col;
    return x->from_ns + (uint64_t)ns;
}

static unsigned kind_of(uint32_t status)
{
    return status == STACK_WAITING              ? FULL_CELL_WAITS
           : status == STACK_GARBAGE_COLLECTING ? FULL_CELL_COLLECTS
                                                : FULL_CELL_RUNS;
}

static void add(struct full_cell *row, const struct full_axis *x, const struct stack_sample *s)
{
    uint64_t end = s->time_ns + s->weight;
    int last = full_axis_col(x, end - 1);
    for (int i = full_axis_col(x, s->time_ns); i <= last; i++) {
        uint64_t from = full_axis_ns(x, i), to = full_axis_ns(x, i + 1);
        from = s->time_ns > from ? s->time_ns : from;
        to = end < to ? end : to;
        uint64_t ns = to > from ? to - from : 1; /* at least visible */
        row[i].ns[kind_of(s->status)] += ns;
        if (ns > row[i].most_ns) {
            row[i].most_ns = ns;
            row[i].stack = s->stack;
        }
    }
}

void full_line_cells(const struct stack_view *v, const struct full_axis *x, const uint64_t *pids,
                     size_t n, uint32_t hide, struct full_cell *cell)
{
    memset(cell, 0, n * (size_t)x->cols * sizeof *cell);
    for (size_t i = 0; i < stack_view_count(v); i++) {
        const struct stack_sample *s = stack_view_at(v, i);
        if (s->time_ns >= x->to_ns || s->time_ns + s->weight <= x->from_ns ||
            hide & 1u << s->status) {
            continue;
        }
        for (size_t p = 0; p < n; p++) {
            if (pids[p] == s->process) {
                add(cell + p * (size_t)x->cols, x, s);
            }
        }
    }
}

const struct stack_sample *full_line_at(const struct stack_view *v, uint64_t pid, uint64_t ns)
{
    for (size_t i = 0; i < stack_view_count(v); i++) {
        const struct stack_sample *s = stack_view_at(v, i);
        if (s->process == pid && s->time_ns <= ns && ns - s->time_ns < s->weight) {
            return s;
        }
    }
    return NULL;
}
