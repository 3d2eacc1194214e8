#include "whole_replay.h"

#include "progress.h"

#include <kprof/base/stop.h>

struct engine *whole_replay(const char *path, bool history, struct err *e)
{
    const struct settings all_at_once = {.sample = 1, .history = history};
    const struct engine_hooks hooks = {0};
    struct progress p = {0};
    struct engine *g = engine_new(&all_at_once, &hooks, e);

    if (!g || engine_replay(g, path, e) < 0)
        goto failed;
    while (engine_state(g) != ENGINE_REPLAYED && !stop_asked()) {
        engine_poll(g);
        progress_show(&p, path, engine_replay_share(g));
    }
    while (!stop_asked() && engine_poll(g))
        continue;
    progress_end(&p);
    if (!stop_asked())
        return g;
    err_set(e, "stopped while reading %s", path);
failed:
    engine_free(g);
    return NULL;
}
