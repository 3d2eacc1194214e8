#include "results.h"

#include "captures.h"
#include "catalog_load.h"
#include "configuration.h"
#include "dead_processes.h"
#include "full_trace.h"
#include "hangs.h"
#include "liveness.h"
#include "process_names.h"
#include "process_watch.h"
#include "questions.h"
#include "queue_watch.h"
#include "rule_check.h"
#include "session_log.h"
#include "stack_sampling.h"
#include "static_calls.h"
#include <kprof/base/clock.h>
#include <kprof/base/fnv.h>
#include <kprof/base/low_priority.h>
#include <stdio.h>
#include <string.h>

/* Reported once for each node. */
static void say_held(struct engine *g, const struct session_info *was)
{
    const char *at = g->connection.info.avoided;
    char line[400];

    if (!g->connection.info.n_avoided || strcmp(was->avoided, at) == 0)
        return;
    while (*at) {
        const char *end = strstr(at, "; ");
        size_t n = end ? (size_t)(end - at) : strlen(at);
        snprintf(line, sizeof line, "precaution on this node: %.*s", (int)n, at);
        session_log_add(g, line);
        at = end ? end + 2 : at + n;
    }
}

static void connected(struct engine *g, struct result *r)
{
    struct session_info was = g->connection.info;
    char line[700];

    if (g->connection.info.units_per_s && g->connection.info.start_native != r->info.start_native)
        process_names_restarted(g);
    if (r->info.local)
        low_priority_begin();
    g->connection.info = r->info;
    core_set_release(g->core, r->info.otp);
    g->state = ENGINE_UP;
    g->connection.state_line[0] = 0;
    snprintf(line, sizeof line, "attached to %.255s, OTP %.15s%s%.250s", r->info.node, r->info.otp,
             r->info.others[0] ? "; other tracers: " : "", r->info.others);
    session_log_add(g, line);
    session_log_say(g, line, false);
    say_held(g, &was);
    if (g->configuration.wanted.args)
        session_log_add(g, "--slow-args: each traced call, slow or not, copies its small "
                           "arguments; the overhead shown includes this");
    configuration_record(g);
    stack_sampling_connected(g);
}

/* A configuration is accepted or refused as a whole: with an invalid rule in it, no later change
 * would take effect. */
static void back_to_good_rule(struct engine *g, const char *why)
{
    char refused[TRACE_CONFIG_RULE_BYTES];

    memcpy(refused, g->configuration.wanted.identity, sizeof refused);
    if (strcmp(refused, g->configuration.good_rule) ==
        0) /* no longer valid: its tier may have been removed */
        g->configuration.good_rule[0] = 0;
    memcpy(g->configuration.wanted.identity, g->configuration.good_rule,
           sizeof g->configuration.wanted.identity);
    core_set_identity(g->core, g->configuration.good_rule[0] != 0);
    g->configuration.identity_gen = 0; /* the rule that was typed has its answer */
    configuration_push(g);
    g->hooks.rule_refused(g->hooks.arg, refused, why);
}

/* The node says the same after each configuration: it is reported once. */
static void note_tier(struct engine *g, const struct agent_request_tier *a)
{
    const struct tier *t = &core_tiers(g->core)->tier[a->ix];
    uint64_t had = g->configuration.absent[a->ix];
    bool absent = !a->matched && a->note[0];
    char line[400];

    g->configuration.unmatched[a->ix] = a->note[0] != 0;
    g->configuration.absent[a->ix] = absent ? fnv_add(FNV_START, a->note, strlen(a->note)) : 0;
    core_tier_note(g->core, a->ix, a->note[0] ? a->note : NULL);
    core_tier_confirmed(g->core, a->ix);
    if (!absent)
        return;
    snprintf(line, sizeof line, "tier %s (%.100s): %.200s", t->name, t->mfa, a->note);
    if (g->configuration.absent[a->ix] != had) {
        session_log_add(g, line);
        session_log_say(g, line, true);
    }
    if (!g->configuration.missing[0])
        err_copy(g->configuration.missing, sizeof g->configuration.missing, line);
}

/* If the entry does not exist, the other tiers stay empty: the note is on the entry, not on them.
 * */
static void note_tiers(struct engine *g, const struct agent_request_config *config)
{
    uint16_t n = core_tiers(g->core)->n;
    char why[TIER_NAME_BYTES + 60];

    for (size_t i = 0; i < config->n; i++)
        if (config->tier[i].ix < n)
            note_tier(g, &config->tier[i]);
    if (!questions_no_entry(g, why, sizeof why))
        return;
    for (size_t i = 0; i < config->n; i++)
        if (config->tier[i].ix < n && !config->tier[i].note[0])
            core_tier_note(g->core, config->tier[i].ix, why);
}

static void rule_in_use(struct engine *g, uint64_t gen)
{
    if (g->configuration.rule_gen && gen >= g->configuration.rule_gen) {
        core_set_identity(g->core, g->configuration.wanted.identity[0] != 0);
        rule_check_begin(g);
        g->configuration.rule_gen = 0;
    }
    if (g->configuration.identity_gen && gen >= g->configuration.identity_gen) {
        const char *said = g->configuration.rule_said;
        if (!said[0])
            said = g->configuration.wanted.identity[0] ? "the identity rule is set"
                                                       : "no identity rule";
        if (g->state == ENGINE_UP && g->tracing)
            session_log_say(g, said, false);
        g->configuration.identity_gen = 0;
    }
}

static void configured(struct engine *g, struct result *r)
{
    g->configuration.failed[0] = 0;
    g->configuration.configured_gen = r->gen;
    g->configuration.missing[0] = 0;
    err_copy(g->configuration.rule_error, sizeof g->configuration.rule_error, r->config.rule_error);
    if (r->config.rule_refused) {
        session_log_add(g, r->config.rule_error);
        if (g->hooks.rule_refused && r->gen == g->configuration.gen)
            back_to_good_rule(g, r->config.rule_error);
        return;
    }
    /* Not that of `wanted`, which may have changed since this configuration was sent. */
    snprintf(g->configuration.good_rule, sizeof g->configuration.good_rule, "%s", r->text);
    rule_in_use(g, r->gen);
    note_tiers(g, &r->config);
}

/* Also after a rule was refused and the one before it was requested again. */
static void same(struct engine *g, struct result *r)
{
    g->configuration.failed[0] = g->configuration.rule_error[0] = 0;
    g->configuration.configured_gen = r->gen;
    rule_in_use(g, r->gen);
}

void results_take_events(struct engine *g, size_t most)
{
    const void *ready;
    size_t n;

    while (most && (n = ring_peek(g->ring, &ready)) > 0) {
        n = n < most ? n : most;
        core_feed(g->core, ready, n);
        ring_consume(g->ring, n);
        atomic_store(&g->full_waits, 0);
        most -= n;
    }
}

static void lost(struct engine *g, struct result *r)
{
    if (g->state == ENGINE_UP) {
        /* Events that arrived before the loss. Calls that begin in them must end below, too. */
        results_take_events(g, ring_capacity(g->ring));
        struct event off = {.ts_ns = core_now(g->core), .kind = EVENT_FLUSH, .pid = UINT64_MAX};
        core_feed(g->core, &off, 1); /* the ends of its open calls will not arrive */
        liveness_gap(g, GAP_LOST);
        session_log_add(g, r->text);
        session_log_say(g, "", false); /* a message about the connection is out of date */
    }
    g->state = ENGINE_LOST;
    g->tracing = false;
    dead_processes_lost(g);
    process_names_lost(g);
    stack_sampling_lost(g);
    full_trace_lost(g);
    g->connection.retry_at_ns = clock_mono_ns() + (uint64_t)r->delay_ms * 1000000u;
    err_copy(g->connection.trouble, sizeof g->connection.trouble, r->text);
    snprintf(g->connection.state_line, sizeof g->connection.state_line, "%.190s", r->text);
}

static void failed(struct engine *g, struct result *r)
{
    g->state = ENGINE_FAILED;
    g->connection.info = r->info;
    err_copy(g->connection.trouble, sizeof g->connection.trouble, r->text);
}

static void tracing(struct engine *g, struct result *r)
{
    g->tracing = r->on;
    session_log_add(g, r->on ? "tracing is on" : "tracing is off");
}

static void trouble(struct engine *g, struct result *r)
{
    struct configuration *c = &g->configuration;

    if (r->gen) {
        err_copy(c->failed, sizeof c->failed, r->text);
        c->failed_gen = r->gen;
        c->failed_again = r->on;
    }
    session_log_add(g, r->text);
    session_log_say(g, r->text, true);
}

static void completions(struct engine *g, struct result *r)
{
    if (r->failed)
        session_log_say(g, r->text, true);
    if (g->hooks.completions)
        g->hooks.completions(g->hooks.arg, r->typed, r->failed ? "" : r->text);
}

typedef void done(struct engine *g, struct result *r);

static done *const DONE[] = {[RESULT_FAILED] = failed,
                             [RESULT_CONNECTED] = connected,
                             [RESULT_CONFIGURED] = configured,
                             [RESULT_SAME] = same,
                             [RESULT_TRACING] = tracing,
                             [RESULT_LOST] = lost,
                             [RESULT_TROUBLE] = trouble,
                             [RESULT_COMPLETIONS] = completions,
                             [RESULT_WHY] = questions_take_why,
                             [RESULT_STACK] = questions_take_stack,
                             [RESULT_WHO] = process_names_take,
                             [RESULT_DEAD] = dead_processes_take,
                             [RESULT_QUEUE] = queue_watch_take,
                             [RESULT_HANG] = hangs_take,
                             [RESULT_CODE] = catalog_load_take,
                             [RESULT_CALLS] = static_calls_take,
                             [RESULT_CAPTURE] = captures_take,
                             [RESULT_PROCESSES] = process_watch_take,
                             [RESULT_STACKS] = stack_sampling_answered,
                             [RESULT_FULL] = full_trace_answered};

void results_take(struct engine *g, struct result *r)
{
    if (r->kind != RESULT_NONE)
        DONE[r->kind](g, r);
}
