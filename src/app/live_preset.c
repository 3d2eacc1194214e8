#include <kprof/app/live_preset.h>

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
    ui_choose(u, INTENT_PRESET, "Presets this node can have", item, items);
}

/* An item of the menu begins with the name; one that is about a module asks which. */
static void take(struct engine *g, struct ui *u, const char *picked)
{
    char name[256], text[300];
    struct err e = {{0}};

    snprintf(name, sizeof name, "%.*s", (int)strcspn(picked, " "), picked);
    snprintf(text, sizeof text, "%s:", name);
    if (preset_asks(name))
        ui_reprompt(u, INTENT_PRESET, text, strlen(text), "which module? write it after the colon");
    else if (engine_preset(g, name, &e) < 0)
        ui_reprompt(u, INTENT_PRESET, name, strlen(name), e.text);
}

void live_preset(struct engine *g, struct ui *u, const struct intent *in)
{
    struct err e = {{0}};

    if (in->kind == INTENT_PRESET)
        take(g, u, in->text);
    else if (engine_presets(g, &e) < 0)
        ui_message(u, e.text, true);
}
