#include "live_preset.h"

#include "live_profile.h"
#include "settings_map.h"
#include <kprof/base/buf.h>
#include <stdio.h>
#include <string.h>

#define ITEM_BYTES 100

enum { TAG_OFFER = 1, TAG_START };
_Static_assert(TAG_START < PRESET_TAKE_TAG, "tags are taken twice");

/* All functions of all presets in one request; the answers are in the same order. */
static int ask_all(struct engine *g, uint16_t tag, struct err *e)
{
    struct buf lines;
    size_t n;

    buf_init(&lines, 0);
    for (size_t i = 0; i < preset_count(); i++)
        if (!preset_asks(preset_name(i)))
            preset_candidates(preset_name(i), &lines, &n, e);
    int rc = engine_exist(g, tag, lines.data, e);
    buf_release(&lines);
    return rc;
}

/* The node's answer about this preset from the request for all; NULL: there is none. */
static const bool *said_of(const bool *there, const char *name)
{
    struct buf ignored;
    struct err e;
    size_t n;

    for (size_t i = 0; i < preset_count(); i++) {
        if (strcmp(preset_name(i), name) == 0)
            return preset_asks(name) ? NULL : there;
        if (preset_asks(preset_name(i)))
            continue;
        buf_init(&ignored, 0);
        preset_candidates(preset_name(i), &ignored, &n, &e);
        buf_release(&ignored);
        there += n;
    }
    return NULL;
}

/* False: the preset cannot be offered. A preset of a module always can. */
static bool item_of(const char *name, const char *about, const bool *there, char *text)
{
    struct preset_set s;
    struct err ignored;

    if (!preset_asks(name) && preset_make(name, said_of(there, name), &s, &ignored) < 0)
        return false;
    snprintf(text, ITEM_BYTES, "%-10s %s", name, about);
    if (!preset_asks(name) && s.n < s.all)
        snprintf(text + strlen(text), ITEM_BYTES - strlen(text), " (%zu of %zu tiers)", s.n, s.all);
    return true;
}

static void offer(struct live_preset *p, struct ui *u, const bool *there)
{
    char text[LIVE_PRESETS][ITEM_BYTES];
    const char *item[LIVE_PRESETS];
    size_t n = 0;

    memcpy(p->there, there, sizeof p->there);
    for (size_t i = 0; i < preset_count() && n + 1 < LIVE_PRESETS; i++)
        n += !preset_asks(preset_name(i)) &&
             item_of(preset_name(i), preset_about(i), p->there, text[n]);
    live_suggest_item(p->suggest, text[n++], ITEM_BYTES);
    for (size_t i = 0; i < preset_count() && n < LIVE_PRESETS; i++)
        n += preset_asks(preset_name(i)) &&
             item_of(preset_name(i), preset_about(i), p->there, text[n]);
    for (size_t i = 0; i < n; i++)
        item[i] = text[i];
    if (ui_choose(u, INTENT_PRESET, "Presets for this node", item, n))
        ui_message(u, "", false); /* removes the message about the request */
    else
        ui_message(u, "the presets for this node are ready: press P", false);
}

/* Names the presets on the first screen, without those for one module. */
static void tell_start(struct ui *u, const bool *there)
{
    char names[300] = "";
    struct preset_set s;
    struct err ignored;

    for (size_t i = 0; i < preset_count(); i++) {
        const char *name = preset_name(i);
        size_t used = strlen(names);
        if (preset_asks(name) || preset_make(name, said_of(there, name), &s, &ignored) < 0)
            continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
        if (s.n < s.all && used < sizeof names)
            snprintf(names + used, sizeof names - used, " (%zu of %zu)", s.n, s.all);
    }
    ui_set_presets(u, names);
}

/* The present settings, with the preset's tiers, entry and identity. */
static int settings_with(struct engine *g, const char *name, struct options *o, struct err *e)
{
    struct settings now;

    if (engine_settings(g, &now, e) < 0)
        return -1;
    settings_map_clear_tiers(&now);
    settings_map_to(&now, o);
    return options_preset_add(o, name, e);
}

/* Asks before it removes tiers that the preset does not have. A preset that cannot be made shows
 * its error when it is applied. */
static bool may_replace(struct live_preset *p, struct engine *g, struct ui *u, const char *name,
                        const struct intent *in)
{
    struct preset_set s;
    struct settings with;
    struct err ignored;
    struct options o;

    if (preset_make(name, said_of(p->there, name), &s, &ignored) < 0)
        return true;
    options_defaults(&o);
    preset_fill(&s, &o);
    settings_map_from(&o, &with);
    bool may = live_may_replace(g, u, in, &with);
    options_release(&o);
    return may;
}

/* If the node cannot be asked, that error comes before the one that no preset fits. */
static int want(struct live_preset *p, struct engine *g, const char *name, struct err *e)
{
    struct options o = {.n_nodes = 0};
    char what[300];

    int rc = engine_can_ask(g, e) < 0 ? -1 : settings_with(g, name, &o, e);
    snprintf(what, sizeof what, "preset %s", name);
    if (rc == 0)
        preset_take_want(&p->take, &o, what);
    options_release(&o);
    return rc;
}

static void taken(struct live_preset *p, struct engine *g, struct ui *u, const bool *there,
                  const char *why)
{
    char said[PRESET_SAID_BYTES], line[PRESET_SAID_BYTES + 400];
    struct err e = {{0}};

    if (preset_take_answer(&p->take, g, there, why, said, &e) < 0) {
        ui_message(u, e.text, true);
        return;
    }
    snprintf(line, sizeof line, "%s: tiers, entry and identity are set%s%s", p->take.what,
             said[0] ? "; " : "", said);
    engine_note(g, line);
    ui_message(u, line, false);
}

void live_preset_exist(struct live_preset *p, struct engine *g, struct ui *u, uint16_t tag,
                       const bool *there, const char *why)
{
    if (preset_take_is_mine(&p->take, tag))
        taken(p, g, u, there, why);
    else if (tag == TAG_OFFER && why)
        ui_message(u, why, true);
    else if (tag == TAG_OFFER)
        offer(p, u, there);
    else if (tag == TAG_START && !why)
        tell_start(u, there);
}

void live_preset_poll(struct live_preset *p, struct engine *g)
{
    struct err ignored;

    preset_take_poll(&p->take, g);
    if (p->start_asked || engine_can_ask(g, &ignored) < 0)
        return;
    p->start_asked = true; /* once, even if it fails: P sends it again */
    if (engine_tiers(g)->n == 0 && !preset_take_wanted(&p->take))
        ask_all(g, TAG_START, &ignored);
}

/* An item of the menu begins with the name; a preset for a module asks for the module. */
static void take(struct live_preset *p, struct engine *g, struct ui *u, const struct intent *in)
{
    char name[256], text[300];
    struct err e = {{0}};

    snprintf(name, sizeof name, "%.*s", (int)strcspn(in->text, " "), in->text);
    snprintf(text, sizeof text, "%s:", name);
    if (strcmp(name, LIVE_SUGGEST_NAME) == 0)
        live_suggest_open(p->suggest, g, u);
    else if (preset_asks(name))
        ui_reprompt(u, INTENT_PRESET, text, strlen(text), "write the module after the colon");
    else if (!may_replace(p, g, u, name, in))
        return;
    else if (want(p, g, name, &e) < 0)
        ui_reprompt(u, INTENT_PRESET, name, strlen(name), e.text);
    else
        ui_message(u, "asking the node which functions of the preset it has ...", false);
}

void live_preset(struct live_preset *p, struct engine *g, struct ui *u, const struct intent *in)
{
    struct err e = {{0}};

    if (in->kind == INTENT_PRESET)
        take(p, g, u, in);
    else if (ask_all(g, TAG_OFFER, &e) < 0)
        ui_message(u, e.text, true);
    else
        ui_message(u, "asking the node which presets it supports ...", false);
}
