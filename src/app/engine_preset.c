/* Presets on the live node: which of them it can have, and taking one. */
#include "engine_impl.h"

#include <kprof/app/preset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_OFFER = 1, TAG_TAKE = 2 };

static int connected(struct engine *g, struct err *e)
{
    if (!g->control)
        return err_set(e, "not possible in a replay: there is no node");
    if (g->state != ENGINE_UP)
        return err_set(e, "not connected to %.100s: a preset depends on what the node has",
                       g->node);
    return 0;
}

static void add_lines(struct buf *lines, const struct preset_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        buf_addf(lines, "%s\n", s->tier[i].mfa);
}

/* All functions of all presets in one question; the answers come in the same order. */
int engine_presets(struct engine *g, struct err *e)
{
    struct preset_set s;
    struct buf lines;

    if (connected(g, e) < 0)
        return -1;
    buf_init(&lines, 0);
    for (size_t i = 0; i < preset_count(); i++)
        if (!preset_asks(preset_name(i)) && preset_make(preset_name(i), NULL, &s, e) == 0)
            add_lines(&lines, &s);
    control_code_query(g->control, CONTROL_EXIST, TAG_OFFER, lines.data);
    buf_release(&lines);
    return 0;
}

int engine_preset(struct engine *g, const char *text, struct err *e)
{
    struct preset_set s;
    struct buf lines;

    if (connected(g, e) < 0 || preset_make(text, NULL, &s, e) < 0)
        return -1;
    snprintf(g->catalog_load.preset, sizeof g->catalog_load.preset, "%s", text);
    buf_init(&lines, 0);
    add_lines(&lines, &s);
    control_code_query(g->control, CONTROL_EXIST, TAG_TAKE, lines.data);
    buf_release(&lines);
    return 0;
}

static void offer(struct engine *g, const bool *there)
{
    bool can[ENGINE_PRESETS];
    struct preset_set s;
    struct err ignored;

    for (size_t i = 0; i < preset_count() && i < ENGINE_PRESETS; i++) {
        const char *name = preset_name(i);
        can[i] = preset_asks(name) || preset_make(name, there, &s, &ignored) == 0;
        if (!preset_asks(name) && preset_make(name, NULL, &s, &ignored) == 0)
            there += s.n;
    }
    if (g->hooks.presets)
        g->hooks.presets(g->hooks.arg, can, preset_count());
}

static int take(struct engine *g, const bool *there, struct err *e)
{
    struct preset_set s;
    struct options o;

    if (preset_make(g->catalog_load.preset, there, &s, e) < 0)
        return -1;
    int rc = engine_settings(g, &o, e);
    o.n_tiers = 0;
    o.entry_none = false;
    free(o.entry);
    free(o.identity);
    o.entry = o.identity = NULL;
    preset_fill(&s, &o);
    rc = rc < 0 ? rc : engine_take_settings(g, &o, e);
    options_release(&o);
    return rc;
}

void engine_take_exist(struct engine *g, const struct result *r)
{
    struct err e = {{0}};
    char line[300];

    if (r->failed) {
        engine_say(g, r->text, true);
    } else if (r->ix == TAG_OFFER) {
        offer(g, r->code.there);
    } else if (take(g, r->code.there, &e) < 0) {
        engine_say(g, e.text, true);
    } else {
        snprintf(line, sizeof line, "preset %.200s: tiers, entry and identity are set",
                 g->catalog_load.preset);
        engine_log(g, line);
        engine_say(g, line, false);
    }
}
