#include "live_stacks.h"

#include <kprof/base/clock.h>
#include <stdio.h>

#define PERIOD_MS 5000
#define ALL       ((1u << STACK_STATUSES) - 1)
#define LEAST_US  1000u
#define MOST_US   10000000u
#define FRESH_NS  1000000000u
/* To draw many samples takes time, during which no event is processed: at most this part of it. */
#define PART 20

void live_stacks_init(struct live_stacks *p, const struct options *o)
{
    *p = (struct live_stacks){.request = {.interval_us = o->sample_interval_ns / 1000,
                                          .period_ms = PERIOD_MS,
                                          .statuses = ALL}};
}

static bool wanted(const struct engine *g)
{
    struct snap_sampling s;

    engine_sampling(g, &s);
    return s.state == SAMPLING_NO_NODE || s.state == SAMPLING_ASKED || s.state == SAMPLING_ON;
}

/* ---- requests ---- */

static void begin(struct live_stacks *p, struct engine *g, struct ui *u, bool fresh)
{
    struct err e = {{0}};

    p->stopped = false;
    p->next_ns = 0;
    if (engine_stacks_begin(g, &p->request, fresh, &e) < 0)
        ui_message(u, e.text, true);
}

static void choose(struct live_stacks *p, struct engine *g, struct ui *u, const char *text)
{
    struct process_choice choice;
    struct err e = {{0}};

    if (engine_may_set(g, &e) < 0) {
        ui_message(u, e.text, true);
    } else if (process_choice_parse(text, &choice, &e) < 0) {
        ui_reprompt(u, INTENT_SAMPLING, text, SIZE_MAX, e.text);
    } else {
        p->request.processes = choice;
        p->chosen = true;
        begin(p, g, u, true);
    }
}

/* The flame graph was opened. */
static void opened(struct live_stacks *p, struct engine *g, struct ui *u)
{
    struct err e;

    p->next_ns = 0;
    if (engine_may_set(g, &e) < 0)
        return; /* a recording has its samples, or none */
    if (!p->chosen)
        ui_ask_sampling(u);
    else if (!p->stopped && !wanted(g))
        begin(p, g, u, false);
}

static void toggle(struct live_stacks *p, struct engine *g, struct ui *u)
{
    if (!p->chosen) {
        ui_ask_sampling(u);
    } else if (wanted(g)) {
        engine_stacks_end(g);
        p->stopped = true;
    } else {
        begin(p, g, u, false);
    }
    p->next_ns = 0;
}

static void end(struct live_stacks *p, struct engine *g, struct ui *u)
{
    bool on = wanted(g);

    if (on)
        engine_stacks_end(g);
    p->stopped = p->stopped || on;
    ui_message(
        u, on ? "sampling of stacks has ended; F shows the samples" : "no stacks are sampled", !on);
}

static void change_rate(struct live_stacks *p, struct engine *g, struct ui *u, bool more)
{
    uint64_t us = more ? p->request.interval_us / 2 : p->request.interval_us * 2;

    if (us < LEAST_US || us > MOST_US) {
        ui_message(u, more ? "more often is not possible" : "less often is not possible", true);
        return;
    }
    p->request.interval_us = us;
    if (p->chosen && wanted(g))
        begin(p, g, u, false);
}

void live_stacks(struct live_stacks *p, struct engine *g, struct ui *u, const struct intent *in)
{
    switch (in->kind) {
    case INTENT_FLAME:
        opened(p, g, u);
        break;
    case INTENT_SAMPLING:
        choose(p, g, u, in->text);
        break;
    case INTENT_SAMPLING_TOGGLE:
        toggle(p, g, u);
        break;
    case INTENT_SAMPLING_END:
        end(p, g, u);
        break;
    default:
        change_rate(p, g, u, in->kind == INTENT_SAMPLING_MORE);
        break;
    }
}

/* ---- the screen ---- */

static void left(struct engine *g, struct ui *u)
{
    bool on = wanted(g);

    if (ui_keeps_sampling(u))
        return;
    engine_stacks_end(g);
    if (on)
        ui_message(u, "sampling of stacks has ended; F goes on with it", false);
}

static void show(struct live_stacks *p, struct engine *g, struct ui *u, const char *node,
                 uint64_t now)
{
    struct snap_sampling s;
    struct stack_view *v = engine_stacks_view(g);

    engine_sampling(g, &s);
    ui_set_sampling(u, &s);
    if (v)
        ui_set_stacks(u, v, node);
    uint64_t took = clock_mono_ns() - now;
    p->next_ns = now + (took * PART > FRESH_NS ? took * PART : FRESH_NS);
}

bool live_stacks_poll(struct live_stacks *p, struct engine *g, struct ui *u, const char *node)
{
    bool shown = ui_shows_stacks(u), was = p->shown;
    uint64_t now = clock_mono_ns();

    p->shown = shown;
    if (was && !shown)
        left(g, u);
    if (!shown || (was && now < p->next_ns))
        return was && !shown;
    show(p, g, u, node, now);
    return true;
}
