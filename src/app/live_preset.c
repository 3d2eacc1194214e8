#include "live_preset.h"

#include "live_profile.h"
#include "settings_map.h"
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

#define ITEM_BYTES 130
#define MINUTE_NS  60000000000u
#define COUNTED_NS 8000000000u /* the first count of calls has usually ended after this time */

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

static bool fits(const struct live_preset *p, size_t i)
{
    struct preset_set s;
    struct err ignored;

    return !preset_asks(preset_name(i)) &&
           preset_make(preset_name(i), said_of(p->there, preset_name(i)), &s, &ignored) == 0;
}

/* Calls per second of the preset's first tier; negative: not known. */
static float calls_of(const struct live_preset *p, size_t i)
{
    const struct survey *s = &p->suggest->survey;

    return s->counts ? s->preset_per_s[i] : CATALOG_UNCOUNTED;
}

static bool is_busier(const struct live_preset *p, size_t i, size_t than)
{
    float a = calls_of(p, i), b = calls_of(p, than);

    return a > 0 && a > b;
}

/* The presets that fit the node, the one that is called most first; those that are not called, or
 * were not counted, in the order of the table. Returns how many. */
static size_t in_order(const struct live_preset *p, size_t order[PRESETS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < preset_count(); i++) {
        if (!fits(p, i))
            continue;
        size_t at = n++;
        for (; at > 0 && is_busier(p, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

struct list {
    char text[LIVE_PRESETS][ITEM_BYTES];
    const char *item[LIVE_PRESETS];
    size_t n;
};

/* Calls per second have a column of their own once they were counted. */
static void add_item(struct list *l, const struct live_preset *p, const char *name, float per_s,
                     const char *about)
{
    char rate[FORMAT_BYTES] = "", column[FORMAT_BYTES + 8] = "";

    if (l->n == LIVE_PRESETS)
        return;
    if (per_s >= 0)
        format_rate((double)per_s, rate);
    if (p->suggest->survey.counts)
        snprintf(column, sizeof column, "%6s%-2s  ", rate, rate[0] ? "/s" : "");
    snprintf(l->text[l->n], ITEM_BYTES, "%-10s %s%s", name, column, about);
    l->item[l->n] = l->text[l->n];
    l->n++;
}

static void add_preset(struct list *l, const struct live_preset *p, size_t i)
{
    const char *name = preset_name(i);
    char about[ITEM_BYTES];
    struct preset_set s;
    struct err ignored;

    snprintf(about, sizeof about, "%s", preset_about(i));
    if (!preset_asks(name) && preset_make(name, said_of(p->there, name), &s, &ignored) == 0 &&
        s.n < s.all)
        snprintf(about + strlen(about), sizeof about - strlen(about), " (%zu of %zu tiers)", s.n,
                 s.all);
    add_item(l, p, name, preset_asks(name) ? CATALOG_UNCOUNTED : calls_of(p, i), about);
}

/* The presets that fit, the suggestion, then those that fit any node. */
static void make_list(const struct live_preset *p, struct list *l)
{
    size_t order[PRESETS_MAX], n = in_order(p, order);
    char about[ITEM_BYTES];

    l->n = 0;
    for (size_t i = 0; i < n && i + 1 < LIVE_PRESETS; i++)
        add_preset(l, p, order[i]);
    live_suggest_about(p->suggest, about, sizeof about);
    add_item(l, p, LIVE_SUGGEST_NAME, CATALOG_UNCOUNTED, about);
    for (size_t i = 0; i < preset_count(); i++)
        if (preset_asks(preset_name(i)))
            add_preset(l, p, i);
}

/* The menu borrows it. */
static const char *title(struct live_preset *p)
{
    const struct survey *s = &p->suggest->survey;
    unsigned min = (unsigned)((clock_mono_ns() - s->counted_ns) / MINUTE_NS);
    int n = snprintf(p->title, sizeof p->title, "Presets for this node%s",
                     survey_runs(s) ? "; counting their calls ..."
                     : s->counts    ? ", with calls/s of their first tier"
                                    : "");

    if (s->counts && !survey_runs(s) && min)
        snprintf(p->title + n, sizeof p->title - (size_t)n, " %u min ago", min);
    return p->title;
}

static void offer(struct live_preset *p, struct ui *u)
{
    struct list l;

    p->offer_ns = 0;
    make_list(p, &l);
    if (ui_choose(u, INTENT_PRESET, title(p), l.item, l.n))
        ui_message(u, "", false); /* removes the message about the request */
    else
        ui_message(u, "the presets for this node are ready: press P", false);
}

/* Names the presets on the table without tiers, without those for one module. */
static void tell_start(const struct live_preset *p, struct ui *u)
{
    size_t order[PRESETS_MAX], n = in_order(p, order);
    char names[300] = "", rate[FORMAT_BYTES];
    struct preset_set s;
    struct err ignored;

    for (size_t i = 0; i < n; i++) {
        const char *name = preset_name(order[i]);
        float per_s = calls_of(p, order[i]);
        size_t used = strlen(names);
        preset_make(name, said_of(p->there, name), &s, &ignored);
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
        if (per_s > 0 && used < sizeof names) {
            format_rate((double)per_s, rate);
            used += (size_t)snprintf(names + used, sizeof names - used, " %s/s", rate);
        }
        if (s.n < s.all && used < sizeof names)
            snprintf(names + used, sizeof names - used, " (%zu of %zu)", s.n, s.all);
    }
    ui_set_presets(u, names);
}

/* A count of calls has begun or ended. An open list is brought up to date. */
static void tell_counts(struct live_preset *p, struct ui *u)
{
    struct list l;

    p->counts = p->suggest->survey.counts;
    p->counting = survey_runs(&p->suggest->survey);
    if (!p->known)
        return;
    make_list(p, &l);
    ui_choose_again(u, INTENT_PRESET, title(p), l.item, l.n);
    tell_start(p, u);
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

/* True: kprof-top is attaching, and P need not be pressed again. After a lost connection it must
 * be: a list that opens much later would take the keys that are meant for something else. */
static bool wait_for_node(struct live_preset *p, const struct engine *g, struct ui *u)
{
    p->wanted = engine_state(g) == ENGINE_CONNECTING;
    if (p->wanted)
        ui_message(u, "waiting for the node: presets appear when kprof-top is attached", false);
    return p->wanted;
}

/* Without this wait, the list would open and then change its order under the cursor. */
static bool is_first_count(const struct live_preset *p)
{
    return survey_runs(&p->suggest->survey) && !p->suggest->survey.counts;
}

static void take_all(struct live_preset *p, const struct engine *g, struct ui *u, uint16_t tag,
                     const bool *there, const char *why)
{
    if (why && tag == TAG_OFFER && !wait_for_node(p, g, u))
        ui_message(u, why, true);
    if (why)
        return;
    memcpy(p->there, there, sizeof p->there);
    p->known = true;
    tell_start(p, u);
    if (tag == TAG_OFFER && is_first_count(p)) {
        p->offer_ns = clock_mono_ns() + COUNTED_NS;
        ui_message(u, "counting calls for a second: the preset that is called most comes first",
                   false);
    } else if (tag == TAG_OFFER) {
        offer(p, u);
    }
}

void live_preset_exist(struct live_preset *p, struct engine *g, struct ui *u, uint16_t tag,
                       const bool *there, const char *why)
{
    if (preset_take_is_mine(&p->take, tag))
        taken(p, g, u, there, why);
    else if (tag == TAG_OFFER || tag == TAG_START)
        take_all(p, g, u, tag, there, why);
}

static void ask(struct live_preset *p, struct engine *g, struct ui *u)
{
    struct err e = {{0}};

    if (engine_can_ask(g, &e) < 0 && wait_for_node(p, g, u))
        return;
    p->wanted = false;
    if (ask_all(g, TAG_OFFER, &e) < 0)
        ui_message(u, e.text, true);
    else
        ui_message(u, "asking the node which presets it supports ...", false);
}

void live_preset_poll(struct live_preset *p, struct engine *g, struct ui *u)
{
    struct err ignored;

    preset_take_poll(&p->take, g);
    if (p->counts != p->suggest->survey.counts || p->counting != survey_runs(&p->suggest->survey))
        tell_counts(p, u);
    if (p->offer_ns && (!is_first_count(p) || clock_mono_ns() > p->offer_ns))
        offer(p, u);
    if (engine_can_ask(g, &ignored) < 0)
        return;
    if (p->wanted)
        ask(p, g, u);
    else if (!p->start_asked && engine_tiers(g)->n == 0 && !preset_take_wanted(&p->take))
        ask_all(g, TAG_START, &ignored);
    p->start_asked = true; /* once, even if it fails: P sends it again */
}

/* The catalog has the modules that the prompt proposes. */
static void ask_for_module(struct engine *g, struct ui *u, const char *text)
{
    ui_reprompt(u, INTENT_PRESET, text, strlen(text),
                "write the module after the colon; Tab proposes modules of this node");
    engine_catalog_open(g);
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
        ask_for_module(g, u, text);
    else if (!may_replace(p, g, u, name, in))
        return;
    else if (want(p, g, name, &e) < 0)
        ui_reprompt(u, INTENT_PRESET, name, strlen(name), e.text);
    else
        ui_message(u, "asking the node which functions of the preset it has ...", false);
}

void live_preset(struct live_preset *p, struct engine *g, struct ui *u, const struct intent *in)
{
    if (in->kind == INTENT_PRESET)
        take(p, g, u, in);
    else
        ask(p, g, u);
}
