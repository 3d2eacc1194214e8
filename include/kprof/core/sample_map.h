/* Stack samples by time, for the sub-second heat map: columns are seconds, and lines are equal
 * parts of a second. The value of a cell is the total width of its samples, as in a flame graph.
 *
 * Invariant: the sum over the cells is the width of the samples that pass the filter in the columns
 * of the map. A gap is a time without samples of the view, at least as long as SAMPLE_MAP_GAP_NS
 * and as three intervals of the sampler. The time before the first sample and after the last one is
 * a gap, too. Seconds are those of the wall clock if the profile knows it, else of the node. A map
 * owns its memory and needs no view once it is made. One thread. */
#ifndef KPROF_CORE_SAMPLE_MAP_H
#define KPROF_CORE_SAMPLE_MAP_H

#include <kprof/core/flame.h>

#define SAMPLE_MAP_GAP_NS UINT64_C(300000000)
#define SAMPLE_MAP_COLS   1024u
#define SAMPLE_MAP_LINES  1000u

struct sample_map_query {
    struct flame_filter filter; /* its times are ignored */
    enum flame_by by;
    enum stack_metric metric; /* not for FLAME_SAMPLES */
    uint64_t end_s;           /* the second after the last column; 0: the newest sample is in it */
    /* 1 to SAMPLE_MAP_COLS; 1 to SAMPLE_MAP_LINES, a divisor of 1e9 */
    uint32_t cols, lines;
};

struct sample_map {
    uint64_t from_s;            /* the second of column 0 */
    uint64_t first_s, newest_s; /* of the first and the newest sample of the view */
    uint32_t cols, lines;
    uint64_t zero_ns;    /* a sample's time + zero_ns = its time on the axis of seconds */
    uint64_t total, top; /* width of all cells; of the widest one */
    uint64_t *width;     /* by column, then by line */
    bool *gap;
};

/* NULL: the samples have no times, or there are none. */
struct sample_map *sample_map_make(const struct stack_view *v, const struct sample_map_query *q);
void sample_map_free(struct sample_map *m); /* NULL is fine */

/* Cells count 0, 1, ... in the order of time. */
static inline uint64_t sample_map_cells(const struct sample_map *m)
{
    return (uint64_t)m->cols * m->lines;
}
/* The start of a cell, as a time of samples; it may be that of the cell after the last. */
uint64_t sample_map_begin_ns(const struct sample_map *m, uint64_t cell);
/* The cell of a time; before the map: 0, after it: the last. */
uint64_t sample_map_cell(const struct sample_map *m, uint64_t time_ns);
/* The width of the cells [from, to). */
uint64_t sample_map_sum(const struct sample_map *m, uint64_t from, uint64_t to);

#endif
