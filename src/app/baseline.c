#include <kprof/app/baseline.h>

#include <kprof/app/engine.h>
#include <kprof/app/progress.h>
#include <kprof/app/run.h>

struct snapshot *baseline_load(const char *path, struct err *e)
{
    /* Batch: the recording is not paced. */
    const struct options o = {.mode = OPTIONS_REPLAY, .batch = true, .sample = 1};
    const struct engine_hooks hooks = {0};
    struct snapshot *s = NULL;
    struct engine *g = engine_new(&o, &hooks, e);
    struct progress p = {0};

    if (!g || engine_replay(g, path, e) < 0)
        goto out;
    while (engine_state(g) != ENGINE_REPLAYED && !run_stopping()) {
        engine_poll(g);
        progress_show(&p, path, engine_replay_share(g));
    }
    progress_end(&p);
    if (run_stopping())
        err_set(e, "stopped while reading %s", path);
    else
        s = engine_snapshot(g, WINDOW_RUN, true);
out:
    engine_free(g);
    return s;
}
