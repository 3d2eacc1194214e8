/* The screen of the latency heat map of the row selected in the table: time to the right, duration
 * upwards, number of calls as shade (two durations a row where the terminal has shades). Core
 * thread only. */
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
    struct rect area; /* area of the last picture */
    bool halves;      /* it had two lines a row */
};

extern const struct screen_ops screen_heat;

/* Moves the map and its cursor to now; true: the map was of the past. */
bool heat_to_now(struct heat_state *t);
/* Writes to q which part of the map the next snapshot shall have. q already has the time. */
void heat_query(const struct heat_state *t, const struct ui_shared *sh, struct view_query *q);

#endif
