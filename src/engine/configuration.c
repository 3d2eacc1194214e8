#include "configuration.h"

#include "replaying.h"
#include "session_log.h"
#include "slow_pump.h"

#include <kprof/base/clock.h>
#include <kprof/base/low_priority.h>
#include <kprof/erl/term.h>
#include <stdio.h>
#include <string.h>

void configuration_record(struct engine *g)
{
    struct recording_meta m = {.start_native = g->connection.info.start_native,
                               .units_per_s = g->connection.info.units_per_s,
                               .wall_ns = clock_wall_ns(),
                               .sample = g->configuration.wanted.sample,
                               .tiers = *core_tiers(g->core)};
    struct buf b;

    if (!g->recorder || g->state != ENGINE_UP)
        return;
    snprintf(m.node, sizeof m.node, "%s", g->connection.info.node);
    snprintf(m.otp, sizeof m.otp, "%s", g->connection.info.otp);
    buf_init(&b, 0);
    recording_meta_write(&m, &b);
    recorder_write(g->recorder, RECORD_META, clock_mono_ns(), b.data, b.len);
    recorder_slow(g->recorder, clock_mono_ns(), g->slow.threshold_ns);
    buf_release(&b);
}

void configuration_push(struct engine *g)
{
    g->configuration.changes++;
    if (g->control)
        g->configuration.gen = control_configure(g->control, &g->configuration.wanted);
    configuration_record(g);
}

int engine_may_set(const struct engine *g, struct err *e)
{
    if (!g->replay.file)
        return 0;
    return err_set(e, "not possible in a replay: there is no node");
}

int engine_tier_add(struct engine *g, const struct tier_spec *spec, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    struct trace_config *w = &g->configuration.wanted;
    struct mfa mfa;
    size_t at;

    memset(&mfa, 0, sizeof mfa);
    if (engine_may_set(g, e) < 0)
        return -1;
    if (!term_parse_mfa(spec->mfa, &mfa, &at))
        return err_set(e,
                       "cannot read \"%s\" at character %zu: write module:function/arity, or "
                       "My.Module.function/arity",
                       spec->mfa, at + 1);
    for (uint16_t i = 0; i < w->n; i++) {
        const struct mfa *have = &w->tier[i].mfa;
        if (have->arity == mfa.arity && strcmp(have->module, mfa.module) == 0 &&
            strcmp(have->function, mfa.function) == 0)
            return err_set(e, "%s is already traced, as tier %s", spec->mfa,
                           t->tier[w->tier[i].ix].name);
    }
    uint16_t ix = core_tier_add(g->core, spec->name, spec->mfa);
    if (ix == TIER_NONE)
        return err_set(
            e, "cannot add %s: this session has used all %d tier numbers; restart kprof-top",
            spec->name, TIER_MAX);
    w->tier[w->n] = (struct traced_function){.ix = ix};
    w->tier[w->n].mfa = mfa;
    /* the first tier is the entry until the operator chooses another */
    if (w->n++ == 0 && !g->run.entry_none) {
        w->entry = ix;
        core_set_entry(g->core, ix);
    }
    configuration_push(g);
    return 0;
}

const struct tierset *engine_tiers(const struct engine *g)
{
    return core_tiers(g->core);
}

int engine_tier_remove(struct engine *g, uint16_t tier, struct err *e)
{
    if (engine_may_set(g, e) < 0)
        return -1;
    for (uint16_t i = 0; i < g->configuration.wanted.n; i++) {
        if (g->configuration.wanted.tier[i].ix != tier)
            continue;
        memmove(&g->configuration.wanted.tier[i], &g->configuration.wanted.tier[i + 1],
                (size_t)(g->configuration.wanted.n - i - 1) *
                    sizeof g->configuration.wanted.tier[0]);
        g->configuration.wanted.n--;
        core_tier_remove(g->core, tier);
        if (g->configuration.wanted.entry == tier) {
            g->configuration.wanted.entry = g->configuration.wanted.n
                                                ? g->configuration.wanted.tier[0].ix
                                                : TRACE_CONFIG_NO_ENTRY;
            core_set_entry(g->core,
                           g->configuration.wanted.n ? g->configuration.wanted.entry : TIER_NONE);
        }
        configuration_push(g);
        return 0;
    }
    return err_set(e, "select a tier to remove");
}

int engine_entry(struct engine *g, const char *name, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    uint16_t to = TIER_NONE;

    if (engine_may_set(g, e) < 0)
        return -1;
    for (uint16_t i = 0; i < t->n && strcmp(name, "none") != 0; i++) {
        if (t->tier[i].active && strcmp(t->tier[i].name, name) == 0)
            to = i;
    }
    if (to == TIER_NONE && strcmp(name, "none") != 0)
        return err_set(e, "no tier has the name \"%s\": the entry must be a tier, or none", name);
    g->configuration.wanted.entry = to == TIER_NONE ? TRACE_CONFIG_NO_ENTRY : to;
    core_set_entry(g->core, to);
    configuration_push(g);
    return 0;
}

int engine_identity(struct engine *g, const char *rule, struct err *e)
{
    if (engine_may_set(g, e) < 0)
        return -1;
    if (strlen(rule) >= sizeof g->configuration.wanted.identity)
        return err_set(e, "the identity rule is longer than %zu bytes",
                       sizeof g->configuration.wanted.identity - 1);
    if (strcmp(g->configuration.wanted.identity, rule) != 0)
        stream_new_rule(g->stream);
    snprintf(g->configuration.wanted.identity, sizeof g->configuration.wanted.identity, "%s", rule);
    g->configuration.rule_said[0] = 0;
    core_set_identity(g->core, rule[0] != 0);
    configuration_push(g);
    g->configuration.identity_gen = g->configuration.rule_gen = g->configuration.gen;
    return 0;
}

const char *engine_rule(const struct engine *g)
{
    return g->configuration.wanted.identity;
}

void engine_toggle(struct engine *g)
{
    if (g->replay.file) {
        replaying_toggle(g);
        return;
    }
    g->configuration.wanted.tracing = !g->configuration.wanted.tracing;
    session_log_say(g,
                    g->configuration.wanted.tracing
                        ? "tracing on"
                        : "tracing off: flags are removed from the node",
                    false);
    configuration_push(g);
}

void engine_mailbox(struct engine *g)
{
    struct trace_config *w = &g->configuration.wanted;
    struct err e;

    if (engine_may_set(g, &e) < 0)
        return;
    w->mailbox = !w->mailbox;
    session_log_say(g,
                    !w->mailbox ? "the time in mailboxes is no longer measured"
                    : w->entry == TRACE_CONFIG_NO_ENTRY
                        ? "the time in mailboxes is measured when there is an entry (E)"
                        : "the time in mailboxes is measured: MBOX50, MBOX99, BUSY",
                    false);
    configuration_push(g);
}

void engine_sample(struct engine *g, bool up)
{
    uint32_t n = g->configuration.wanted.sample;
    char line[100];

    if (g->replay.file) {
        replaying_faster(g, up);
        return;
    }
    n = up ? (n > 1 ? n / 2 : 1)
           : (n < 100000 ? n * 2 : n); /* up: sample more requests, so N gets smaller */
    if (n == g->configuration.wanted.sample) {
        session_log_say(
            g, up ? "every request is already sampled" : "sampling is already at its minimum",
            false);
        return;
    }
    g->configuration.wanted.sample = n;
    if (n == 1)
        snprintf(line, sizeof line, "tracing every request");
    else
        snprintf(line, sizeof line, "tracing 1 of %u requests, each as a whole; COUNT is estimated",
                 n);
    session_log_say(g, line, false);
    configuration_push(g);
}

void engine_zero(struct engine *g)
{
    slow_pump_run(g, true);
    core_zero(g->core);
    g->slow.done = 0;
    session_log_add(g, "statistics reset");
}
