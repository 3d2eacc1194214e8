#include "suggest_print.h"

#include "settings_map.h"
#include "survey.h"
#include <errno.h>
#include <kprof/base/clock.h>
#include <kprof/base/stop.h>
#include <kprof/cli/profile_save.h>
#include <kprof/engine/engine.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ATTACH_NS 20000000000u

/* 0 if s has a suggestion */
static int look(struct survey *s, struct engine *g, struct err *e)
{
    struct pollfd p = {.fd = engine_wake_fd(g), .events = POLLIN};
    uint64_t until = clock_mono_ns() + ATTACH_NS;

    while (!stop_asked()) {
        bool more = engine_poll(g);
        enum engine_state st = engine_state(g);
        if (st == ENGINE_FAILED || st == ENGINE_LOST)
            return err_set(e, "%s", engine_trouble(g));
        if (st == ENGINE_UP && s->state == SURVEY_NONE)
            survey_begin(s, g);
        else if (s->state == SURVEY_NONE && clock_mono_ns() > until)
            return err_set(e, "the agent did not start within 20 s: the node may be too busy");
        if (survey_poll(s, g))
            return s->state == SURVEY_FOUND ? 0 : err_set(e, "%s", s->why.text);
        if (!more)
            poll(&p, 1, 20);
    }
    return err_set(e, "stopped before there was a suggestion");
}

static int print(const struct suggestion *s, struct err *e)
{
    struct options with;
    struct buf text;

    options_defaults(&with);
    suggest_fill(s, NULL, true, &with);
    buf_init(&text, 0);
    profile_save_text(&with, false, &text);
    int rc = fwrite(text.data, 1, text.len, stdout) == text.len && fflush(stdout) == 0
                 ? 0
                 : err_set(e, "cannot write to standard output: %s", strerror(errno));
    buf_release(&text);
    options_release(&with);
    return rc;
}

int run_suggest(const struct options *o, const struct conn_target *t)
{
    struct engine_hooks hooks = {.arg = NULL};
    struct survey survey = {.state = SURVEY_NONE};
    struct settings settings;
    struct err e = {{0}};
    int status = 1;

    settings_map_from(o, &settings);
    settings_map_clear_tiers(
        &settings); /* remove those of --demo: traced functions are not counted */
    struct engine *g = engine_new(&settings, &hooks, &e);
    if (g && run_begin(g, o, t, &e) == 0 && look(&survey, g, &e) == 0)
        status = print(&survey.found, &e) < 0;
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    run_end(g, t);
    return status;
}
