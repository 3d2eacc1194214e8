/* Compares the present with the reference: an earlier time range, or a recording. */
#include "session_log.h"

#include <kprof/base/format.h>
#include <stdio.h>

void engine_compare(struct engine *g, struct snapshot *then, const char *name)
{
    compare_free(g->compare);
    g->compare = compare_new(then, name);
}

const struct snapshot *engine_compared(const struct engine *g)
{
    return g->compare ? compare_then(g->compare) : NULL;
}

/* The reference as the header shows a time range: its name, and a sentence. */
static void name_mark(const struct snapshot *s, char *name, size_t name_cap, char *line, size_t cap)
{
    char from[FORMAT_BYTES], to[FORMAT_BYTES], length[FORMAT_BYTES];

    if (s->time.history) {
        format_time(snapshot_wall_ns(s, s->time.from_s), false, from);
        format_time(snapshot_wall_ns(s, s->time.to_s), false, to);
        snprintf(name, name_cap, "%s-%s", from, to);
        snprintf(line, cap, "comparing with %s; } returns to now, m stops comparing", name);
        return;
    }
    format_time(s->wall_ns, false, to);
    if (s->time.asked_s)
        format_span(s->time.asked_s, length);
    else
        snprintf(length, sizeof length, "%s", window_name(s->window));
    snprintf(name, name_cap, "%s (%s)", to, length);
    snprintf(line, cap, "comparing with the %s before %s; m stops comparing", length, to);
}

void engine_mark(struct engine *g, const struct view_query *shown)
{
    struct view_query l = {
        .window = shown->window, .length_s = shown->length_s, .end_s = shown->end_s};
    char name[80], line[160];

    if (g->compare) {
        compare_free(g->compare);
        g->compare = NULL;
        session_log_say(g, "comparison off", false);
        return;
    }
    struct snapshot *s = engine_view(g, &l);
    name_mark(s, name, sizeof name, line, sizeof line);
    engine_compare(g, s, name);
    session_log_say(g, line, false);
}
