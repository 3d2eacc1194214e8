/* Who runs the slow calls, and those open for long: names of processes, asked of the node once and
 * kept as long as there is room. */
#include "engine_impl.h"

#include <stdio.h>
#include <string.h>

enum { WHO_ASK_NS = 500000000, WHO_OPEN = 20, WHO_OPEN_US = 1000000 };

static struct engine_who *find(struct engine *g, uint64_t pid)
{
    for (size_t i = 0; i < ENGINE_WHO; i++)
        if (g->who_of[i].pid == pid)
            return &g->who_of[i];
    return NULL;
}

static const char *name_of(void *arg, uint64_t pid)
{
    const struct engine_who *w = find(arg, pid);
    return w && w->name[0] ? w->name : NULL;
}

static void want(struct engine *g, uint64_t pid, uint64_t *pids, size_t *n)
{
    if (find(g, pid))
        return;
    struct engine_who *w = &g->who_of[g->who_n++ % ENGINE_WHO];
    w->pid = pid;
    w->name[0] = 0;
    pids[(*n)++] = pid;
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
        want(g, s->slow[i].pid, pids, &n);
    }
    for (size_t i = 0; i < s->n_open && i < WHO_OPEN && n < ENGINE_WHO / 4; i++) {
        if (s->open[i].age_us >= WHO_OPEN_US)
            want(g, s->open[i].pid, pids, &n);
    }
    if (n) {
        g->who_next_ns = now_ns + WHO_ASK_NS;
        control_ask(g->control, CONTROL_WHO, 0, NULL, pids, n);
    }
}

void engine_take_who(struct engine *g, const struct result *r)
{
    const char *line = r->text;

    for (size_t i = 0; i < r->n && line; i++) {
        const char *end = strchr(line, '\n');
        struct engine_who *w = find(g, r->pids[i]);
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

void engine_stack(struct engine *g, uint64_t pid)
{
    const char *why;
    char line[100];

    if (engine_asks(g, &why)) {
        control_ask(g->control, CONTROL_STACK, 0, NULL, &pid, 1);
        return;
    }
    snprintf(line, sizeof line, "not known: %s", why);
    if (g->hooks.stack)
        g->hooks.stack(g->hooks.arg, pid, line, false);
}
