/* The grid of the heat map: the positions of columns and durations, and drawing it. A line of the
 * grid is a range of durations; if the canvas has shades, a row of the screen has two lines.
 *
 * Invariant: every call of the snapshot's map that is inside the area is in exactly one cell.
 * Points into the snapshot; draws only. Core thread only. */
#ifndef UI_HEAT_MAP_H
#define UI_HEAT_MAP_H

#include "rect.h"

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>

#define HEAT_LABEL_COLS 8 /* left of the grid */

/* Marked cells: columns and groups, the last ones included. */
struct heat_marked {
    bool on;
    size_t first, last, low, high;
};

/* Position of the map in the area: columns from the right, lines from the bottom. */
struct heat_map {
    const struct snapshot *s;
    const struct snap_heat *h;
    size_t first, n;         /* columns of h that are shown */
    int row, col, rows;      /* its upper left cell; rows of the screen */
    bool halves;             /* two lines per row */
    size_t lines;            /* number of lines */
    size_t per, low;         /* bins per line, the group (bins.h) of the lowest line */
    struct heat_marked mark; /* set by the caller; none at first */
    double top;              /* calls of the fullest cell, in the time of one column */
};

struct heat_map heat_map_of(const struct snapshot *s, struct rect a, bool halves);

/* The column that has the data of column i. */
size_t heat_map_holder(const struct snap_heat *h, size_t i);
/* Calls of column i in the group. */
uint64_t heat_map_count(const struct heat_map *m, size_t i, size_t group);
/* True: the column has no data, or most of it was not traced. */
bool heat_map_has_gap(const struct snap_heat_col *k);
/* The group with most of the column's calls. */
size_t heat_map_fullest(const struct heat_map *m, size_t i);
/* The column and the group drawn at a cell of the canvas; of two groups the one with more calls.
 * False: there is none. */
bool heat_map_at(const struct heat_map *m, int row, int col, size_t *i, size_t *group);

/* left: column of the canvas where the labels begin. i, group: of the cursor; i SIZE_MAX: none. */
void heat_map_draw(const struct heat_map *m, struct canvas *c, int left, size_t i, size_t group);
/* Draws the legend of the shades, right aligned in the columns, if there is room and the canvas has
 * shades. */
void heat_map_legend(const struct heat_map *m, struct canvas *c, int row, int col, int cols);

#endif
