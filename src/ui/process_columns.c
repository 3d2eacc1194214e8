#include "process_columns.h"

#include <kprof/core/snapshot.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LEAST = 12, NAME_MOST = 40, CURRENT_MOST = 40 };

static const struct {
    const char *title;
    int width, priority; /* 1 is dropped last; 0: only for groups */
    unsigned sort;
    const char *help;
} columns[PC_COLUMNS] = {
    [PC_PROCESSES] = {"PROCS", 7, 0, PROCESS_SORTS, "processes of the group"},
    [PC_REDUCTIONS] = {"RED/S", 7, 1, PROCESS_REDUCTIONS, "reductions per second"},
    [PC_MEMORY] = {"MEMORY", 7, 2, PROCESS_MEMORY, "heaps, and messages outside of them"},
    [PC_QUEUE] = {"QUEUE", 7, 3, PROCESS_QUEUE, "messages in the queue"},
    [PC_GROWTH] = {"+QUEUE", 7, 6, PROCESS_GROWTH, "growth of the queue, messages per second"},
    [PC_BINARY] = {"BINARY", 7, 7, PROCESS_BINARY, "binaries that its heaps refer to"},
    [PC_GCS] = {"GC/S", 6, 9, PROCESS_GCS, "garbage collections per second (a lower bound)"},
    [PC_RUN] =
        {"RUN", 5, 4, PROCESS_SORT_RUN,
         "share of the last refreshes in which it ran, was ready to run or collected garbage"},
    [PC_PID] = {"PID", 12, 8, PROCESS_SORTS, "process"},
    [PC_APPLICATION] = {"APP", 10, 10, PROCESS_SORTS, "application"},
    [PC_CURRENT] = {"CURRENT FUNCTION", 18, 5, PROCESS_SORTS, "current function"},
};

const char *process_column_title(enum process_column c)
{
    return columns[c].title;
}

const char *process_column_help(enum process_column c)
{
    return columns[c].help;
}

bool process_column_is_text(enum process_column c)
{
    return c == PC_PID || c == PC_APPLICATION || c == PC_CURRENT;
}

unsigned process_column_sort(enum process_column c)
{
    return columns[c].sort;
}

enum process_column process_column_of_sort(unsigned sort)
{
    enum process_column c = 0;
    while (c < PC_COLUMNS && (columns[c].sort != sort || sort == PROCESS_SORTS)) {
        c++;
    }
    return c;
}

/* 0: first; -1: not at all */
static int rank(enum process_column c, bool groups, unsigned sort)
{
    if (groups && (process_column_is_text(c) || c == PC_RUN)) {
        return -1;
    }
    if (!groups && c == PC_PROCESSES) {
        return -1;
    }
    return c == process_column_of_sort(sort) ? 0 : columns[c].priority;
}

void process_columns_choose(struct process_columns *k, int cols, bool groups, unsigned sort)
{
    int name = cols / 4 < NAME_LEAST ? NAME_LEAST : cols / 4 < 20 ? cols / 4 : 20;
    int left = cols - name;
    bool full = false;
    memset(k, 0, sizeof *k);
    for (int r = 0; r <= PC_COLUMNS && !full; r++) {
        for (enum process_column c = 0; c < PC_COLUMNS && !full; c++) {
            if (rank(c, groups, sort) != r) {
                continue;
            }
            /* A narrower, less important column is not shown instead. */
            full = columns[c].width + 1 > left;
            if (!full) {
                k->width[c] = columns[c].width;
                left -= columns[c].width + 1;
            }
        }
    }
    if (k->width[PC_CURRENT]) {
        int more = CURRENT_MOST - k->width[PC_CURRENT];
        more = more < left / 2 ? more : left / 2;
        k->width[PC_CURRENT] += more;
        left -= more;
    }
    k->name = name + left < NAME_MOST ? name + left : NAME_MOST;
    if (k->name < name) {
        k->name = name;
    }
}

static void growth(double per_s, char *out)
{
    char text[FORMAT_BYTES];
    if (isnan(per_s) || per_s == 0) {
        strcpy(out, isnan(per_s) ? "-" : "0");
        return;
    }
    format_rate(fabs(per_s), text);
    snprintf(out, PROCESS_CELL_BYTES, "%c%s", per_s < 0 ? '-' : '+', text);
}

static void number(enum process_column c, double v, char *out)
{
    if (isnan(v)) {
        strcpy(out, "-");
    } else if (c == PC_MEMORY || c == PC_BINARY) {
        format_bytes((uint64_t)v, out);
    } else if (c == PC_QUEUE) {
        format_count((uint64_t)v, out);
    } else {
        format_rate(v, out);
    }
}

const char *process_cell(enum process_column c, const struct process_row *r,
                         char out[PROCESS_CELL_BYTES])
{
    double run = process_row_run(r);
    switch (c) {
    case PC_PROCESSES:
        format_count(r->processes, out);
        return out;
    case PC_GROWTH:
        growth(r->value[PROCESS_GROWTH], out);
        return out;
    case PC_RUN:
        snprintf(out, PROCESS_CELL_BYTES, isnan(run) ? "-" : "%.0f%%", run * 100);
        return out;
    case PC_PID:
        snapshot_pid(r->pid, out);
        return out;
    case PC_APPLICATION:
        return r->application;
    case PC_CURRENT:
        return r->current;
    default:
        number(c, r->value[columns[c].sort], out);
        return out;
    }
}
