/* The contents of the next snapshot. */
#include "screens.h"
#include "state.h"

#include <kprof/ui/ui.h>

void ui_view_query(struct ui *u, const struct snapshot *s, struct view_query *q)
{
    time_range_query(&u->shared.time_range, q);
    q->trends = u->table.trends;
    q->why = !screens_ops(u->screen)->whole; /* for the hint at a finding, too */
    q->dist = u->screen == SCREEN_DIST;
    q->heat = u->screen == SCREEN_HEAT;
    if (!q->dist && !q->heat) {
        return;
    }
    const struct snap_row *r = rows_selected(&u->shared.rows, s);
    q->dist = q->dist && r;
    q->heat = q->heat && r;
    if (r) {
        q->tier = r->tier;
        q->ident = r->ident_n;
    }
    heat_query(&u->heat, &u->shared, q);
}
