#include "live_suggest.h"

#include "live_profile.h"
#include "settings_map.h"
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 150

static bool has_tier(const struct engine *g)
{
    const struct tierset *t = engine_tiers(g);

    for (uint16_t i = 0; i < t->n; i++)
        if (t->tier[i].active)
            return true;
    return false;
}

void live_suggest_about(const struct live_suggest *p, char *text, size_t cap)
{
    const struct suggestion *s = &p->survey.found;

    if (p->survey.state == SURVEY_FOUND)
        snprintf(text, cap, "%.50s and %zu more tier%s, from the calls of one second",
                 s->tier[0].mfa, s->n - 1, s->n == 2 ? "" : "s");
    else
        snprintf(text, cap, "counts calls for a second, then shows tiers to choose from");
}

/* A line for each tier, one for the rule. */
static void open_lines(struct live_suggest *p, struct ui *u)
{
    const struct suggestion *s = &p->survey.found;
    char text[SUGGEST_TIERS + 1][LINE_BYTES];
    const char *item[SUGGEST_TIERS + 1];
    size_t n = s->n;

    for (size_t i = 0; i < s->n; i++)
        snprintf(text[i], LINE_BYTES, "%-5s %-12.40s %-40.70s %.0f/s", i ? "tier" : "entry",
                 s->tier[i].name, s->tier[i].mfa, s->per_s[i] < 1 ? 1 : s->per_s[i]);
    if (s->identity[0])
        snprintf(text[n++], LINE_BYTES, "names requests by %.40s", s->named_by);
    for (size_t i = 0; i < n; i++)
        item[i] = text[i];
    if (ui_tick(u, INTENT_SUGGESTED, "Suggested: Enter traces these, Space leaves one out", item,
                n))
        ui_message(u, "", false); /* remove the message that calls are counted */
    else
        ui_message(u, "the suggestion is ready: press P", false);
}

void live_suggest_open(struct live_suggest *p, struct engine *g, struct ui *u)
{
    struct err e = {{0}};

    if (p->survey.state == SURVEY_FOUND) {
        open_lines(p, u);
        return;
    }
    if (engine_can_ask(g, &e) < 0) {
        ui_message(u, e.text, true);
        return;
    }
    if (!survey_runs(&p->survey))
        survey_begin(&p->survey, g);
    p->asked = true;
    ui_message(u, "counting calls for a second ...", false);
}

/* For the table without tiers: "request (shop:handle/1), db, mailer" */
static void tell_start(const struct suggestion *s, struct ui *u)
{
    char text[300];
    int used = snprintf(text, sizeof text, "%.40s (%.100s)", s->tier[0].name, s->tier[0].mfa);

    for (size_t i = 1; i < s->n && used > 0 && (size_t)used < sizeof text; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, ", %.40s", s->tier[i].name);
    ui_set_suggested(u, text);
}

static void tell(struct live_suggest *p, struct engine *g, struct ui *u)
{
    const struct suggestion *s = &p->survey.found;
    bool asked = p->asked;
    char line[300];

    p->asked = false;
    if (p->survey.state == SURVEY_FAILED) {
        engine_note(g, p->survey.why.text);
        if (asked)
            ui_message(u, p->survey.why.text, true);
        return;
    }
    snprintf(line, sizeof line, "suggested: %.100s and %zu more tier%s; P shows them",
             s->tier[0].mfa, s->n - 1, s->n == 2 ? "" : "s");
    engine_note(g, line);
    tell_start(s, u);
    if (asked)
        open_lines(p, u);
}

void live_suggest_poll(struct live_suggest *p, struct engine *g, struct ui *u)
{
    struct err e;

    if (!p->looked && engine_state(g) == ENGINE_UP) {
        p->looked = true;
        if (engine_can_ask(g, &e) == 0 && !has_tier(g))
            survey_begin(&p->survey, g);
    }
    if (survey_poll(&p->survey, g))
        tell(p, g, u);
}

/* The present settings, with the ticked tiers, entry and rule. */
static int settings_with(const struct live_suggest *p, struct engine *g, const char *ticks,
                         struct options *o, struct err *e)
{
    const struct suggestion *s = &p->survey.found;
    bool keep[SUGGEST_TIERS] = {false};
    struct settings now;
    size_t n = strlen(ticks);

    options_defaults(o);
    if (engine_settings(g, &now, e) < 0)
        return -1;
    settings_map_clear_tiers(&now);
    settings_map_to(&now, o);
    for (size_t i = 0; i < s->n; i++)
        keep[i] = i < n && ticks[i] == '1';
    suggest_fill(s, keep, s->n < n && ticks[s->n] == '1', o);
    if (!o->n_tiers)
        return err_set(e, "no tier is ticked");
    return 0;
}

void live_suggest_take(struct live_suggest *p, struct engine *g, struct ui *u,
                       const struct intent *in)
{
    struct settings with;
    struct err e = {{0}};
    struct options o;
    char line[200];

    if (p->survey.state != SURVEY_FOUND)
        return;
    int rc = settings_with(p, g, in->text, &o, &e);
    if (rc == 0) {
        settings_map_from(&o, &with);
        if (!live_may_replace(g, u, in, &with)) { /* the operator was asked */
            options_release(&o);
            return;
        }
        rc = engine_take_settings(g, &with, &e);
    }
    snprintf(line, sizeof line, "preset suggested: %zu tier%s set; W saves them as a profile",
             o.n_tiers, o.n_tiers == 1 ? " is" : "s are");
    if (rc == 0)
        engine_note(g, line);
    ui_message(u, rc == 0 ? line : e.text, rc < 0);
    options_release(&o);
}
