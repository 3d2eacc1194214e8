#include <kprof/app/live_preset.h>

#include <kprof/app/live_profile.h>
#include <kprof/app/preset.h>
#include <stdio.h>
#include <string.h>

#define ITEM_BYTES 80

void live_offer_presets(struct ui *u, const bool *can, size_t n)
{
    char text[ENGINE_PRESETS][ITEM_BYTES];
    const char *item[ENGINE_PRESETS];
    size_t items = 0;

    for (size_t i = 0; i < n && i < ENGINE_PRESETS; i++) {
        if (!can[i])
            continue;
        snprintf(text[items], ITEM_BYTES, "%-10s %s", preset_name(i), preset_about(i));
        item[items] = text[items];
        items++;
    }
    if (ui_choose(u, INTENT_PRESET, "Presets for this node", item, items))
        ui_message(u, "", false); /* that it is being asked */
    else
        ui_message(u, "the presets for this node are known: press P", false);
}

/* Tiers that the preset has not: may they go? One that cannot be made says so when it is taken. */
static bool may_replace(struct engine *g, struct ui *u, const char *name, const struct intent *in)
{
    struct preset_set s;
    struct err ignored;
    struct options o;

    if (preset_make(name, NULL, &s, &ignored) < 0)
        return true;
    options_defaults(&o);
    preset_fill(&s, &o);
    bool may = live_may_replace(g, u, in, &o);
    options_release(&o);
    return may;
}

/* An item of the menu begins with the name; one that is about a module asks which. */
static void take(struct engine *g, struct ui *u, const struct intent *in)
{
    char name[256], text[300];
    struct err e = {{0}};

    snprintf(name, sizeof name, "%.*s", (int)strcspn(in->text, " "), in->text);
    snprintf(text, sizeof text, "%s:", name);
    if (preset_asks(name))
        ui_reprompt(u, INTENT_PRESET, text, strlen(text), "which module? write it after the colon");
    else if (!may_replace(g, u, name, in))
        return;
    else if (engine_preset(g, name, &e) < 0)
        ui_reprompt(u, INTENT_PRESET, name, strlen(name), e.text);
    else
        ui_message(u, "asking the node which functions of the preset it has ...", false);
}

void live_preset(struct engine *g, struct ui *u, const struct intent *in)
{
    struct err e = {{0}};

    if (in->kind == INTENT_PRESET)
        take(g, u, in);
    else if (engine_presets(g, &e) < 0)
        ui_message(u, e.text, true);
    else
        ui_message(u, "asking the node which presets it supports ...", false);
}
