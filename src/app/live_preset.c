#include "live_preset.h"

#include "live_profile.h"
#include "settings_map.h"
#include <kprof/base/buf.h>
#include <kprof/cli/preset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEM_BYTES 80

enum { TAG_OFFER = 1, TAG_TAKE = 2 };

static void add_lines(struct buf *lines, const struct preset_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        buf_addf(lines, "%s\n", s->tier[i].mfa);
}

/* All functions of all presets in one question; the answers come in the same order. */
static int ask_all(struct engine *g, struct err *e)
{
    struct preset_set s;
    struct buf lines;

    buf_init(&lines, 0);
    for (size_t i = 0; i < preset_count(); i++)
        if (!preset_asks(preset_name(i)) && preset_make(preset_name(i), NULL, &s, e) == 0)
            add_lines(&lines, &s);
    int rc = engine_exist(g, TAG_OFFER, lines.data, e);
    buf_release(&lines);
    return rc;
}

/* A node that cannot be asked is told before a preset that there is none. */
static int ask_one(struct live_preset *p, struct engine *g, const char *text, struct err *e)
{
    struct preset_set s;
    struct buf lines;

    if (engine_can_ask(g, e) < 0 || preset_make(text, NULL, &s, e) < 0)
        return -1;
    snprintf(p->taking, sizeof p->taking, "%s", text);
    buf_init(&lines, 0);
    add_lines(&lines, &s);
    int rc = engine_exist(g, TAG_TAKE, lines.data, e);
    buf_release(&lines);
    return rc;
}

/* Which of them has the node (or does it depend on a module)? */
static size_t can_have(const bool *there, bool *can)
{
    struct preset_set s;
    struct err ignored;
    size_t n = preset_count() < LIVE_PRESETS ? preset_count() : LIVE_PRESETS;

    for (size_t i = 0; i < n; i++) {
        const char *name = preset_name(i);
        can[i] = preset_asks(name) || preset_make(name, there, &s, &ignored) == 0;
        if (!preset_asks(name) && preset_make(name, NULL, &s, &ignored) == 0)
            there += s.n;
    }
    return n;
}

static void offer(struct ui *u, const bool *there)
{
    char text[LIVE_PRESETS][ITEM_BYTES];
    const char *item[LIVE_PRESETS];
    bool can[LIVE_PRESETS];
    size_t items = 0, n = can_have(there, can);

    for (size_t i = 0; i < n; i++) {
        if (!can[i])
            continue;
        snprintf(text[items], ITEM_BYTES, "%-10s %s", preset_name(i), preset_about(i));
        item[items] = text[items];
        items++;
    }
    if (ui_choose(u, INTENT_PRESET, "Presets for this node", item, items))
        ui_message(u, "", false); /* that it is being asked */
    else
        ui_message(u, "the presets for this node are ready: press P", false);
}

/* Tiers that the preset has not: may they go? One that cannot be made says so when it is taken. */
static bool may_replace(struct engine *g, struct ui *u, const char *name, const struct intent *in)
{
    struct preset_set s;
    struct settings with;
    struct err ignored;
    struct options o;

    if (preset_make(name, NULL, &s, &ignored) < 0)
        return true;
    options_defaults(&o);
    preset_fill(&s, &o);
    settings_map_from(&o, &with);
    bool may = live_may_replace(g, u, in, &with);
    options_release(&o);
    return may;
}

/* The settings of now, with the preset's tiers, entry and identity. */
static int set(struct engine *g, const char *name, const bool *there, struct err *e)
{
    struct preset_set s;
    struct settings now;
    struct options o;

    if (preset_make(name, there, &s, e) < 0 || engine_settings(g, &now, e) < 0)
        return -1;
    now.n_tiers = 0;
    now.entry_none = false;
    now.entry = now.identity = NULL;
    settings_map_to(&now, &o);
    preset_fill(&s, &o);
    settings_map_from(&o, &now);
    int rc = engine_take_settings(g, &now, e);
    options_release(&o);
    return rc;
}

void live_preset_exist(struct live_preset *p, struct engine *g, struct ui *u, uint16_t tag,
                       const bool *there, const char *why)
{
    struct err e = {{0}};
    char line[300];

    if (why) {
        ui_message(u, why, true);
    } else if (tag == TAG_OFFER) {
        offer(u, there);
    } else if (set(g, p->taking, there, &e) < 0) {
        ui_message(u, e.text, true);
    } else {
        snprintf(line, sizeof line, "preset %.200s: tiers, entry and identity are set", p->taking);
        engine_note(g, line);
        ui_message(u, line, false);
    }
}

/* An item of the menu begins with the name; one that is about a module asks which. */
static void take(struct live_preset *p, struct engine *g, struct ui *u, const struct intent *in)
{
    char name[256], text[300];
    struct err e = {{0}};

    snprintf(name, sizeof name, "%.*s", (int)strcspn(in->text, " "), in->text);
    snprintf(text, sizeof text, "%s:", name);
    if (preset_asks(name))
        ui_reprompt(u, INTENT_PRESET, text, strlen(text), "write the module after the colon");
    else if (!may_replace(g, u, name, in))
        return;
    else if (ask_one(p, g, name, &e) < 0)
        ui_reprompt(u, INTENT_PRESET, name, strlen(name), e.text);
    else
        ui_message(u, "asking the node which functions of the preset it has ...", false);
}

void live_preset(struct live_preset *p, struct engine *g, struct ui *u, const struct intent *in)
{
    struct err e = {{0}};

    if (in->kind == INTENT_PRESET)
        take(p, g, u, in);
    else if (ask_all(g, &e) < 0)
        ui_message(u, e.text, true);
    else
        ui_message(u, "asking the node which presets it supports ...", false);
}
