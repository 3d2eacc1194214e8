#include "wall_clock.h"

#include <kprof/base/clock.h>

/* A request is complete when a heartbeat or an event shows that all its events have arrived
 * (EVENT_GAP). If there are none, the clock shows it, so much later that events that are held up on
 * their way usually still arrive in time. */
#define SILENT_LAG_NS UINT64_C(2000000000)

uint64_t wall_clock_of_core(const struct engine *g)
{
    /* At the end of a run, core's time is later than the time of the last heartbeat. */
    uint64_t since = core_now(g->core) - g->target_now_ns;

    if (g->replay.file)
        return g->replay.wall_ns ? g->replay.wall_ns + since : g->replay.meta.wall_ns;
    return clock_wall_ns() + (g->target_now_ns ? since : 0);
}

bool wall_clock_advance(struct engine *g, uint64_t local_ns)
{
    uint64_t target;

    if (!stream_now(g->stream, local_ns, &target))
        return false;
    g->target_now_ns = target;
    if (target > SILENT_LAG_NS)
        core_advance(g->core, target - SILENT_LAG_NS);
    if (target > STREAM_LATE_NS && target - STREAM_LATE_NS > core_now(g->core))
        core_pass(g->core, target - STREAM_LATE_NS);
    return true;
}
