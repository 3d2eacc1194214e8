/* The marked cells of the latency heat map, and the requests in them. Pure. */
#ifndef UI_HEAT_MARK_H
#define UI_HEAT_MARK_H

#include "heat_map.h"

#include <kprof/ui/intent.h>

/* The cells between two places of the map. */
struct heat_marked heat_mark_between(size_t col, size_t group, size_t other_col,
                                     size_t other_group);
/* INTENT_FLAME_INSIDE for the requests of a row in the marked cells; without a mark, for those as
 * slow as the cursor's group or slower, in the visible time range. now: the map ends now. */
struct intent heat_mark_intent(const struct heat_map *m, const struct snap_row *r, size_t group,
                               bool now);

#endif
