/* The screen of the latency heat map of the row selected in the table: the time axis is horizontal,
 * the duration axis vertical, the number of calls is the shade (two durations per row if the
 * terminal has shades). Core thread only. */
#ifndef UI_HEAT_H
#define UI_HEAT_H

#include "screen.h"

#include <kprof/core/view_query.h>

struct heat_state {
    uint64_t end_s;  /* end of the map; 0: now */
    size_t step;     /* seconds per column, as an index in a list */
    bool has_cursor; /* false: the cursor is at the newest column */
    uint64_t cursor_s;
    size_t cursor_bin;
    uint64_t event; /* id of the VM event that was selected at the cursor; 0: none */
    bool marked;    /* the cells from mark_s, mark_bin to the cursor are marked */
    uint64_t mark_s;
    size_t mark_bin;
    struct rect area; /* area of the last draw */
    bool halves;      /* it had two lines per row */
};

extern const struct screen_ops screen_heat;

/* Moves the map and its cursor to now; true: the map was at an earlier time. */
bool heat_to_now(struct heat_state *t);
/* Sets the part of q that selects the map of the next snapshot. q already has the time. */
void heat_query(const struct heat_state *t, const struct ui_shared *sh, struct view_query *q);

#endif
