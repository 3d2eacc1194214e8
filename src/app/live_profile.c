#include "live_profile.h"

#include "settings_map.h"
#include <errno.h>
#include <kprof/base/buf.h>
#include <kprof/base/format.h>
#include <kprof/cli/profile.h>
#include <kprof/cli/profile_save.h>
#include <stdio.h>
#include <string.h>

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

static void changed(struct buf *out, const char *what, const char *from, const char *to)
{
    if (strcmp(from, to) != 0)
        buf_addf(out, "%s %s %s -> %s", out->len ? "," : ":", what, from, to);
}

static const char *sample_text(uint32_t n, char out[FORMAT_BYTES])
{
    snprintf(out, FORMAT_BYTES, "1/%u", n ? n : 1);
    return out;
}

static const char *percent_text(uint32_t ppm, char out[FORMAT_BYTES])
{
    snprintf(out, FORMAT_BYTES, ppm ? "%.4g%%" : "none", ppm / 1e4);
    return out;
}

static const char *rate_text(uint64_t per_s, char out[FORMAT_BYTES])
{
    snprintf(out, FORMAT_BYTES, per_s ? "%llu/s" : "none", (unsigned long long)per_s);
    return out;
}

/* A profile can change the load on the node: its message names these changes. */
static void changes(const struct settings *from, const struct settings *to, struct buf *out)
{
    char a[FORMAT_BYTES], b[FORMAT_BYTES];

    changed(out, "sample", sample_text(from->sample, a), sample_text(to->sample, b));
    changed(out, "max-overhead", percent_text(from->max_overhead_ppm, a),
            percent_text(to->max_overhead_ppm, b));
    changed(out, "max-rate", rate_text(from->max_rate, a), rate_text(to->max_rate, b));
}

/* A profile with a preset waits for the functions of the node. One that is refused must not wait:
 * it would be applied at some later time. */
static int take(struct engine *g, struct ui *u, struct preset_take *presets, const char *name,
                const struct options *o, struct err *e)
{
    struct settings s, before;
    struct buf said;
    char line[300];

    snprintf(line, sizeof line, "profile %.64s", name);
    if (o->preset) {
        if (engine_can_ask(g, e) < 0)
            return -1;
        preset_take_want(presets, o, line);
        return 0;
    }
    settings_map_from(o, &s);
    if (engine_settings(g, &before, e) < 0 || engine_take_settings(g, &s, e) < 0)
        return -1;
    preset_take_drop(presets); /* the last choice counts */
    buf_init(&said, 0);
    changes(&before, &s, &said);
    snprintf(line, sizeof line, "profile %.64s is loaded%.200s", name, said.data);
    buf_release(&said);
    ui_message(u, line, false);
    return 0;
}

/* The present settings, with those that the profile has. */
static int read(struct engine *g, const char *name, struct options *o, struct err *e)
{
    char path[PROFILE_PATH_BYTES];
    struct settings now;

    if (profile_path(name, path, e) < 0 || engine_settings(g, &now, e) < 0)
        return -1;
    settings_map_to(&now, o);
    return options_load_over(path, o, e);
}

static void load(struct engine *g, struct ui *u, struct preset_take *presets,
                 const struct intent *in)
{
    struct err e = {{0}};
    struct options o = {.n_nodes = 0};
    struct settings s;
    bool is_read = read(g, in->text, &o, &e) == 0;
    if (is_read)
        settings_map_from(&o, &s);
    if (is_read && !live_may_replace(g, u, in, &s)) { /* the operator was asked */
        options_release(&o);
        return;
    }
    if (!is_read || take(g, u, presets, in->text, &o, &e) < 0)
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
