#include "dead_processes.h"

#include "session_log.h"
#include <kprof/base/clock.h>
#include <string.h>

#define ASK_AFTER_NS  100000000u /* age of a call whose process is asked for */
#define ASK_EVERY_NS  100000000u
#define ASK_MOST      128 /* processes; each gets two signals */
#define BURY_AFTER_NS 300000000u

/* The calls are ended later: while events are late, the return of a call may still be in transit.
 */
void dead_processes_take(struct engine *g, struct result *r)
{
    struct dead_processes *d = &g->dead;
    struct stream_figures f;
    uint64_t now = clock_mono_ns(), node_ns;

    if (r->question_id != d->asked_id) /* of an earlier connection */
        return;
    d->answered_id = r->question_id;
    if (r->failed) {
        session_log_add_once(g, r->text);
        return;
    }
    stream_figures(g->stream, &f);
    if (!stream_now(g->stream, now, &node_ns))
        node_ns = core_now(g->core);
    for (size_t i = 0; i < r->n && d->n < AGENT_REQUEST_PIDS; i++)
        if (core_dead(g->core, r->pids[i], node_ns))
            d->of[d->n++] = (struct dead_process){
                .pid = r->pids[i],
                .due_ns = now + BURY_AFTER_NS + (f.lag_ns > 0 ? (uint64_t)f.lag_ns : 0)};
    /* the others were alive when the request was sent */
    for (size_t i = 0; d->asked_ns && i < d->n_asked; i++)
        core_alive(g->core, d->asked_pid[i], d->asked_ns);
}

static void ask(struct engine *g, uint64_t age_ns, size_t most)
{
    struct dead_processes *d = &g->dead;

    d->n_asked = core_open_pids(g->core, age_ns, &d->from, d->asked_pid, most);
    if (!d->n_asked)
        return;
    if (!stream_now(g->stream, clock_mono_ns(), &d->asked_ns))
        d->asked_ns = 0;
    d->asked_id = control_ask(g->control, CONTROL_DEAD, 0, NULL, d->asked_pid, d->n_asked);
}

static bool is_asked(const struct dead_processes *d)
{
    return d->asked_id != d->answered_id;
}

void dead_processes_ask(struct engine *g)
{
    uint64_t now = clock_mono_ns();

    if (!g->control || g->state != ENGINE_UP || now < g->dead.next_ns || is_asked(&g->dead) ||
        g->dead.last)
        return;
    g->dead.next_ns = now + ASK_EVERY_NS;
    ask(g, ASK_AFTER_NS, ASK_MOST);
}

bool dead_processes_last(struct engine *g)
{
    if (!g->control || g->state != ENGINE_UP)
        return false;
    if (!g->dead.last) {
        if (g->dead.n || is_asked(&g->dead))
            return true; /* an earlier request is still being processed */
        ask(g, 0, AGENT_REQUEST_PIDS);
        g->dead.last = true;
    }
    return g->dead.n || is_asked(&g->dead);
}

void dead_processes_lost(struct engine *g)
{
    g->dead.n = 0;
    g->dead.answered_id = g->dead.asked_id;
}

/* When the node reported the dead processes, their last events may still have been in transit:
 * their open calls are ended only once these events are certain to have arrived. */
void dead_processes_end_calls(struct engine *g)
{
    struct dead_processes *d = &g->dead;
    uint64_t now = clock_mono_ns();
    struct buf b;
    size_t n = 0;

    if (!d->n || now < d->of[0].due_ns || ring_fill(g->ring))
        return;
    buf_init(&b, 0);
    for (; n < d->n && d->of[n].due_ns <= now; n++) {
        struct event ev = {
            .ts_ns = core_exit_ns(g->core, d->of[n].pid), .pid = d->of[n].pid, .kind = EVENT_EXIT};
        core_feed(g->core, &ev, 1);
        buf_add(&b, &ev, sizeof ev);
    }
    recorder_write(g->recorder, RECORD_EXITS, now, b.data, b.len);
    buf_release(&b);
    d->n -= n;
    memmove(d->of, d->of + n, d->n * sizeof d->of[0]);
}
