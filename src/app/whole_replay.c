#include "whole_replay.h"

#include "notice.h"
#include "progress.h"

#include <kprof/base/stop.h>

/* Drops messages, because stderr shows the progress now. A problem with the recording is reported
 * after it. */
static void later(void *arg, const char *text, bool is_error)
{
    (void)arg;
    (void)text;
    (void)is_error;
}

struct engine *whole_replay(const char *path, bool history, struct err *e)
{
    const struct settings all_at_once = {.sample = 1, .history = history};
    const struct engine_hooks hooks = {.message = later};
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
    if (engine_replay_trouble(g))
        notice(engine_replay_trouble(g));
    if (!stop_asked())
        return g;
    err_set(e, "stopped while reading %s", path);
failed:
    engine_free(g);
    return NULL;
}
