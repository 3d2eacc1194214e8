/* Writes slow requests to the file of --slow-log when they have ended: each when the name of its
 * process is known, or after a time limit. */
#include "slow_pump.h"

#include "process_names.h"
#include "session_log.h"
#include "wall_clock.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

enum {
    PUMP_NS = 200000000,
    NAME_WITHIN_NS = 1000000000, /* after this time it is written without a name */
    BACKLOG = 400, /* of the 1000 stored: beyond this, lines are written without waiting */
    LINES_A_SECOND = 1000
};

/* True: another line may be written in this second. A threshold that is far too low must not fill a
 * disk in minutes. */
static bool line_allowed(struct engine *g, uint64_t now_ns)
{
    if (g->replay.file)
        return true;
    if (now_ns - g->slow.second_ns >= UINT64_C(1000000000)) {
        g->slow.second_ns = now_ns;
        g->slow.lines = 0;
    }
    return g->slow.lines++ < LINES_A_SECOND;
}

static void write_all(struct engine *g, const struct snapshot *s, uint64_t wall_ns, bool wait)
{
    const char *node = g->replay.file ? g->replay.meta.node : g->connection.info.node;
    uint64_t now_ns = clock_mono_ns();

    for (size_t i = s->n_slow; i-- > 0;) {
        const struct snap_slow *w = &s->slow[i];
        if (wait && (!w->who || !slow_who(w)) && i < BACKLOG &&
            w->wall_ns + NAME_WITHIN_NS > wall_ns)
            return;
        g->slow.missed += w->done - g->slow.done - 1;
        g->slow.done = w->done;
        if (!line_allowed(g, now_ns)) {
            g->slow.missed++;
            continue;
        }
        slow_log_add(g->slow.log, s, w, node, g->slow.missed);
        g->slow.missed = 0;
    }
}

void slow_pump_run(struct engine *g, bool all)
{
    if (!g->slow.log)
        return;
    if (all)
        core_slow_end_all(g->core);
    uint64_t now_ns = clock_mono_ns(), done = core_slow_done(g->core);
    if (done == g->slow.done)
        return;
    bool many = done - g->slow.done >= BACKLOG;
    if (!all && !many && !g->replay.file && now_ns < g->slow.next_ns)
        return;
    g->slow.next_ns = now_ns + PUMP_NS;
    uint64_t wall_ns = wall_clock_of_core(g);
    struct snapshot *s = core_slow_since(g->core, g->slow.done, wall_ns);
    process_names_apply(g, s);
    process_names_ask(g, s, now_ns);
    write_all(g, s, wall_ns, !all && !g->replay.file);
    snapshot_free(s);
    slow_log_flush(g->slow.log);
    const char *trouble = slow_log_trouble(g->slow.log);
    if (trouble)
        session_log_trouble(g, trouble);
}

void slow_pump_set_threshold(struct engine *g, uint64_t ns)
{
    g->slow.threshold_ns = ns;
    core_set_slow(g->core, ns);
    recorder_slow(g->recorder, clock_mono_ns(), ns);
}

void slow_pump_recorded(struct engine *g, uint64_t ns)
{
    if (g->slow.chosen)
        return;
    g->slow.threshold_ns = ns;
    core_set_slow(g->core, ns);
}

int engine_slow(struct engine *g, const char *text, struct err *e)
{
    uint64_t ns = 0;
    char line[80], took[16];

    if (text[0] && strcmp(text, "0") != 0 && strspn(text, "0123456789. ") == strlen(text))
        return err_set(e, "%.20s has no unit: write %.20sms, %.20sus or %.20ss", text, text, text,
                       text);
    if (strcmp(text, "off") != 0 && !clock_parse_typed(text, &ns))
        return err_set(e, "\"%.40s\" is not a duration: write 20ms, 1500us, 2s, or off", text);
    slow_pump_set_threshold(g, ns);
    g->slow.chosen = true;
    clock_format_ns(ns, took, sizeof took);
    snprintf(line, sizeof line,
             ns ? "slow-call threshold: %s" : "no slow-call threshold is set; s sets it", took);
    session_log_say(g, line, false);
    return 0;
}
