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

/* Writes the name of the reference, as the header shows a time range, and a message about it. */
static void name_reference(const struct snapshot *s, char *name, size_t name_cap, char *line,
                           size_t cap)
{
    char from[FORMAT_BYTES], to[FORMAT_BYTES];
    uint64_t from_ns = s->wall_ns - (uint64_t)(s->window_s * 1e9), to_ns = s->wall_ns;

    if (s->time.history) {
        from_ns = snapshot_wall_ns(s, s->time.from_s);
        to_ns = snapshot_wall_ns(s, s->time.to_s);
    }
    format_time(from_ns, false, from);
    format_time(to_ns, false, to);
    snprintf(name, name_cap, "%s-%s", from, to);
    snprintf(line, cap, "comparing with %s; %sm stops comparing", name,
             s->time.history ? "} returns to now, " : "");
}

void engine_toggle_comparison(struct engine *g, const struct view_query *shown)
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
    name_reference(s, name, sizeof name, line, sizeof line);
    engine_compare(g, s, name);
    session_log_say(g, line, false);
}
