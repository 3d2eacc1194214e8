#include "live_profile.h"

#include "settings_map.h"
#include <errno.h>
#include <kprof/cli/profile.h>
#include <kprof/cli/profile_save.h>
#include <stdio.h>

static void save(struct engine *g, struct ui *u, const struct intent *in)
{
    struct err e = {{0}};
    struct settings is;
    struct options now;
    char line[200];
    if (engine_settings(g, &is, &e) < 0) {
        ui_message(u, e.text, true);
        return;
    }
    settings_map_to(&is, &now);
    if (profile_save(&now, in->text, in->force, &e) == 0) {
        snprintf(line, sizeof line, "saved; load it with L, or kprof-top -f %.64s", in->text);
        ui_message(u, line, false);
    } else if (errno == EEXIST) {
        struct intent yes = *in;
        yes.force = true;
        snprintf(line, sizeof line, "Profile %.64s exists. Overwrite it?", in->text);
        ui_ask(u, line, &yes);
    } else {
        ui_reprompt(u, INTENT_SAVE, in->text, SIZE_MAX, e.text);
    }
    options_release(&now);
}

static void choose(struct ui *u)
{
    profile_name names[PROFILES_MAX];
    const char *items[PROFILES_MAX];
    size_t n = profile_list(names);
    for (size_t i = 0; i < n; i++)
        items[i] = names[i];
    if (n)
        ui_choose(u, INTENT_LOAD, "Load profile", items, n);
    else
        ui_message(u, "no profiles yet: W saves one", true);
}

bool live_may_replace(struct engine *g, struct ui *u, const struct intent *in,
                      const struct settings *s)
{
    struct intent yes = *in;
    char line[100];
    size_t n = engine_would_go(g, s);
    if (in->force || n == 0)
        return true;
    yes.force = true;
    snprintf(line, sizeof line, "Replace %zu tier%s and %s statistics?", n, n == 1 ? "" : "s",
             n == 1 ? "its" : "their");
    ui_ask(u, line, &yes);
    return false;
}

/* A profile with a preset waits for the functions of the node. One that is refused must not wait:
 * it would be applied at some later time. */
static int take(struct engine *g, struct ui *u, struct preset_take *presets, const char *name,
                const struct options *o, struct err *e)
{
    struct settings s;
    char line[100];

    snprintf(line, sizeof line, "profile %.64s", name);
    if (o->preset) {
        if (engine_can_ask(g, e) < 0)
            return -1;
        preset_take_want(presets, o, line);
        return 0;
    }
    settings_map_from(o, &s);
    if (engine_take_settings(g, &s, e) < 0)
        return -1;
    preset_take_drop(presets); /* the last choice counts */
    snprintf(line, sizeof line, "profile %.64s is loaded", name);
    ui_message(u, line, false);
    return 0;
}

static void load(struct engine *g, struct ui *u, struct preset_take *presets,
                 const struct intent *in)
{
    char path[PROFILE_PATH_BYTES];
    struct err e = {{0}};
    struct options o = {.n_nodes = 0};
    struct settings s;
    bool read = profile_path(in->text, path, &e) == 0 && options_load(path, &o, &e) == 0;
    if (read)
        settings_map_from(&o, &s);
    if (read && !live_may_replace(g, u, in, &s)) { /* the operator was asked */
        options_release(&o);
        return;
    }
    if (!read || take(g, u, presets, in->text, &o, &e) < 0)
        ui_message(u, e.text, true);
    options_release(&o);
}

void live_profile(struct engine *g, struct ui *u, struct preset_take *presets,
                  const struct intent *in)
{
    if (in->kind == INTENT_SAVE)
        save(g, u, in);
    else if (in->kind == INTENT_LOAD)
        load(g, u, presets, in);
    else
        choose(u);
}
