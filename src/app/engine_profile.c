/* The settings of now as options, and options as the settings of now: what a profile keeps. */
#include "engine_impl.h"

#include <kprof/base/buf.h>
#include <stdio.h>
#include <string.h>

int engine_settings(const struct engine *g, struct options *out, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    options_defaults(out);
    if (engine_may_set(g, e) < 0)
        return -1;
    for (uint16_t i = 0; i < g->trace_config.n; i++) {
        const struct tier *from = &t->tier[g->trace_config.tier[i].ix];
        struct option_tier *to = &out->tier[out->n_tiers++];
        err_copy(to->name, sizeof to->name, from->name);
        err_copy(to->mfa, sizeof to->mfa, from->mfa);
    }
    out->entry_none = g->trace_config.n && g->trace_config.entry == TRACE_CONFIG_NO_ENTRY;
    if (g->trace_config.entry != TRACE_CONFIG_NO_ENTRY)
        out->entry = buf_dup(t->tier[g->trace_config.entry].name);
    if (g->trace_config.identity[0])
        out->identity = buf_dup(g->trace_config.identity);
    out->slow_ns = g->slow_ns;
    out->sample = g->trace_config.sample;
    out->returns = g->trace_config.lean ? RETURNS_LEAN : RETURNS_FULL;
    out->max_age_ns = g->trace_config.max_age_ms * 1000000u;
    out->cooldown_ns = g->trace_config.cooldown_ms * 1000000u;
    out->max_rate = g->trace_config.max_rate;
    out->max_overhead_ppm = (uint32_t)g->trace_config.max_cost_ppm;
    return 0;
}

static bool wanted(const struct options *o, const struct tier *t)
{
    for (size_t i = 0; i < o->n_tiers; i++)
        if (strcmp(o->tier[i].name, t->name) == 0 && strcmp(o->tier[i].mfa, t->mfa) == 0)
            return true;
    return false;
}

static bool there(const struct engine *g, const struct option_tier *want)
{
    const struct tierset *t = core_tiers(g->core);
    for (uint16_t i = 0; i < t->n; i++)
        if (t->tier[i].active && strcmp(t->tier[i].name, want->name) == 0 &&
            strcmp(t->tier[i].mfa, want->mfa) == 0)
            return true;
    return false;
}

size_t engine_would_go(const struct engine *g, const struct options *o)
{
    const struct tierset *t = core_tiers(g->core);
    size_t n = 0;
    for (uint16_t i = 0; i < t->n; i++)
        n += t->tier[i].active && !wanted(o, &t->tier[i]);
    return n;
}

/* Those that stay keep their figures. */
static int take_tiers(struct engine *g, const struct options *o, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    char text[sizeof o->tier[0].name + sizeof o->tier[0].mfa + 2];
    for (uint16_t i = 0; i < t->n; i++)
        if (t->tier[i].active && !wanted(o, &t->tier[i]) && engine_tier_remove(g, i, e) < 0)
            return -1;
    for (size_t i = 0; i < o->n_tiers; i++) {
        if (there(g, &o->tier[i]))
            continue;
        snprintf(text, sizeof text, "%s=%s", o->tier[i].name, o->tier[i].mfa);
        if (engine_tier_add(g, text, e) < 0)
            return -1;
    }
    return 0;
}

int engine_take_settings(struct engine *g, const struct options *o, struct err *e)
{
    const char *entry = o->entry_none ? "none"
                        : o->entry    ? o->entry
                        : o->n_tiers  ? o->tier[0].name
                                      : "none";
    if (engine_may_set(g, e) < 0 || take_tiers(g, o, e) < 0 || engine_entry(g, entry, e) < 0)
        return -1;
    engine_set_slow(g, o->slow_ns);
    g->trace_config.sample = o->sample;
    g->trace_config.lean = o->returns == RETURNS_LEAN;
    core_set_returns(g->core, o->returns);
    g->trace_config.max_age_ms = o->max_age_ns / 1000000u;
    guard_limit(&g->guard, o->max_age_ns);
    g->trace_config.cooldown_ms = o->cooldown_ns / 1000000u;
    g->trace_config.max_rate = o->max_rate;
    g->trace_config.max_cost_ppm = o->max_overhead_ppm;
    if (engine_identity(g, o->identity ? o->identity : "", e) < 0)
        return -1;
    g->identity_gen = 0; /* the caller has a word for all of it: the rule's must not push it away */
    return 0;
}
