#include "live_stacks.h"

#include <kprof/base/clock.h>
#include <kprof/core/flame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_MS 5000
#define ALL       ((1u << STACK_STATUSES) - 1)
#define LEAST_US  1000u
#define MOST_US   10000000u
#define FRESH_NS  1000000000u
/* No event is processed while many samples are drawn, so drawing takes at most 1/PART of the
 * time. */
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
        p->trigger = false;
        if (!ui_shows_stacks(u))
            ui_message(u, "stack sampling has started; F shows the samples, K ends it", false);
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
        p->trigger = false;
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
    p->trigger = false;
    ui_message(u, on ? "stack sampling has ended; F shows the samples" : "no stacks are sampled",
               !on);
}

static void change_rate(struct live_stacks *p, struct engine *g, struct ui *u, bool more)
{
    uint64_t us = more ? p->request.interval_us / 2 : p->request.interval_us * 2;

    if (us < LEAST_US || us > MOST_US) {
        ui_message(u,
                   more ? "this is the highest sampling rate" : "this is the lowest sampling rate",
                   true);
        return;
    }
    p->request.interval_us = us;
    if (p->chosen && wanted(g))
        begin(p, g, u, false);
}

/* ---- triggers ---- */

bool live_stacks_triggered(struct live_stacks *p, struct engine *g, struct ui *u)
{
    if (wanted(g))
        return false;
    if (!p->chosen)
        process_choice_default(&p->request.processes);
    p->chosen = p->trigger = true;
    begin(p, g, u, false);
    return true;
}

void live_stacks_trigger_over(struct live_stacks *p, struct engine *g)
{
    if (!p->trigger)
        return;
    p->trigger = false;
    p->stopped = true; /* F shows the samples, and does not begin again */
    engine_stacks_end(g);
}

/* ---- samples inside requests ---- */

static bool has_any(const struct stack_view *v, const uint64_t *requests, size_t n)
{
    const struct flame_filter f = {.requests = requests, .requests_n = n};

    for (size_t i = 0; n > 0 && i < stack_view_count(v); i++)
        if (flame_passes(v, i, &f))
            return true;
    return false;
}

/* Reports that there are no samples, and offers to take some from now on. */
static void no_samples_inside(struct engine *g, struct ui *u)
{
    struct intent yes = {.kind = INTENT_SAMPLING, .text = "inside"};
    struct snap_sampling s;

    engine_sampling(g, &s);
    if (s.replay)
        ui_message(u, "the recording has no stack samples inside these requests", true);
    else if (wanted(g) && strcmp(s.who, yes.text) == 0)
        ui_message(u, "no stack samples inside these requests so far; mark newer ones", true);
    else
        ui_ask(u, "No stack samples inside these requests. Sample inside requests from now on?",
               &yes);
}

static void inside(struct live_stacks *p, struct engine *g, struct ui *u, const struct intent *in)
{
    size_t n;
    uint64_t *requests = engine_stacks_requests(g, &in->cells, &n);
    struct stack_view *v = engine_stacks_view(g);
    struct snap_sampling s;

    if (!v || !has_any(v, requests, n)) {
        stack_view_release(v);
        free(requests);
        no_samples_inside(g, u);
        return;
    }
    engine_sampling(g, &s);
    ui_set_sampling(u, &s);
    ui_set_stacks(u, v, "");
    ui_show_inside(u, &in->cells, requests, n, in->text);
    p->next_ns = 0;
}

/* Requests of the same cells may have ended since. */
static void more_inside(struct engine *g, struct ui *u)
{
    struct view_cells cells;
    size_t n;

    if (ui_stacks_inside(u, &cells)) {
        uint64_t *requests = engine_stacks_requests(g, &cells, &n);
        ui_set_stacks_inside(u, requests, n);
    }
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
    case INTENT_FLAME_INSIDE:
        inside(p, g, u, in);
        break;
    default:
        change_rate(p, g, u, in->kind == INTENT_SAMPLING_MORE);
        break;
    }
}

/* ---- the screen ---- */

static void left(const struct live_stacks *p, struct engine *g, struct ui *u)
{
    bool on = wanted(g);

    if (ui_keeps_sampling(u) || p->trigger)
        return;
    engine_stacks_end(g);
    if (on)
        ui_message(u, "stack sampling has ended; F resumes it", false);
}

static void show(struct live_stacks *p, struct engine *g, struct ui *u, const char *node,
                 uint64_t now)
{
    struct snap_sampling s;
    struct stack_view *v = engine_stacks_view(g);

    engine_sampling(g, &s);
    ui_set_sampling(u, &s);
    more_inside(g, u);
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
        left(p, g, u);
    if (!shown || (was && now < p->next_ns))
        return was && !shown;
    show(p, g, u, node, now);
    return true;
}
