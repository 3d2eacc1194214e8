/* Who runs the slow calls, and those open for long: names of processes, asked of the node once and
 * kept as long as there is room. */
#include "engine_impl.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

enum { WHO_ASK_NS = 500000000, WHO_OPEN = 20, WHO_OPEN_US = 1000000 };

/* wall_ns: of the call; UINT64_MAX: it is still open. */
static struct engine_who *find(struct engine *g, uint64_t pid, uint64_t wall_ns)
{
    for (size_t i = 0; i < ENGINE_WHO; i++) {
        struct engine_who *w = &g->who_of[i];
        if (w->pid == pid && wall_ns >= w->from_wall_ns && wall_ns <= w->to_wall_ns)
            return w;
    }
    return NULL;
}

static const char *name_of(void *arg, uint64_t pid, uint64_t wall_ns)
{
    const struct engine_who *w = find(arg, pid, wall_ns);
    return w && w->name[0] ? w->name : NULL;
}

static void want(struct engine *g, uint64_t pid, uint64_t wall_ns, uint64_t *pids, size_t *n)
{
    if (wall_ns < g->vm_wall_ns || find(g, pid, wall_ns)) /* nobody knows processes that were */
        return;
    struct engine_who *w = &g->who_of[g->who_n++ % ENGINE_WHO];
    *w = (struct engine_who){.pid = pid, .from_wall_ns = g->vm_wall_ns, .to_wall_ns = UINT64_MAX};
    pids[(*n)++] = pid;
}

void engine_who_lost(struct engine *g)
{
    g->lost_wall_ns = clock_wall_ns();
}

void engine_who_restarted(struct engine *g)
{
    g->vm_wall_ns = g->lost_wall_ns;
    for (size_t i = 0; i < ENGINE_WHO; i++)
        if (g->who_of[i].to_wall_ns == UINT64_MAX)
            g->who_of[i].to_wall_ns = g->vm_wall_ns;
}

/* Names what is known; asks for the newest that are not, a few at a time, before they are gone. */
void engine_name_slow(struct engine *g, struct snapshot *s, uint64_t now_ns)
{
    uint64_t pids[ENGINE_WHO / 4];
    size_t n = 0;

    snapshot_set_who(s, name_of, g);
    if (!g->control || g->state != ENGINE_UP || now_ns < g->who_next_ns)
        return;
    for (size_t i = 0; i < s->n_slow && i < ENGINE_WHO / 2 && n < ENGINE_WHO / 4; i++) {
        want(g, s->slow[i].pid, s->slow[i].wall_ns, pids, &n);
    }
    for (size_t i = 0; i < s->n_open && i < WHO_OPEN && n < ENGINE_WHO / 4; i++) {
        if (s->open[i].age_us >= WHO_OPEN_US)
            want(g, s->open[i].pid, UINT64_MAX, pids, &n);
    }
    if (n) {
        g->who_next_ns = now_ns + WHO_ASK_NS;
        control_ask(g->control, CONTROL_WHO, 0, NULL, pids, n);
    }
}

/* Asked again when it is wanted again. */
static void forget(struct engine *g, const struct result *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct engine_who *w = find(g, r->pids[i], UINT64_MAX);
        if (w && !w->name[0])
            w->pid = 0;
    }
    engine_log_once(g, r->text);
}

void engine_take_who(struct engine *g, const struct result *r)
{
    const char *line = r->text;

    if (r->failed) {
        forget(g, r);
        return;
    }
    for (size_t i = 0; i < r->n && line; i++) {
        const char *end = strchr(line, '\n');
        struct engine_who *w = find(g, r->pids[i], UINT64_MAX);
        if (w && end) {
            size_t len = (size_t)(end - line);
            len = len < sizeof w->name - 1 ? len : sizeof w->name - 1;
            memcpy(w->name, line, len);
            w->name[len] = 0;
        }
        line = end ? end + 1 : NULL;
    }
}

bool engine_asks(const struct engine *g, const char **why)
{
    *why = g->replay ? "the node cannot be asked: this is a recording"
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

    if (engine_asks(g, &why))
        control_ask(g->control, CONTROL_STACK, 0, NULL, &pid, 1);
    else
        no_stack(g, pid, why);
}

void engine_take_stack(struct engine *g, const struct result *r)
{
    if (r->failed)
        no_stack(g, r->pids[0], r->text);
    else if (g->hooks.stack)
        g->hooks.stack(g->hooks.arg, r->pids[0], r->text, r->on);
}
