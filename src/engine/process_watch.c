#include "process_watch.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 200, FAILED_MS = 2000, LEAST_MS = 50, MOST_MS = 2000 };

static bool live(const struct engine *g)
{
    return g->control && g->state == ENGINE_UP;
}

static void tell(struct engine *g, struct process_table *t, const char *why)
{
    if (g->hooks.processes)
        g->hooks.processes(g->hooks.arg, t, why);
    else
        process_table_free(t);
}

static void say_none(struct engine *g)
{
    char why[200];

    if (g->replay.file)
        snprintf(why, sizeof why,
                 "a recording has no process table: attach to a node to see its processes");
    else if (g->state == ENGINE_CONNECTING)
        snprintf(why, sizeof why, "not connected to %.100s yet", g->connection.node);
    else
        snprintf(why, sizeof why, "the connection to %.100s is lost", g->connection.node);
    tell(g, NULL, why);
}

static bool same(const struct process_request *a, const struct process_request *b)
{
    return a->period_ms == b->period_ms && a->order.by == b->order.by &&
           a->order.within == b->order.within && strcmp(a->order.name, b->order.name) == 0;
}

void engine_processes(struct engine *g, const struct process_request *r)
{
    struct process_watch *w = &g->process_watch;

    if (r && w->on && same(&w->wanted, r))
        return;
    if (r) {
        w->wanted = *r;
        w->next_ns = w->question_id = 0; /* a pending answer belongs to another request */
        w->asked = false;
        w->on = true;
    } else if (w->on) {
        w->on = w->asked = false;
        if (live(g))
            control_processes(g->control, NULL);
    }
}

void process_watch_poll(struct engine *g)
{
    struct process_watch *w = &g->process_watch;
    uint64_t now = clock_mono_ns();

    if (!w->on || now < w->next_ns)
        return;
    if (!live(g)) {
        w->asked = false;
        w->next_ns = now + FAILED_MS * UINT64_C(1000000);
        say_none(g);
    } else if (!w->asked) {
        w->asked = true;
        w->question_id = control_processes(g->control, &w->wanted);
    }
}

/* The time until the next request: until the node has a new round, within limits. */
static uint64_t pause_ns(const struct process_head *h)
{
    double ms = h->next_s * 1e3, least = h->seq ? LEAST_MS : WAIT_MS;

    return (uint64_t)(ms < least ? least : ms > MOST_MS ? MOST_MS : ms) * UINT64_C(1000000);
}

void process_watch_take(struct engine *g, struct result *r)
{
    struct process_watch *w = &g->process_watch;

    if (!w->on || r->question_id != w->question_id)
        return;
    w->asked = false;
    if (r->failed) {
        w->next_ns = clock_mono_ns() + FAILED_MS * UINT64_C(1000000);
        tell(g, NULL, r->text);
        return;
    }
    w->next_ns = clock_mono_ns() + pause_ns(&r->processes->head);
    struct process_table *t = r->processes;
    r->processes = NULL;
    tell(g, t, NULL);
}
