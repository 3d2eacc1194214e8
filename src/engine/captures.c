/* Captures of calls, so that the operator can choose from their arguments. */
#include "captures.h"

#include "session_log.h"

#include <kprof/base/clock.h>
#include <stdio.h>

#define CODE_QUERY_EVERY_NS 150000000u

/* If there is no connection yet, the request is sent after the tiers are set. */
static bool live(const struct engine *g)
{
    return g->control && (g->state == ENGINE_UP || g->state == ENGINE_CONNECTING);
}

static void tell(struct engine *g, struct capture *c)
{
    const struct tierset *t = core_tiers(g->core);

    if (g->captures.tier < t->n)
        err_copy(c->function, sizeof c->function, t->tier[g->captures.tier].mfa);
    if (g->hooks.captured)
        g->hooks.captured(g->hooks.arg, c);
}

static void failed(struct engine *g, const char *why)
{
    struct capture c = {.state = CAPTURE_FAILED};

    g->captures.active = false;
    err_copy(c.why, sizeof c.why, why);
    tell(g, &c);
}

void engine_capture(struct engine *g, uint16_t tier)
{
    struct capture c = {.state = CAPTURE_RUNNING};

    if (tier == TIER_TOTAL)
        tier = g->configuration.wanted.entry != TRACE_CONFIG_NO_ENTRY
                   ? g->configuration.wanted.entry
               : g->configuration.wanted.n ? g->configuration.wanted.tier[0].ix
                                           : 0;
    g->captures.tier = tier;
    if (!live(g)) {
        failed(g, "no node is connected: calls are captured on a live node");
        return;
    }
    g->captures.active = g->captures.asked = true;
    g->captures.question_id = control_ask(g->control, CONTROL_CAPTURE, tier, NULL, NULL, 0);
    tell(g, &c);
}

void engine_capture_end(struct engine *g)
{
    g->captures.active = false;
    if (live(g))
        control_ask(g->control, CONTROL_NO_CAPTURE, 0, NULL, NULL, 0);
}

void captures_poll(struct engine *g)
{
    if (!g->captures.active)
        return;
    if (!live(g)) {
        failed(g, "the connection was lost while calls were captured");
    } else if (!g->captures.asked && clock_mono_ns() >= g->captures.next_ns) {
        g->captures.asked = true;
        g->captures.question_id =
            control_ask(g->control, CONTROL_CAPTURED, g->captures.tier, NULL, NULL, 0);
    }
}

static void brought(struct engine *g, struct capture *c)
{
    char line[400];

    c->paused = !g->connection.info.own_session && g->tracing;
    snprintf(line, sizeof line, "%llu of %llu calls of %.200s captured in %.2f s",
             (unsigned long long)c->kept, (unsigned long long)c->seen,
             core_tiers(g->core)->tier[g->captures.tier].mfa, (double)c->elapsed_us / 1e6);
    session_log_add(g, line);
    engine_capture_end(g);
    if (c->kept == 0) {
        failed(g, "the function was not called within 5 s; press r to capture again");
        return;
    }
    tell(g, c);
}

void captures_take(struct engine *g, struct result *r)
{
    if (!g->captures.active ||
        r->question_id != g->captures.question_id) /* an answer to a canceled capture */
        return;
    g->captures.asked = false;
    switch (r->capture.state) {
    case CAPTURE_RUNNING:
        g->captures.next_ns = clock_mono_ns() + CODE_QUERY_EVERY_NS;
        tell(g, &r->capture);
        break;
    case CAPTURE_DONE:
        brought(g, &r->capture);
        break;
    case CAPTURE_NONE:
    case CAPTURE_FAILED:
        failed(g, r->capture.why);
        break;
    }
}
