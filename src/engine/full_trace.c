#include "full_trace.h"

#include "configuration.h"
#include "session_log.h"

#include <inttypes.h>
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_NS     UINT64_C(20000000000) /* the node reports its progress twice a second */
#define AWAY_NS       UINT64_C(1500000000)  /* between polls: kprof-top did not run (^Z) */
#define RUN_MS        10000u                /* of a request */
#define MODULES_BYTES ((size_t)1 << 15)

static bool under_way(const struct full_trace *f)
{
    return f->now.state >= FULL_ASKED && f->now.state <= FULL_RECEIVES;
}

static void drop(struct full_trace *f)
{
    full_decoder_free(f->decoder);
    call_tree_free(f->tree);
    stack_profile_free(f->profile);
    f->decoder = NULL;
    f->tree = NULL;
    f->profile = NULL;
}

static void ended(struct engine *g, enum full_stage state, const char *why)
{
    struct full_trace *f = &g->full;
    char line[1000];

    f->now.state = state;
    f->question_id = 0;
    if (why)
        err_copy(f->now.says, sizeof f->now.says, why);
    if (state == FULL_NOT_CAUGHT)
        drop(f);
    snprintf(line, sizeof line, "full trace: %.900s", f->now.says);
    session_log_add(g, line);
}

/* ---- what is traced ---- */

static void add_module(struct buf *list, const char *module)
{
    if (list->len)
        buf_addch(list, ',');
    buf_adds(list, module);
}

static bool same(const struct mfa *a, const struct mfa *b)
{
    return a->arity == b->arity && strcmp(a->module, b->module) == 0 &&
           strcmp(a->function, b->function) == 0;
}

/* Adds the modules of all tiers to `list`, and the functions of the tiers that do not begin the
 * request to `follow`. */
static void add_tiers(struct engine *g, struct full_request *r, struct mfa *follow, bool request,
                      struct buf *list)
{
    const struct tierset *t = core_tiers(g->core);
    size_t at;

    for (uint16_t i = 0; i < t->n && r->n_follow < FULL_FOLLOW_MAX; i++) {
        struct mfa f;
        if (!t->tier[i].active || !term_parse_mfa(t->tier[i].mfa, &f, &at))
            continue;
        add_module(list, f.module);
        if (request && !same(&f, &r->call))
            follow[r->n_follow++] = f;
    }
    r->follow = follow;
}

/* The tier with which the request begins; TIER_NONE with err. */
static uint16_t first_tier(const struct engine *g, const struct full_ask *a, struct err *e)
{
    const struct tierset *t = core_tiers(g->core);
    uint16_t tier = a->tier == TIER_TOTAL ? t->entry : a->tier;

    if (tier < t->n && t->tier[tier].active)
        return tier;
    err_set(e, a->tier == TIER_TOTAL
                   ? "there is no entry, so no requests: choose a tier, or an entry (E)"
                   : "this tier is no longer traced");
    return TIER_NONE;
}

static int set_call(const struct engine *g, const struct full_ask *a, struct full_request *r,
                    struct err *e)
{
    uint16_t tier = first_tier(g, a, e);
    size_t at;

    if (tier == TIER_NONE)
        return -1;
    const char *text = core_tiers(g->core)->tier[tier].mfa;
    return term_parse_mfa(text, &r->call, &at) ? 0 : err_set(e, "%.200s is not a function", text);
}

/* The rule is that of the session, or a condition for this request. */
static int set_rule(const struct engine *g, const struct full_ask *a, struct full_request *r,
                    char *rule, size_t cap, struct err *e)
{
    const char *now = g->configuration.wanted.identity;

    if (a->condition[0]) {
        uint16_t tier = first_tier(g, a, e);
        if (tier == TIER_NONE)
            return -1;
        snprintf(rule, cap, "%s %s", core_tiers(g->core)->tier[tier].mfa, a->condition);
        r->rule = rule;
    } else if (a->ident[0] && !now[0]) {
        return err_set(e, "there is no longer an identity rule: choose any request");
    } else if (a->ident[0]) {
        r->rule = now;
        r->name = a->ident;
    }
    return 0;
}

static void put_safe(char *out, size_t cap, const char *text)
{
    struct buf safe;

    buf_init(&safe, 0);
    text_safe(&safe, text, strlen(text), 0, false);
    err_copy(out, cap, safe.data);
    buf_release(&safe);
}

static void name_it(struct engine *g, const struct full_ask *a)
{
    const struct tierset *t = core_tiers(g->core);
    struct full_trace *f = &g->full;
    char pid[SNAPSHOT_PID_BYTES], text[FULL_IDENT_BYTES + 60];
    struct err none;
    uint16_t tier = a->pid ? TIER_NONE : first_tier(g, a, &none);

    snapshot_pid(a->pid, pid);
    put_safe(f->function, sizeof f->function, a->pid ? pid : t->tier[tier].mfa);
    if (a->pid)
        snprintf(text, sizeof text, "process %s", pid);
    else if (a->ident[0])
        snprintf(text, sizeof text, "a request named %s", a->ident);
    else if (a->tier != TIER_TOTAL && a->tier != t->entry)
        snprintf(text, sizeof text, "a call of %s", t->tier[tier].name);
    else
        snprintf(text, sizeof text, "a request");
    put_safe(f->now.what, sizeof f->now.what, text);
}

/* ---- requests to the node ---- */

static void begun(struct engine *g, const struct full_ask *a, struct full_request *r)
{
    struct full_trace *f = &g->full;
    char line[600];

    drop(f);
    memset(&f->now, 0, sizeof f->now);
    r->id = ++f->id;
    name_it(g, a);
    f->now.state = FULL_ASKED;
    f->asked_ns = f->heard_ns = clock_mono_ns();
    snprintf(f->now.says, sizeof f->now.says, "asking the node for a full trace of %s",
             f->now.what);
    f->profile = stack_profile_new(NULL);
    f->tree = call_tree_new(f->profile);
    f->decoder = full_decoder_new(f->tree, f->profile);
    snprintf(line, sizeof line, "full trace of %.400s begins", f->now.what);
    session_log_add(g, line);
    if (!g->configuration.gen)
        configuration_push(g); /* without tiers the node does not have the limits yet */
    f->question_id = control_full(g->control, r);
}

int engine_full_begin(struct engine *g, const struct full_ask *a, struct err *e)
{
    struct mfa *follow = calloc(FULL_FOLLOW_MAX, sizeof *follow);
    uint64_t ms = a->time_ns / 1000000u;
    struct full_request r = {.slow_ns = a->pid ? 0 : a->slow_ns,
                             .events = a->events,
                             .wait_ms = ms,
                             .run_ms = a->pid ? ms : RUN_MS,
                             .with_applications = a->calls == FULL_CALLS_APPLICATIONS};
    char rule[TIER_MFA_BYTES + FULL_CONDITION_BYTES + 2];
    struct buf list;
    int rc = -1;

    if (!follow)
        abort();
    buf_init(&list, MODULES_BYTES);
    if (engine_may_set(g, e) < 0)
        goto out;
    if (!g->control || g->state != ENGINE_UP) {
        err_set(e, "not connected to %.100s", g->connection.node);
        goto out;
    }
    if (under_way(&g->full)) {
        err_set(e, "a full trace is under way: X shows it");
        goto out;
    }
    if (a->pid) {
        r.pids = &a->pid;
        r.n_pids = 1;
    } else if (set_call(g, a, &r, e) < 0 || set_rule(g, a, &r, rule, sizeof rule, e) < 0) {
        goto out;
    }
    add_tiers(g, &r, follow, !a->pid, &list);
    r.modules = a->calls == FULL_CALLS_ALL || !list.len ? "all" : list.data;
    begun(g, a, &r);
    rc = 0;
out:
    buf_release(&list);
    free(follow);
    return rc;
}

/* False: there is no node to ask. */
static bool end_on_node(struct engine *g)
{
    if (!g->control || g->state != ENGINE_UP)
        return false;
    control_full(g->control, NULL);
    return true;
}

void engine_full_end(struct engine *g)
{
    if (under_way(&g->full) && !end_on_node(g))
        ended(g, FULL_NOT_CAUGHT, "the full trace was canceled");
}

/* ---- reports of the node ---- */

void full_trace_answered(struct engine *g, struct result *r)
{
    struct full_trace *f = &g->full;

    if (!r->failed || !f->question_id || r->question_id != f->question_id)
        return;
    end_on_node(g); /* without an answer, it may still begin there */
    ended(g, FULL_NOT_CAUGHT, r->text);
}

void full_trace_lost(struct engine *g)
{
    if (under_way(&g->full))
        ended(g, FULL_NOT_CAUGHT, "the connection to the node was lost, so the full trace ended");
}

void full_trace_aborted(struct engine *g, const char *why)
{
    if (!under_way(&g->full))
        return;
    /* if it was about a trace before this one, which the node has begun since */
    end_on_node(g);
    ended(g, FULL_NOT_CAUGHT, why);
}

static enum full_stage state_of(const struct full_figures *f)
{
    switch (f->phase) {
    case FULL_WAITING:
        return FULL_ARMED;
    case FULL_RUNNING:
        return FULL_TRACES;
    case FULL_SENDING:
        return FULL_RECEIVES;
    default:
        return FULL_ASKED;
    }
}

static void hint(struct full_trace *f, const struct full_figures *fig)
{
    f->now.waits = fig->waits;
    const struct full_decode_counts *c = full_decoder_counts(f->decoder);
    const struct call_tree_counts *n = call_tree_counts(f->tree);
    uint64_t bad = c->bad + c->missing + n->bad;

    if (bad)
        snprintf(f->now.hint, sizeof f->now.hint,
                 "%" PRIu64 " messages or events could not be read: the tree is not complete", bad);
    else if (n->cut)
        snprintf(f->now.hint, sizeof f->now.hint,
                 "%" PRIu64 " calls are too deep: their time is counted for their callers", n->cut);
    else if (!fig->waits)
        snprintf(f->now.hint, sizeof f->now.hint,
                 "this VM does not report waits: the time of a function includes them");
}

void full_trace_feed(struct engine *g, const struct stack_message *m)
{
    struct full_trace *f = &g->full;

    if (!f->decoder || !under_way(f))
        return;
    if (full_decoder_id(m->bytes, m->n) != f->id) /* of an earlier one, which was given up */
        return;
    f->question_id = 0; /* it has begun, even if the answer does not arrive */
    full_decoder_feed(f->decoder, m->bytes, m->n, &m->clock);
    const struct full_figures *fig = full_decoder_figures(f->decoder);
    f->heard_ns = clock_mono_ns();
    f->now.attempts = fig->requests;
    f->now.functions = fig->functions;
    f->now.events = fig->events;
    f->now.budget = fig->budget;
    full_figures_say(fig, f->function, f->now.says, sizeof f->now.says);
    if (fig->reason == FULL_NOT_ENDED) {
        f->now.state = state_of(fig);
        return;
    }
    if (call_tree_counts(f->tree)->calls)
        hint(f, fig);
    ended(g, call_tree_counts(f->tree)->calls ? FULL_ENDED : FULL_NOT_CAUGHT, NULL);
}

void full_trace_poll(struct engine *g, uint64_t now_ns)
{
    struct full_trace *f = &g->full;

    if (now_ns - f->polled_ns > AWAY_NS) /* the messages that arrived meanwhile are still to come */
        f->heard_ns = now_ns;
    f->polled_ns = now_ns;
    if (under_way(f) && now_ns - f->heard_ns > SILENT_NS) {
        end_on_node(g);
        ended(g, FULL_NOT_CAUGHT, "the node no longer reports on the full trace");
    }
}

/* ---- for the screen ---- */

void engine_full(const struct engine *g, struct full_now *out)
{
    *out = g->full.now;
    out->waited_ns = clock_mono_ns() - g->full.asked_ns;
}

bool engine_full_take(struct engine *g, struct call_tree **tree, struct stack_profile **profile)
{
    struct full_trace *f = &g->full;

    if (f->now.state != FULL_ENDED || !f->tree)
        return false;
    *tree = f->tree;
    *profile = f->profile;
    f->tree = NULL;
    f->profile = NULL;
    drop(f);
    return true;
}

void full_trace_release(struct engine *g)
{
    drop(&g->full);
}
