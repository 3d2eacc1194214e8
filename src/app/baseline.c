#include "baseline.h"
#include <kprof/base/stop.h>

#include "progress.h"
#include <kprof/engine/engine.h>

struct snapshot *baseline_load(const char *path, struct err *e)
{
    const struct settings all_at_once = {.sample = 1};
    const struct engine_hooks hooks = {0};
    struct snapshot *s = NULL;
    struct engine *g = engine_new(&all_at_once, &hooks, e);
    struct progress p = {0};

    if (!g || engine_replay(g, path, e) < 0)
        goto out;
    while (engine_state(g) != ENGINE_REPLAYED && !stop_asked()) {
        engine_poll(g);
        progress_show(&p, path, engine_replay_share(g));
    }
    progress_end(&p);
    if (stop_asked())
        err_set(e, "stopped while reading %s", path);
    else
        s = engine_snapshot(g, WINDOW_RUN, true);
out:
    engine_free(g);
    return s;
}
