#include "session_log.h"

#include "wall_clock.h"
#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

void session_log_say(struct engine *g, const char *text, bool is_error)
{
    if (g->hooks.message)
        g->hooks.message(g->hooks.arg, text, is_error);
}

void session_log_add(struct engine *g, const char *text)
{
    size_t at = g->log.n++ % ENGINE_LOG;
    bool replays = g->replay.file && g->core;
    uint64_t wall_ns = replays ? wall_clock_of_core(g) : 0; /* as all times on the screen */

    g->log.line[at].wall_ns = wall_ns ? wall_ns : clock_wall_ns();
    err_copy(g->log.line[at].text, sizeof g->log.line[at].text, text);
}

void session_log_warn(struct engine *g, const char *text)
{
    session_log_add(g, text);
    if (g->hooks.message)
        g->hooks.message(g->hooks.arg, text, true);
    else
        fprintf(stderr, "kprof-top: %s\n", text);
}

void session_log_trouble(struct engine *g, const char *text)
{
    g->files_incomplete = true;
    session_log_warn(g, text);
}

void session_log_add_once(struct engine *g, const char *text)
{
    if (!g->log.n || strcmp(g->log.line[(g->log.n - 1) % ENGINE_LOG].text, text) != 0)
        session_log_add(g, text);
}

void engine_note(struct engine *g, const char *text)
{
    session_log_add(g, text);
}
