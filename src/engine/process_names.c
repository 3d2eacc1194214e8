/* Names of the processes of slow and open calls, and of VM events. The node is asked once for each
 * name, which is stored while there is room. */
#include "process_names.h"

#include "session_log.h"

#include <kprof/base/clock.h>
#include <kprof/core/call_parts.h>
#include <kprof/core/slow_trace.h>
#include <kprof/core/why.h>
#include <stdio.h>
#include <string.h>

enum {
    WHO_ASK_NS = 500000000,
    WHO_SLOW = 48,
    WHO_TRACES = 16, /* slow requests for which other processes are named */
    WHO_OTHERS = 3,  /* processes that each of these waited for */
    WHO_OPEN = 20,
    WHO_EVENTS = 24,
    WHO_OPEN_US = 1000000
};

/* wall_ns: of the call; UINT64_MAX: it is still open. */
static struct process_name *find(struct engine *g, uint64_t pid, uint64_t wall_ns)
{
    for (size_t i = 0; i < PROCESS_NAMES; i++) {
        struct process_name *w = &g->process_names.of[i];
        if (w->pid == pid && wall_ns >= w->from_wall_ns && wall_ns <= w->to_wall_ns)
            return w;
    }
    return NULL;
}

static const char *name_of(void *arg, uint64_t pid, uint64_t wall_ns)
{
    const struct process_name *w = find(arg, pid, wall_ns);
    return w && w->name[0] ? w->name : NULL;
}

static void want(struct engine *g, uint64_t pid, uint64_t wall_ns, uint64_t *pids, size_t *n)
{
    /* A process of the VM before a restart cannot be asked for, and none is asked for twice. */
    if (wall_ns < g->process_names.vm_wall_ns || find(g, pid, wall_ns))
        return;
    struct process_name *w = &g->process_names.of[g->process_names.n++ % PROCESS_NAMES];
    *w = (struct process_name){
        .pid = pid, .from_wall_ns = g->process_names.vm_wall_ns, .to_wall_ns = UINT64_MAX};
    pids[(*n)++] = pid;
}

void process_names_lost(struct engine *g)
{
    g->process_names.lost_wall_ns = clock_wall_ns();
}

void process_names_restarted(struct engine *g)
{
    g->process_names.vm_wall_ns = g->process_names.lost_wall_ns;
    for (size_t i = 0; i < PROCESS_NAMES; i++)
        if (g->process_names.of[i].to_wall_ns == UINT64_MAX)
            g->process_names.of[i].to_wall_ns = g->process_names.vm_wall_ns;
}

void process_names_apply(struct engine *g, struct snapshot *s)
{
    snapshot_set_who(s, name_of, g);
}

void process_names_why(struct engine *g, struct snapshot *s)
{
    why_add(s, name_of, g);
}

/* The processes for which slow requests waited longest. */
static void want_others(struct engine *g, const struct snapshot *s, uint64_t *pids, size_t *n)
{
    for (size_t i = 0; i < s->n_slow_traces && i < WHO_TRACES; i++) {
        uint64_t pid[WHO_OTHERS];
        const struct snap_slow_trace *t = &s->slow_traces[i];
        size_t others = call_parts_others(t->request, pid, WHO_OTHERS);
        for (size_t k = 0; k < others && *n < PROCESS_NAMES / 4; k++)
            want(g, pid[k], t->wall_ns, pids, n);
    }
}

void process_names_ask(struct engine *g, const struct snapshot *s, uint64_t now_ns)
{
    uint64_t pids[PROCESS_NAMES / 4];
    size_t n = 0;

    if (!g->control || g->state != ENGINE_UP || g->process_names.asked ||
        now_ns < g->process_names.next_ns)
        return;
    for (size_t i = 0; i < s->why.n; i++)
        if (s->why.of[i].pid)
            want(g, s->why.of[i].pid, UINT64_MAX, pids, &n);
    for (size_t i = 0; i < s->n_slow && i < WHO_SLOW && n < PROCESS_NAMES / 4; i++) {
        want(g, slow_pid(&s->slow[i]), s->slow[i].wall_ns, pids, &n);
        if (n < PROCESS_NAMES / 4)
            want(g, s->slow[i].pid, s->slow[i].wall_ns, pids, &n);
    }
    for (size_t i = 0; i < s->vm.n && i < WHO_EVENTS && n < PROCESS_NAMES / 4; i++)
        if (s->vm.of[i].pid)
            want(g, s->vm.of[i].pid, s->vm.of[i].wall_ns, pids, &n);
    want_others(g, s, pids, &n);
    for (size_t i = 0; i < s->n_open && i < WHO_OPEN && n < PROCESS_NAMES / 4; i++) {
        if (s->open[i].age_us >= WHO_OPEN_US)
            want(g, s->open[i].pid, UINT64_MAX, pids, &n);
    }
    if (n) {
        g->process_names.next_ns = now_ns + WHO_ASK_NS;
        g->process_names.asked = true; /* on a busy node an answer may take seconds */
        control_ask(g->control, CONTROL_WHO, 0, NULL, pids, n);
    }
}

/* The name is requested again when it is needed again. */
static void forget(struct engine *g, const struct result *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct process_name *w = find(g, r->pids[i], UINT64_MAX);
        if (w && !w->name[0])
            w->pid = 0;
    }
    session_log_add_once(g, r->text);
}

void process_names_take(struct engine *g, struct result *r)
{
    const char *line = r->text;

    g->process_names.asked = false;
    if (r->failed) {
        forget(g, r);
        return;
    }
    for (size_t i = 0; i < r->n && line; i++) {
        const char *end = strchr(line, '\n');
        struct process_name *w = find(g, r->pids[i], UINT64_MAX);
        if (w && end) {
            size_t len = (size_t)(end - line);
            len = len < sizeof w->name - 1 ? len : sizeof w->name - 1;
            memcpy(w->name, line, len);
            w->name[len] = 0;
        }
        line = end ? end + 1 : NULL;
    }
}
