/* The screen of the latency heat map: time to the right, duration upwards, how many calls by shade.
 * Of the row that is selected in the table. Core thread only. */
#ifndef UI_HEAT_H
#define UI_HEAT_H

#include "screen.h"

#include <kprof/core/view_query.h>

struct heat_state {
    uint64_t end_s;  /* of the map; 0: now */
    size_t step;     /* seconds a column, as number of a list */
    bool has_cursor; /* else it is at the newest column */
    uint64_t cursor_s;
    size_t cursor_bin;
    struct rect area; /* of the last picture */
};

extern const struct screen_ops screen_heat;

/* The map and its cursor; true: the map was of the past. */
bool heat_to_now(struct heat_state *t);
/* Which part of the map the next snapshot shall have. q has the time already. */
void heat_query(const struct heat_state *t, const struct ui_shared *sh, struct view_query *q);

#endif
