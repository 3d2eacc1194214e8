#include "flame_graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The graph to compare with: of a time range, of the baseline, or of the samples before the
 * comparison began.
 */
static struct flame *base_graph(const struct flame_state *t, const struct flame_query *shown)
{
    struct flame_query q = *shown;
    if (t->base_to_ns) {
        q.filter.from_ns = t->base_from_ns;
        q.filter.to_ns = t->base_to_ns;
        return flame_build(t->view, &q);
    }
    if (t->base) { /* of any profile: the filter's times and requests do not fit it */
        q.filter.from_ns = q.filter.to_ns = 0;
        q.filter.requests = NULL;
        q.filter.inside = q.filter.inside || shown->filter.requests;
        return flame_build(t->base, &q);
    }
    q.filter.to_ns = t->split_ns;
    return flame_build(t->view, &q);
}

static struct flame *graph(const struct flame_state *t, enum flame_part part)
{
    struct flame_query q = t->query;
    bool compare = t->compare && part == FLAME_WHOLE;
    q.part = part;
    if (!compare) {
        return flame_build(t->view, &q);
    }
    struct flame *base = base_graph(t, &q);
    if (!t->base && !t->base_to_ns) {
        q.filter.from_ns = t->split_ns > q.filter.from_ns ? t->split_ns : q.filter.from_ns;
    }
    struct flame *f = flame_build(t->view, &q);
    struct flame *both = flame_compare(f, base);
    flame_free(f);
    flame_free(base);
    return both;
}

void flame_graphs_rebuild(struct flame_state *t, bool keep)
{
    sample_map_free(t->subsecond.map);
    t->subsecond.map = NULL;
    if (!t->view) {
        return;
    }
    flame_pane_set(&t->pane[0], graph(t, t->sandwich ? FLAME_CALLERS : FLAME_WHOLE), keep);
    flame_pane_set(&t->pane[1], t->sandwich ? graph(t, FLAME_CALLEES) : NULL, keep);
    for (int i = 0; i < 2; i++) {
        flame_pane_search(&t->pane[i], t->pattern, t->exact);
    }
}

static void take_requests(struct flame_state *t, uint64_t *requests, size_t n)
{
    free(t->requests);
    t->requests = requests;
    t->query.filter.requests = requests;
    t->query.filter.requests_n = n;
}

void flame_graphs_release(struct flame_state *t)
{
    flame_pane_release(&t->pane[0]);
    flame_pane_release(&t->pane[1]);
    sample_map_free(t->subsecond.map);
    stack_view_release(t->view);
    stack_view_release(t->next);
    stack_view_release(t->base);
    free(t->requests);
    *t = (struct flame_state){0};
}

void flame_graphs_set(struct flame_state *t, struct stack_view *v)
{
    struct stack_view **to = t->frozen && t->view ? &t->next : &t->view;
    stack_view_release(*to);
    *to = v;
    if (to == &t->view) {
        flame_graphs_rebuild(t, true);
    }
}

void flame_graphs_freeze(struct flame_state *t)
{
    t->frozen = !t->frozen;
    if (!t->frozen && t->next) {
        struct stack_view *v = t->next;
        t->next = NULL;
        flame_graphs_set(t, v);
    }
}

void flame_graphs_set_base(struct flame_state *t, struct stack_view *v)
{
    stack_view_release(t->base);
    t->base = v;
    t->compare = v != NULL;
    flame_graphs_rebuild(t, true);
}

void flame_graphs_search(struct flame_state *t, const char *pattern, bool exact)
{
    snprintf(t->pattern, sizeof t->pattern, "%s", pattern);
    t->exact = exact;
    for (int i = 0; i < 2; i++) {
        flame_pane_search(&t->pane[i], t->pattern, t->exact);
    }
}

/* --- which samples --- */

void flame_graphs_range(struct flame_state *t, uint64_t from_ns, uint64_t to_ns)
{
    t->query.filter.from_ns = from_ns;
    t->query.filter.to_ns = to_ns;
    flame_graphs_rebuild(t, true);
}

void flame_graphs_base_range(struct flame_state *t, uint64_t from_ns, uint64_t to_ns)
{
    t->base_from_ns = from_ns;
    t->base_to_ns = to_ns;
    t->compare = to_ns != 0;
    flame_graphs_rebuild(t, true);
}

void flame_graphs_inside(struct flame_state *t, bool inside)
{
    take_requests(t, NULL, 0);
    t->query.filter.inside = inside;
    t->what[0] = 0;
    flame_graphs_rebuild(t, true);
}

void flame_graphs_requests(struct flame_state *t, const struct view_cells *cells,
                           uint64_t *requests, size_t n, const char *what)
{
    if (t->frozen) {
        flame_graphs_freeze(t);
    }
    take_requests(t, requests, n);
    t->query.filter.inside = false;
    t->query.filter.statuses = 0; /* what a request waits for is a part of its time */
    t->query.filter.from_ns = t->query.filter.to_ns = 0;
    t->cells = *cells;
    snprintf(t->what, sizeof t->what, "%s", what);
    flame_graphs_rebuild(t, true);
}

void flame_graphs_more_requests(struct flame_state *t, uint64_t *requests, size_t n)
{
    take_requests(t, requests, n);
}

bool flame_graphs_filtered(const struct flame_state *t)
{
    const struct flame_filter *f = &t->query.filter;
    return f->to_ns || f->inside || f->requests;
}

void flame_graphs_all(struct flame_state *t)
{
    t->query.filter.from_ns = t->query.filter.to_ns = 0;
    flame_graphs_inside(t, false);
}

/* --- comparison --- */

static uint64_t newest_ns(const struct stack_view *v)
{
    uint64_t newest = 0;
    for (size_t i = 0; v && i < stack_view_count(v); i++) {
        uint64_t at = stack_view_at(v, i)->time_ns;
        newest = at > newest ? at : newest;
    }
    return newest;
}

bool flame_graphs_compare(struct flame_state *t)
{
    uint64_t last_ns = newest_ns(t->view);
    if (!t->compare && !t->base && !t->base_to_ns && last_ns == 0) {
        return false;
    }
    t->compare = !t->compare;
    t->split_ns = last_ns + 1;
    flame_graphs_rebuild(t, true);
    return true;
}
