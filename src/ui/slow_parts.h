/* The parts of the time of slow requests, for their list: those of the first call, which is the
 * whole request. Pure; any thread that may read the snapshot. */
#ifndef UI_SLOW_PARTS_H
#define UI_SLOW_PARTS_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>

/* True: the parts of at least one slow request were recorded. */
bool slow_parts_any(const struct snapshot *s);
/* False: the parts of this request were not recorded, or it is no longer stored. */
bool slow_parts_shares(const struct snapshot *s, const struct snap_slow *w,
                       double share[PART_COUNT]);

#endif
