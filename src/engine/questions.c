#include "questions.h"

#include "session_log.h"
#include <kprof/base/clock.h>
#include <stdio.h>

/* False: *why says why no node can be asked. */
static bool allowed(const struct engine *g, const char **why)
{
    *why = g->replay.file ? "the node cannot be asked: this is a recording"
                          : "the node cannot be asked: it is not connected";
    return g->control && g->state == ENGINE_UP;
}

static void no_stack(struct engine *g, uint64_t pid, const char *why)
{
    char line[600];

    snprintf(line, sizeof line, "not known: %s", why);
    if (g->hooks.stack)
        g->hooks.stack(g->hooks.arg, pid, line, false);
}

void engine_stack(struct engine *g, uint64_t pid)
{
    const char *why;

    if (allowed(g, &why))
        control_ask(g->control, CONTROL_STACK, 0, NULL, &pid, 1);
    else
        no_stack(g, pid, why);
}

void questions_take_stack(struct engine *g, struct result *r)
{
    if (r->failed)
        no_stack(g, r->pids[0], r->text);
    else if (g->hooks.stack)
        g->hooks.stack(g->hooks.arg, r->pids[0], r->text, r->on);
}

void engine_why(struct engine *g, uint16_t tier)
{
    const char *why_not;

    if (!allowed(g, &why_not)) {
        session_log_say(g, why_not, true);
        return;
    }
    if (tier < EVENT_TIERS) {
        if (g->questions.why_by_hand[tier])
            return; /* y was held: the node counts calls for a second, once */
        g->questions.why_by_hand[tier] = true;
    }
    control_ask(g->control, CONTROL_WHY, tier, NULL, NULL, 0);
}

void engine_complete(struct engine *g, const char *typed)
{
    if (g->control) /* without a connection, it is sent later */
        control_ask(g->control, CONTROL_COMPLETE, 0, typed, NULL, 0);
}

bool questions_no_entry(const struct engine *g, char *out, size_t cap)
{
    uint16_t entry = g->configuration.wanted.entry;
    const struct tierset *t = core_tiers(g->core);

    if (entry >= t->n || !g->configuration.absent[entry])
        return false;
    snprintf(out, cap, "no request begins: entry %s does not exist; E chooses another",
             t->tier[entry].name);
    return true;
}

/* As a sentence. If the entry does not exist, that is the reason for all tiers. */
static void explain(const struct engine *g, uint16_t tier, const struct agent_request_called *c,
                    char *out, size_t cap)
{
    bool entry = g->configuration.wanted.entry != TRACE_CONFIG_NO_ENTRY;
    unsigned long long called = c->called, outside = c->outside;

    if (c->no_function)
        snprintf(out, cap, "the node has not loaded this function");
    else if (c->held[0])
        snprintf(out, cap, "%s", c->held);
    else if (c->called == 0)
        snprintf(out, cap, "not called: 0 calls in the last second");
    else if (entry && c->in_request == 0 && questions_no_entry(g, out, cap))
        return;
    else if (entry && c->in_request == 0)
        snprintf(out, cap,
                 "called %llu/s, but only outside of requests, or by messages older than tracing",
                 called);
    else if (core_tier_loops(g->core, tier))
        snprintf(out, cap, "called %llu/s, but no call ends: it calls itself last; remove it%s",
                 called, g->configuration.wanted.lean ? "" : ", or use lean returns");
    else if (entry && c->outside > 0)
        snprintf(out, cap, "called %llu/s, %llu/s of them outside of requests", called, outside);
    else
        snprintf(out, cap, "called %llu/s, all in requests", called);
}

void questions_take_why(struct engine *g, struct result *r)
{
    if (r->failed) {
        bool by_hand = r->ix < EVENT_TIERS && g->questions.why_by_hand[r->ix];
        session_log_add_once(g, r->text);
        if (by_hand)
            session_log_say(g, r->text, true);
        if (r->ix < EVENT_TIERS)
            g->questions.why_by_hand[r->ix] = false;
        return;
    }
    const struct tierset *t = core_tiers(g->core);
    const char *name = r->ix < t->n ? t->tier[r->ix].name : "?";
    char text[300];

    explain(g, r->ix, &r->called, text, sizeof text);
    core_tier_note(g->core, r->ix, text);
    if (r->ix >= EVENT_TIERS || !g->questions.why_by_hand[r->ix])
        return;
    g->questions.why_by_hand[r->ix] = false;
    char line[400];
    snprintf(line, sizeof line, "%.63s: %.299s", name, text);
    session_log_add(g, line);
    session_log_say(g, line, false);
}

enum { WHY_FIRST_S = 4, WHY_AGAIN_S = 20, WHY_APART_S = 2 };

/* If a tier stays empty, kprof-top asks the node for the reason, without a key press: the node
 * counts the calls for a second. */
static void why_empty(struct engine *g, const struct snap_row *r, uint64_t now_ns)
{
    uint64_t *at = &g->questions.why_at_ns[r->tier];

    if (r->count > 0) {
        *at = 0;
        if (r->note && !g->configuration.unmatched[r->tier])
            core_tier_note(g->core, r->tier, NULL);
        return;
    }
    if (*at == 0)
        *at = now_ns + WHY_FIRST_S * UINT64_C(1000000000);
    if (g->configuration.unmatched[r->tier] || now_ns < *at || now_ns < g->questions.why_next_ns)
        return;
    *at = now_ns + WHY_AGAIN_S * UINT64_C(1000000000);
    g->questions.why_next_ns = now_ns + WHY_APART_S * UINT64_C(1000000000);
    control_ask(g->control, CONTROL_WHY, r->tier, NULL, NULL, 0);
}

void questions_ask_empty(struct engine *g, const struct snapshot *s)
{
    uint64_t now_ns = clock_mono_ns();

    if (!g->control || !g->tracing || s->final || s->time.history ||
        s->breaker.state != BREAKER_CLOSED)
        return;
    for (size_t i = 0; i < s->n_rows; i++)
        if (!s->rows[i].ident && s->rows[i].tier < EVENT_TIERS)
            why_empty(g, &s->rows[i], now_ns);
}
