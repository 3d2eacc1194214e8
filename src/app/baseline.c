#include "baseline.h"

#include "whole_replay.h"

struct snapshot *baseline_load(const char *path, struct err *e)
{
    struct engine *g = whole_replay(path, false, e);
    struct snapshot *s = g ? engine_snapshot(g, WINDOW_RUN, true) : NULL;

    engine_free(g);
    return s;
}
