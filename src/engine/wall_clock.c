#include "wall_clock.h"

#include <kprof/base/clock.h>

uint64_t wall_clock_of_core(const struct engine *g)
{
    uint64_t now = core_now(g->core);

    if (g->replay.file)
        return g->replay.meta.wall_ns + (now - g->replay.core_ns);
    return clock_wall_ns() - (g->target_now_ns > now ? g->target_now_ns - now : 0);
}
