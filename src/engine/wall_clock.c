#include "wall_clock.h"

#include <kprof/base/clock.h>

uint64_t wall_clock_of_core(const struct engine *g)
{
    /* At the end the time of core is later than that of the last heartbeat. */
    uint64_t since = core_now(g->core) - g->target_now_ns;

    if (g->replay.file)
        return g->replay.wall_ns ? g->replay.wall_ns + since : g->replay.meta.wall_ns;
    return clock_wall_ns() + (g->target_now_ns ? since : 0);
}
