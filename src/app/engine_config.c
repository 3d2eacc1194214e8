/* What the operator wants, and what the control thread answers. */
#include "engine_impl.h"

#include <kprof/base/clock.h>
#include <kprof/base/yielding.h>
#include <kprof/erl/term.h>
#include <stdio.h>
#include <string.h>

void engine_say(struct engine *g, const char *text, bool is_error)
{
    if (g->hooks.message)
        g->hooks.message(g->hooks.arg, text, is_error);
}

void engine_log(struct engine *g, const char *text)
{
    size_t at = g->log_n++ % ENGINE_LOG;

    g->log[at].wall_ns = clock_wall_ns();
    err_copy(g->log[at].text, sizeof g->log[at].text, text);
}

void engine_log_once(struct engine *g, const char *text)
{
    if (!g->log_n || strcmp(g->log[(g->log_n - 1) % ENGINE_LOG].text, text) != 0)
        engine_log(g, text);
}

void engine_record_meta(struct engine *g)
{
    struct meta m = {.start_native = g->info.start_native,
                     .units_per_s = g->info.units_per_s,
                     .wall_ns = clock_wall_ns(),
                     .sample = g->trace_config.sample,
                     .tiers = *core_tiers(g->core)};
    struct buf b;

    if (!g->recorder || g->state != ENGINE_UP)
        return;
    snprintf(m.node, sizeof m.node, "%s", g->info.node);
    snprintf(m.otp, sizeof m.otp, "%s", g->info.otp);
    buf_init(&b, 0);
    meta_write(&m, &b);
    recorder_write(g->recorder, RECORD_META, clock_mono_ns(), b.data, b.len);
    buf_release(&b);
}

void engine_push_config(struct engine *g)
{
    if (g->control)
        g->trace_config_gen = control_wish(g->control, &g->trace_config);
    engine_record_meta(g);
}

int engine_may_set(const struct engine *g, struct err *e)
{
    if (!g->replay)
        return 0;
    return err_set(e, "not possible in a replay: there is no node");
}

/* The name it was given, or one by its function, unlike those of now. */
static void name_tier(const struct tierset *t, struct option_tier *ot)
{
    struct option_tier taken[TIER_MAX];
    size_t n = 0;

    for (uint16_t i = 0; i < t->n; i++) {
        if (t->tier[i].active)
            err_copy(taken[n++].name, sizeof taken[0].name, t->tier[i].name);
    }
    options_tier_name(ot, taken, n);
}

int engine_tier_add(struct engine *g, const char *text, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    struct option_tier ot;
    struct mfa mfa;
    size_t at;

    memset(&mfa, 0, sizeof mfa);
    if (engine_may_set(g, e) < 0 || options_tier_parse(text, &ot, e) < 0)
        return -1;
    if (!term_parse_mfa(ot.mfa, &mfa, &at))
        return err_set(e,
                       "cannot read \"%s\" at character %zu: write module:function/arity, or "
                       "My.Module.function/arity",
                       ot.mfa, at + 1);
    for (uint16_t i = 0; i < g->trace_config.n; i++) {
        const struct mfa *have = &g->trace_config.tier[i].mfa;
        if (have->arity == mfa.arity && strcmp(have->module, mfa.module) == 0 &&
            strcmp(have->function, mfa.function) == 0)
            return err_set(e, "%s is already traced, as tier %s", ot.mfa,
                           t->tier[g->trace_config.tier[i].ix].name);
    }
    name_tier(t, &ot);
    uint16_t ix = core_tier_add(g->core, ot.name, ot.mfa);
    if (ix == TIER_NONE)
        return err_set(
            e, "cannot add %s: this session has used all %d tier numbers; restart kprof-top",
            ot.name, TIER_MAX);
    memset(&g->trace_config.tier[g->trace_config.n], 0, sizeof g->trace_config.tier[0]);
    g->trace_config.tier[g->trace_config.n].ix = ix;
    g->trace_config.tier[g->trace_config.n].mfa = mfa;
    if (g->trace_config.n++ == 0 &&
        !g->o->entry_none) { /* the first tier is the entry until another is chosen */
        g->trace_config.entry = ix;
        core_set_entry(g->core, ix);
    }
    engine_push_config(g);
    return 0;
}

int engine_tier_remove(struct engine *g, uint16_t tier, struct err *e)
{
    if (engine_may_set(g, e) < 0)
        return -1;
    for (uint16_t i = 0; i < g->trace_config.n; i++) {
        if (g->trace_config.tier[i].ix != tier)
            continue;
        memmove(&g->trace_config.tier[i], &g->trace_config.tier[i + 1],
                (size_t)(g->trace_config.n - i - 1) * sizeof g->trace_config.tier[0]);
        g->trace_config.n--;
        core_tier_remove(g->core, tier);
        if (g->trace_config.entry == tier) {
            g->trace_config.entry =
                g->trace_config.n ? g->trace_config.tier[0].ix : TRACE_CONFIG_NO_ENTRY;
            core_set_entry(g->core, g->trace_config.n ? g->trace_config.entry : TIER_NONE);
        }
        engine_push_config(g);
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
        return err_set(e, "no tier is called \"%s\": the entry must be a tier, or none", name);
    g->trace_config.entry = to == TIER_NONE ? TRACE_CONFIG_NO_ENTRY : to;
    core_set_entry(g->core, to);
    engine_push_config(g);
    return 0;
}

int engine_identity(struct engine *g, const char *rule, struct err *e)
{
    if (engine_may_set(g, e) < 0)
        return -1;
    if (strlen(rule) >= sizeof g->trace_config.identity)
        return err_set(e, "the identity rule is longer than %zu bytes",
                       sizeof g->trace_config.identity - 1);
    snprintf(g->trace_config.identity, sizeof g->trace_config.identity, "%s", rule);
    core_set_identity(g->core, rule[0] != 0);
    engine_push_config(g);
    g->identity_gen = g->trace_config_gen;
    return 0;
}

const char *engine_rule(const struct engine *g)
{
    return g->trace_config.identity;
}

void engine_toggle(struct engine *g)
{
    if (g->replay) {
        replay_toggle(g);
        return;
    }
    g->trace_config.tracing = !g->trace_config.tracing;
    engine_say(
        g, g->trace_config.tracing ? "tracing on" : "tracing off: flags are removed from the node",
        false);
    engine_push_config(g);
}

void engine_sample(struct engine *g, bool up)
{
    uint32_t n = g->trace_config.sample;
    char line[100];

    if (g->replay) {
        replay_faster(g, up);
        return;
    }
    n = up ? (n > 1 ? n / 2 : 1) : (n < 100000 ? n * 2 : n); /* up: more requests, so 1 in fewer */
    if (n == g->trace_config.sample) {
        engine_say(g,
                   up ? "every request is already sampled" : "sampling is already at its minimum",
                   false);
        return;
    }
    g->trace_config.sample = n;
    snprintf(line, sizeof line, "sampling set to 1/%u: %s", n,
             n == 1 ? "every request" : "whole requests, counts are scaled");
    engine_log(g, line);
    engine_say(g, line, false);
    engine_push_config(g);
}

void engine_zero(struct engine *g)
{
    engine_pump_slow(g, true);
    core_zero(g->core);
    g->slow_seq = 0;
    engine_log(g, "statistics reset");
}

void engine_why(struct engine *g, uint16_t tier)
{
    const char *why_not;

    if (!engine_asks(g, &why_not)) {
        engine_say(g, why_not, true);
        return;
    }
    if (tier < EVENT_TIERS)
        g->why_by_hand[tier] = true;
    control_ask(g->control, CONTROL_WHY, tier, NULL, NULL, 0);
}

void engine_complete(struct engine *g, const char *typed)
{
    if (g->control) /* not connected yet: it is asked then */
        control_ask(g->control, CONTROL_COMPLETE, 0, typed, NULL, 0);
}

/* Said once, and again when it is another node. */
static void say_held(struct engine *g, const struct session_info *was)
{
    const char *at = g->info.held;
    char line[400];

    if (!g->info.n_held || strcmp(was->held, at) == 0)
        return;
    while (*at) {
        const char *end = strstr(at, "; ");
        size_t n = end ? (size_t)(end - at) : strlen(at);
        snprintf(line, sizeof line, "avoided on this node: %.*s", (int)n, at);
        engine_log(g, line);
        at = end ? end + 2 : at + n;
    }
}

static void connected(struct engine *g, struct result *r)
{
    struct session_info was = g->info;
    char line[700];

    if (g->info.units_per_s && g->info.start_native != r->info.start_native)
        engine_who_restarted(g);
    if (r->info.local)
        yielding_begin();
    g->info = r->info;
    g->state = ENGINE_UP;
    g->state_line[0] = 0;
    snprintf(line, sizeof line, "attached to %.255s, OTP %.15s%s%.250s", r->info.node, r->info.otp,
             r->info.others[0] ? "; also tracing there: " : "", r->info.others);
    engine_log(g, line);
    engine_say(g, line, false);
    say_held(g, &was);
    if (g->trace_config.args)
        engine_log(g, "--slow-args: each traced call, slow or not, copies its small arguments; the "
                      "overhead shown includes this");
    engine_record_meta(g);
}

/* A wish is taken or refused as a whole: with a wrong rule left in it, nothing later would take
 * effect. */
static void back_to_good_rule(struct engine *g, const char *why)
{
    char refused[TRACE_CONFIG_RULE_BYTES];

    memcpy(refused, g->trace_config.identity, sizeof refused);
    if (strcmp(refused, g->good_rule) == 0) /* good no more: its tier may have gone */
        g->good_rule[0] = 0;
    memcpy(g->trace_config.identity, g->good_rule, sizeof g->trace_config.identity);
    core_set_identity(g->core, g->good_rule[0] != 0);
    engine_push_config(g);
    g->hooks.rule_refused(g->hooks.arg, refused, why);
}

static void configured(struct engine *g, struct result *r)
{
    const struct tierset *t = core_tiers(g->core);
    char line[400];

    g->configured_gen = r->gen;
    g->missing[0] = 0;
    err_copy(g->rule_error, sizeof g->rule_error, r->config.rule_error);
    if (r->config.rule_refused) {
        engine_log(g, r->config.rule_error);
        if (g->hooks.rule_refused && r->gen == g->trace_config_gen)
            back_to_good_rule(g, r->config.rule_error);
        return;
    }
    if (r->gen == g->trace_config_gen)
        memcpy(g->good_rule, g->trace_config.identity, sizeof g->good_rule);
    if (g->identity_gen && r->gen >= g->identity_gen) {
        if (g->state == ENGINE_UP && g->tracing)
            engine_say(
                g, g->trace_config.identity[0] ? "the identity rule is set" : "no identity rule",
                false);
        g->identity_gen = 0;
    }
    for (size_t i = 0; i < r->config.n; i++) {
        const struct agent_request_tier *a = &r->config.tier[i];
        if (a->ix >= t->n)
            continue;
        g->unmatched[a->ix] = a->note[0] != 0;
        core_tier_note(g->core, a->ix, a->note[0] ? a->note : NULL);
        if (a->matched || !a->note[0])
            continue;
        snprintf(line, sizeof line, "tier %s (%.100s): %.200s", t->tier[a->ix].name,
                 t->tier[a->ix].mfa, a->note);
        engine_log(g, line);
        engine_say(g, line, true);
        if (!g->missing[0])
            err_copy(g->missing, sizeof g->missing, line);
    }
}

static void why(struct engine *g, const struct result *r)
{
    if (r->failed) {
        bool by_hand = r->ix < EVENT_TIERS && g->why_by_hand[r->ix];
        engine_log_once(g, r->text);
        if (by_hand)
            engine_say(g, r->text, true);
        if (r->ix < EVENT_TIERS)
            g->why_by_hand[r->ix] = false;
        return;
    }
    const struct tierset *t = core_tiers(g->core);
    const struct agent_request_called *c = &r->called;
    const char *name = r->ix < t->n ? t->tier[r->ix].name : "?";
    char text[300];

    if (c->no_function)
        snprintf(text, sizeof text, "no such function is loaded on the node");
    else if (c->called == 0)
        snprintf(text, sizeof text, "not called: 0 calls in the last second");
    else if (g->trace_config.entry != TRACE_CONFIG_NO_ENTRY && c->in_request == 0 && c->outside > 0)
        snprintf(text, sizeof text,
                 "called %llu/s, but only outside requests (no call carries the token of an open "
                 "request)",
                 (unsigned long long)c->called);
    else if (g->trace_config.entry != TRACE_CONFIG_NO_ENTRY && c->outside > 0)
        snprintf(text, sizeof text,
                 "called %llu/s, %llu of them without the request's token (outside requests, or it "
                 "was lost on the way)",
                 (unsigned long long)c->called, (unsigned long long)c->outside);
    else
        snprintf(text, sizeof text, "called %llu/s, in requests", (unsigned long long)c->called);
    core_tier_note(g->core, r->ix, text);
    if (r->ix >= EVENT_TIERS || !g->why_by_hand[r->ix])
        return;
    g->why_by_hand[r->ix] = false;
    char line[400];
    snprintf(line, sizeof line, "%.63s: %.299s", name, text);
    engine_log(g, line);
    engine_say(g, line, false);
}

#define BURY_AFTER_NS 300000000u

/* As long as events are late, the return of a call may still be under way. */
static void dead(struct engine *g, const struct result *r)
{
    struct stream_figures f;

    if (r->failed)
        engine_log_once(g, r->text);
    if (r->failed || g->dead_n || r->n > AGENT_REQUEST_PIDS) /* they are asked after again */
        return;
    stream_figures(g->stream, &f);
    memcpy(g->dead_pid, r->pids, r->n * sizeof r->pids[0]);
    g->dead_n = r->n;
    g->dead_due_ns = clock_mono_ns() + BURY_AFTER_NS + (f.lag_ns > 0 ? (uint64_t)f.lag_ns : 0);
}

static void lost(struct engine *g, const struct result *r)
{
    struct event off = {.ts_ns = core_now(g->core), .kind = EVENT_FLUSH, .pid = UINT64_MAX};

    if (g->state == ENGINE_UP) {
        core_feed(g->core, &off, 1); /* what was open there will never end for us */
        engine_gap(g, GAP_LOST);
        engine_log(g, r->text);
    }
    g->state = ENGINE_LOST;
    g->tracing = false;
    g->dead_n = 0; /* what they had open is closed; who has these numbers next may live */
    engine_who_lost(g);
    g->retry_at_ns = clock_mono_ns() + (uint64_t)r->delay_ms * 1000000u;
    err_copy(g->trouble, sizeof g->trouble, r->text);
    snprintf(g->state_line, sizeof g->state_line, "%.190s", r->text);
}

void engine_result(struct engine *g, struct result *r)
{
    switch (r->kind) {
    case RESULT_NONE:
        break;
    case RESULT_FAILED:
        g->state = ENGINE_FAILED;
        err_copy(g->trouble, sizeof g->trouble, r->text);
        break;
    case RESULT_CONNECTED:
        connected(g, r);
        break;
    case RESULT_CONFIGURED:
        configured(g, r);
        break;
    case RESULT_TRACING:
        g->tracing = r->on;
        engine_log(g, r->on ? "tracing is on" : "tracing is off");
        break;
    case RESULT_LOST:
        lost(g, r);
        break;
    case RESULT_TROUBLE:
        engine_log(g, r->text);
        engine_say(g, r->text, true);
        break;
    case RESULT_COMPLETIONS:
        if (r->failed)
            engine_say(g, r->text, true);
        if (g->hooks.completions)
            g->hooks.completions(g->hooks.arg, r->typed, r->failed ? "" : r->text);
        break;
    case RESULT_WHY:
        why(g, r);
        break;
    case RESULT_STACK:
        engine_take_stack(g, r);
        break;
    case RESULT_WHO:
        engine_take_who(g, r);
        break;
    case RESULT_DEAD:
        dead(g, r);
        break;
    case RESULT_CODE:
        engine_take_catalog(g, r);
        break;
    case RESULT_CAPTURE:
        engine_take_capture(g, r);
        break;
    }
}
