#include "node_load.h"

#include "wall_clock.h"

#include <kprof/base/clock.h>
#include <stdlib.h>

/* A long run queue is a VM event, too. */
static void note_run_queue(struct engine *g, const struct heartbeat *b)
{
    struct event ev = {.ts_ns = b->ts_ns,
                       .prev = CLOCK_SEC_NS,
                       .kind = EVENT_VM,
                       .tier = VM_EVENT_RUN_QUEUE,
                       .label = b->run_queue};

    if (b->schedulers && b->run_queue >= (uint64_t)b->schedulers * VM_EVENT_RUN_QUEUE_LONG)
        core_feed(g->core, &ev, 1);
}

void node_load_take(struct engine *g)
{
    struct node_load *l = &g->load;
    struct heartbeat b;

    if (!stream_heartbeat(g->stream, &b))
        return;
    const struct node_load_second *last = l->n ? &l->of[(l->n - 1) % NODE_LOAD_S] : NULL;
    if (last && b.ts_ns / CLOCK_SEC_NS <= last->ts_ns / CLOCK_SEC_NS)
        return;
    if (!l->of)
        l->of = calloc(NODE_LOAD_S, sizeof *l->of);
    if (!l->of)
        abort();
    note_run_queue(g, &b);
    l->of[l->n++ % NODE_LOAD_S] = (struct node_load_second){.ts_ns = b.ts_ns,
                                                            .memory_bytes = b.memory_bytes,
                                                            .run_queue = b.run_queue,
                                                            .dirty_queue = b.dirty_queue,
                                                            .use_permille = b.sched_permille};
}

void node_load_release(struct engine *g)
{
    free(g->load.of);
}

void node_load_fill(const struct engine *g, struct snapshot *s)
{
    const struct node_load *l = &g->load;
    struct snap_load to[SNAP_LOAD];
    uint64_t now = core_now(g->core), wall = wall_clock_of_core(g), end = wall;
    size_t n = 0, from = l->n > NODE_LOAD_S ? l->n - NODE_LOAD_S : 0;

    if (s->time.history)
        end = snapshot_wall_ns(s, s->time.to_s);
    for (size_t i = l->n; i-- > from && n < SNAP_LOAD;) {
        const struct node_load_second *v = &l->of[i % NODE_LOAD_S];
        uint64_t at = wall + v->ts_ns - now; /* a heartbeat may be ahead of core */
        if (at + SNAP_LOAD * CLOCK_SEC_NS < end)
            break;
        if (s->time.history && at > end)
            continue;
        to[n++] =
            (struct snap_load){.wall_ns = at,
                               .scheduler_use = v->use_permille < 0 ? -1 : v->use_permille / 1000.0,
                               .memory_bytes = v->memory_bytes,
                               .run_queue = v->run_queue,
                               .dirty_queue = v->dirty_queue};
    }
    for (size_t i = 0; i < n / 2; i++) {
        struct snap_load newer = to[i];
        to[i] = to[n - 1 - i];
        to[n - 1 - i] = newer;
    }
    snapshot_set_load(s, to, n);
}
