#include "dead_processes.h"

#include "session_log.h"
#include <kprof/base/clock.h>
#include <string.h>

#define DEAD_AFTER_NS 1000000000u
#define BURY_AFTER_NS 300000000u

/* The calls are ended later: while events are late, the return of a call may still be in transit.
 */
void dead_processes_take(struct engine *g, struct result *r)
{
    struct stream_figures f;

    g->dead.answered_id = r->question_id;
    if (r->failed)
        session_log_add_once(g, r->text);
    if (r->failed || g->dead.n || r->n > AGENT_REQUEST_PIDS) /* they will be checked again */
        return;
    stream_figures(g->stream, &f);
    memcpy(g->dead.pid, r->pids, r->n * sizeof r->pids[0]);
    g->dead.n = r->n;
    g->dead.due_ns = clock_mono_ns() + BURY_AFTER_NS + (f.lag_ns > 0 ? (uint64_t)f.lag_ns : 0);
}

void dead_processes_ask(struct engine *g)
{
    uint64_t now = clock_mono_ns(), pids[AGENT_REQUEST_PIDS];

    if (!g->control || g->state != ENGINE_UP || now < g->dead.next_ns || g->dead.n || g->dead.last)
        return;
    g->dead.next_ns = now + DEAD_AFTER_NS;
    size_t n = core_open_pids(g->core, DEAD_AFTER_NS, &g->dead.from, pids, AGENT_REQUEST_PIDS);
    if (n)
        g->dead.asked_id = control_ask(g->control, CONTROL_DEAD, 0, NULL, pids, n);
}

bool dead_processes_last(struct engine *g)
{
    uint64_t pids[AGENT_REQUEST_PIDS];

    if (!g->control || g->state != ENGINE_UP)
        return false;
    if (!g->dead.last) {
        if (g->dead.n || g->dead.asked_id != g->dead.answered_id)
            return true; /* an earlier request is still being processed */
        size_t n = core_open_pids(g->core, 0, &g->dead.from, pids, AGENT_REQUEST_PIDS);
        if (n)
            g->dead.asked_id = control_ask(g->control, CONTROL_DEAD, 0, NULL, pids, n);
        g->dead.last = true;
    }
    return g->dead.n || g->dead.asked_id != g->dead.answered_id;
}

/* When the node reported the dead processes, their last events may still have been in transit:
 * their open calls are ended only once these events are certain to have arrived. */
void dead_processes_end_calls(struct engine *g)
{
    struct buf b;

    if (!g->dead.n || clock_mono_ns() < g->dead.due_ns || ring_fill(g->ring))
        return;
    buf_init(&b, 0);
    for (size_t i = 0; i < g->dead.n; i++) {
        struct event ev = {.ts_ns = core_now(g->core), .pid = g->dead.pid[i], .kind = EVENT_EXIT};
        core_feed(g->core, &ev, 1);
        buf_add(&b, &ev, sizeof ev);
    }
    recorder_write(g->recorder, RECORD_EXITS, clock_mono_ns(), b.data, b.len);
    buf_release(&b);
    g->dead.n = 0;
}
