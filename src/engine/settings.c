/* The present configuration as a value, and a value as the new configuration. */
#include "settings.h"

#include "configuration.h"
#include "rule_syntax.h"
#include "slow_pump.h"

#include <kprof/erl/term.h>
#include <string.h>

int engine_settings(const struct engine *g, struct settings *out, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    memset(out, 0, sizeof *out);
    if (engine_may_set(g, e) < 0)
        return -1;
    for (uint16_t i = 0; i < g->configuration.wanted.n; i++) {
        const struct tier *from = &t->tier[g->configuration.wanted.tier[i].ix];
        struct tier_spec *to = &out->tier[out->n_tiers++];
        err_copy(to->name, sizeof to->name, from->name);
        err_copy(to->mfa, sizeof to->mfa, from->mfa);
    }
    out->entry_none =
        g->configuration.wanted.n && g->configuration.wanted.entry == TRACE_CONFIG_NO_ENTRY;
    if (g->configuration.wanted.entry != TRACE_CONFIG_NO_ENTRY)
        out->entry = t->tier[g->configuration.wanted.entry].name;
    if (g->configuration.wanted.identity[0])
        out->identity = g->configuration.wanted.identity;
    out->slow_ns = g->slow.threshold_ns;
    out->sample = g->configuration.wanted.sample;
    out->mailbox = g->configuration.wanted.mailbox;
    out->detail = g->configuration.wanted.detail;
    out->returns = g->configuration.wanted.lean ? RETURNS_LEAN : RETURNS_FULL;
    out->max_age_ns = g->configuration.wanted.max_age_ms * 1000000u;
    out->cooldown_ns = g->configuration.wanted.cooldown_ms * 1000000u;
    out->max_rate = g->configuration.wanted.max_rate;
    out->max_overhead_ppm = (uint32_t)g->configuration.wanted.max_cost_ppm;
    out->all_the_time = g->run.all_the_time;
    return 0;
}

static bool wanted(const struct settings *s, const struct tier *t)
{
    for (size_t i = 0; i < s->n_tiers; i++)
        if (strcmp(s->tier[i].name, t->name) == 0 && strcmp(s->tier[i].mfa, t->mfa) == 0)
            return true;
    return false;
}

static bool there(const struct engine *g, const struct tier_spec *want)
{
    const struct tierset *t = core_tiers(g->core);
    for (uint16_t i = 0; i < t->n; i++)
        if (t->tier[i].active && strcmp(t->tier[i].name, want->name) == 0 &&
            strcmp(t->tier[i].mfa, want->mfa) == 0)
            return true;
    return false;
}

size_t engine_would_go(const struct engine *g, const struct settings *s)
{
    const struct tierset *t = core_tiers(g->core);
    size_t n = 0;
    for (uint16_t i = 0; i < t->n; i++)
        n += t->tier[i].active && !wanted(s, &t->tier[i]);
    return n;
}

/* Tiers that stay keep their values. */
static int take_tiers(struct engine *g, const struct settings *s, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    for (uint16_t i = 0; i < t->n; i++)
        if (t->tier[i].active && !wanted(s, &t->tier[i]) && engine_tier_remove(g, i, e) < 0)
            return -1;
    for (size_t i = 0; i < s->n_tiers; i++) {
        if (there(g, &s->tier[i]))
            continue;
        if (engine_tier_add(g, &s->tier[i], e) < 0)
            return -1;
    }
    return 0;
}

void settings_apply(struct engine *g, const struct settings *s)
{
    slow_pump_set_threshold(g, s->slow_ns);
    g->slow.chosen = s->slow_ns != 0;
    g->configuration.wanted.sample = s->sample;
    g->configuration.wanted.mailbox = s->mailbox;
    g->configuration.wanted.detail = s->detail;
    g->configuration.wanted.lean = s->returns == RETURNS_LEAN;
    core_set_returns(g->core, s->returns);
    g->configuration.wanted.max_age_ms = s->max_age_ns / 1000000u;
    guard_limit(&g->liveness.guard, s->max_age_ns);
    g->configuration.wanted.cooldown_ms = s->cooldown_ns / 1000000u;
    g->configuration.wanted.max_rate = s->max_rate;
    g->configuration.wanted.max_cost_ppm = s->max_overhead_ppm;
    g->run.all_the_time = s->all_the_time;
}

static bool is_same(const struct mfa *a, const struct mfa *b)
{
    return a->arity == b->arity && strcmp(a->module, b->module) == 0 &&
           strcmp(a->function, b->function) == 0;
}

static int check_tiers(const struct engine *g, const struct settings *s, struct err *e)
{
    struct mfa mfa[TIER_MAX];
    size_t at, added = 0;

    memset(mfa, 0, sizeof mfa);
    for (size_t i = 0; i < s->n_tiers; i++) {
        const struct tier_spec *t = &s->tier[i];
        if (!term_parse_mfa(t->mfa, &mfa[i], &at))
            return err_set(e, "tier %s: cannot read \"%s\" at character %zu", t->name, t->mfa,
                           at + 1);
        for (size_t k = 0; k < i; k++)
            if (is_same(&mfa[i], &mfa[k]))
                return err_set(e, "%s is given twice, as tiers %s and %s; leave one out", t->mfa,
                               s->tier[k].name, t->name);
        added += !there(g, t);
    }
    if (core_tiers(g->core)->n + added > TIER_MAX)
        return err_set(e,
                       "cannot add %zu tiers: this session would use more than %d tier numbers; "
                       "restart kprof-top",
                       added, TIER_MAX);
    return 0;
}

/* Everything that can be refused without the node, before anything is changed. */
static int check(const struct engine *g, const struct settings *s, const char *entry, struct err *e)
{
    const char *rule = s->identity ? s->identity : "";
    bool is_entry = strcmp(entry, "none") == 0;

    for (size_t i = 0; i < s->n_tiers; i++)
        is_entry |= strcmp(s->tier[i].name, entry) == 0;
    if (engine_may_set(g, e) < 0 || check_tiers(g, s, e) < 0)
        return -1;
    if (!is_entry)
        return err_set(e, "no tier has the name \"%s\": the entry must be a tier, or none", entry);
    if (strlen(rule) >= sizeof g->configuration.wanted.identity)
        return err_set(e, "the identity rule is longer than %zu bytes",
                       sizeof g->configuration.wanted.identity - 1);
    return rule_syntax_check(rule, e);
}

int engine_take_settings(struct engine *g, const struct settings *s, struct err *e)
{
    const char *entry = s->entry_none ? "none"
                        : s->entry    ? s->entry
                        : s->n_tiers  ? s->tier[0].name
                                      : "none";
    if (check(g, s, entry, e) < 0 || take_tiers(g, s, e) < 0 || engine_entry(g, entry, e) < 0)
        return -1;
    settings_apply(g, s);
    if (engine_identity(g, s->identity ? s->identity : "", e) < 0)
        return -1;
    g->configuration.identity_gen = 0; /* the caller shows one message for all settings; the message
                                          about the rule must not replace it */
    return 0;
}

int engine_first_settings(struct engine *g, struct err *e)
{
    const struct settings *s = &g->run;

    for (size_t i = 0; i < s->n_tiers; i++) {
        if (engine_tier_add(g, &s->tier[i], e) < 0)
            return -1;
    }
    if (s->entry && engine_entry(g, s->entry, e) < 0)
        return -1;
    if (s->entry_none && engine_entry(g, "none", e) < 0)
        return -1;
    return s->identity ? engine_identity(g, s->identity, e) : 0;
}
