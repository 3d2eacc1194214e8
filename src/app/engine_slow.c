/* Slow calls to the file of --slow-log, as they come: each when its process has been named, or when
 * that takes too long. */
#include "engine_impl.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

enum {
    PUMP_NS = 200000000,
    NAME_WITHIN_NS = 1000000000, /* no name after that: it goes without */
    BACKLOG = 400,               /* of the slow log's 1000: then nothing waits */
    LINES_A_SECOND = 1000
};

/* Room for another line in this second? A threshold far too low must not fill a disk in minutes. */
static bool line_allowed(struct engine *g, uint64_t now_ns)
{
    if (g->replay)
        return true;
    if (now_ns - g->slow_second_ns >= UINT64_C(1000000000)) {
        g->slow_second_ns = now_ns;
        g->slow_lines = 0;
    }
    return g->slow_lines++ < LINES_A_SECOND;
}

static void write_all(struct engine *g, const struct snapshot *s, uint64_t wall_ns, bool wait)
{
    const char *node = g->replay ? g->meta.node : g->info.node;
    uint64_t now_ns = clock_mono_ns();

    for (size_t i = s->n_slow; i-- > 0;) {
        const struct snap_slow *w = &s->slow[i];
        if (wait && !w->who && i < BACKLOG && w->wall_ns + NAME_WITHIN_NS > wall_ns)
            return;
        g->slow_missed += w->seq - g->slow_seq - 1;
        g->slow_seq = w->seq;
        if (!line_allowed(g, now_ns)) {
            g->slow_missed++;
            continue;
        }
        slow_log_add(g->slow_log, w, node, g->slow_missed);
        g->slow_missed = 0;
    }
}

void engine_pump_slow(struct engine *g, bool all)
{
    uint64_t now_ns = clock_mono_ns(), seq = core_slow_seq(g->core);

    if (!g->slow_log || seq == g->slow_seq)
        return;
    bool many = seq - g->slow_seq >= BACKLOG;
    if (!all && !many && !g->replay && now_ns < g->slow_next_ns)
        return;
    g->slow_next_ns = now_ns + PUMP_NS;
    uint64_t wall_ns = engine_wall_of_core(g);
    struct snapshot *s = core_slow_since(g->core, g->slow_seq, wall_ns);
    engine_name_slow(g, s, now_ns);
    write_all(g, s, wall_ns, !all && !g->replay);
    snapshot_free(s);
    slow_log_flush(g->slow_log);
    const char *trouble = slow_log_trouble(g->slow_log);
    if (!trouble)
        return;
    engine_log(g, trouble);
    if (g->hooks.message)
        g->hooks.message(g->hooks.arg, trouble, true);
    else
        fprintf(stderr, "kprof-top: %s\n", trouble);
}

void engine_set_slow(struct engine *g, uint64_t ns)
{
    g->slow_ns = ns;
    core_set_slow(g->core, ns);
}

int engine_slow(struct engine *g, const char *text, struct err *e)
{
    uint64_t ns = 0;
    char line[80], took[16];

    if (strcmp(text, "off") != 0 && !clock_parse_duration(text, &ns))
        return err_set(e, "\"%.40s\" is not a duration: write 20ms, 1500us, 2s, or off", text);
    engine_set_slow(g, ns);
    clock_format_ns(ns, took, sizeof took);
    snprintf(line, sizeof line, ns ? "slow-call threshold: %s" : "slow calls are not logged", took);
    engine_log(g, line);
    engine_say(g, line, false);
    return 0;
}
