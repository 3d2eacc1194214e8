#include "queue_watch.h"

#include <kprof/base/clock.h>
#include <stdio.h>

#define EVERY_NS 500000000u

void engine_watch_queues(struct engine *g, const char *const *names, size_t n)
{
    struct queue_watch *w = &g->queue_watch;

    *w = (struct queue_watch){.n = n < SNAP_QUEUES ? n : SNAP_QUEUES};
    for (size_t i = 0; i < w->n; i++) {
        snprintf(w->of[i].name, sizeof w->of[i].name, "%s", names[i]);
        w->of[i].length = -1;
    }
}

static bool may_ask(const struct engine *g)
{
    struct heartbeat b;

    return g->control && g->state == ENGINE_UP && stream_heartbeat(g->stream, &b) &&
           b.breaker == BREAKER_CLOSED;
}

void queue_watch_poll(struct engine *g)
{
    struct queue_watch *w = &g->queue_watch;
    uint64_t now = clock_mono_ns();

    if (w->n == 0 || w->asked || now < w->next_ns)
        return;
    if (!may_ask(g)) {
        w->of[w->next].length = -1;
    } else {
        w->asked = true;
        w->question_id =
            control_ask(g->control, CONTROL_QUEUE, (uint16_t)w->next, w->of[w->next].name, NULL, 0);
    }
    w->next = (w->next + 1) % w->n;
    w->next_ns = now + EVERY_NS / w->n;
}

void queue_watch_take(struct engine *g, struct result *r)
{
    struct queue_watch *w = &g->queue_watch;

    if (!w->asked || r->question_id != w->question_id)
        return; /* of queues that are no longer watched */
    w->asked = false;
    if (r->ix < w->n)
        w->of[r->ix].length = r->failed ? -1 : r->length;
}
