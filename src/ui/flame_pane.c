#include "flame_pane.h"

#include <kprof/base/must.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* --- the graph --- */

static uint32_t child_with_text(const struct flame *f, uint32_t node, const char *text)
{
    const struct flame_node *n = &f->node[node];
    for (uint32_t c = n->first_child; c < n->first_child + n->children; c++) {
        if (strcmp(flame_text(f, c, NULL), text) == 0) {
            return c;
        }
    }
    return 0;
}

/* The node of `to` whose path has the most in common with the path of `node` in `from`. */
static uint32_t counterpart(const struct flame *from, uint32_t node, const struct flame *to)
{
    uint32_t depth = from->node[node].depth, at = 0;
    uint32_t *path = must(malloc((depth + 1) * sizeof *path));
    for (uint32_t n = node; n != 0; n = from->node[n].parent) {
        path[from->node[n].depth] = n;
    }
    for (uint32_t d = 1; d <= depth; d++) {
        uint32_t next = child_with_text(to, at, flame_text(from, path[d], NULL));
        if (next == 0) {
            break;
        }
        at = next;
    }
    free(path);
    return at;
}

void flame_pane_set(struct flame_pane *p, struct flame *graph, bool keep)
{
    struct flame *old = p->graph;
    bool both = keep && old && graph;
    p->zoom = both ? counterpart(old, p->zoom, graph) : 0;
    p->sel = both ? counterpart(old, p->sel, graph) : 0;
    p->graph = graph;
    p->boxes = 0;
    free(p->hit);
    p->hit = NULL;
    p->found = 0;
    if (!both) {
        p->top = 0;
    }
    flame_free(old);
}

void flame_pane_release(struct flame_pane *p)
{
    flame_pane_set(p, NULL, false);
    free(p->box);
    *p = (struct flame_pane){0};
}

static double part(uint64_t of, uint64_t all)
{
    return all ? (double)of / (double)all : 0;
}

double flame_pane_share(const struct flame *f, uint32_t node)
{
    const struct flame_node *n = &f->node[node];
    double now = part(n->total, f->node[0].total);
    return f->compared ? (now + part(n->base_total, f->node[0].base_total)) / 2 : now;
}

double flame_pane_change(const struct flame *f, uint32_t node)
{
    const struct flame_node *n = &f->node[node];
    return part(n->total, f->node[0].total) - part(n->base_total, f->node[0].base_total);
}

/* --- layout --- */

/* False: too narrow to be drawn. */
static bool add_box(struct flame_pane *p, uint32_t node, double x, double width)
{
    int col = (int)lround(x), end = (int)lround(x + width);
    if (end <= col) {
        return false;
    }
    if (p->boxes == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 256;
        p->box = must(realloc(p->box, p->cap * sizeof *p->box));
    }
    p->box[p->boxes++] =
        (struct flame_box){.node = node, .col = col, .cols = end - col, .x = x, .width = width};
    return true;
}

static void add_callers(struct flame_pane *p, int cols)
{
    const struct flame *f = p->graph;
    uint32_t depth = f->node[p->zoom].depth;
    size_t first = p->boxes;
    for (uint32_t d = 0; d < depth; d++) {
        add_box(p, 0, 0, cols);
    }
    for (uint32_t n = p->zoom; n != 0; n = f->node[n].parent) {
        if (n != p->zoom) {
            p->box[first + f->node[n].depth].node = n;
        }
    }
}

void flame_pane_layout(struct flame_pane *p, int cols)
{
    const struct flame *f = p->graph;
    p->boxes = 0;
    if (!f || cols < 1) {
        return;
    }
    add_callers(p, cols);
    size_t i = p->boxes;
    add_box(p, p->zoom, 0, cols);
    double whole = flame_pane_share(f, p->zoom);
    for (; i < p->boxes && whole > 0; i++) {
        const struct flame_node *n = &f->node[p->box[i].node];
        double x = p->box[i].x, end = x + p->box[i].width;
        for (uint32_t c = n->first_child; c < n->first_child + n->children && x < end; c++) {
            double width = flame_pane_share(f, c) / whole * cols;
            add_box(p, c, x, width);
            x += width;
        }
    }
}

void flame_pane_zoom(struct flame_pane *p, uint32_t node)
{
    p->zoom = node;
    p->sel = node;
}

/* --- search --- */

static bool found(const regex_t *r, const char *pattern, bool exact, const char *text)
{
    if (exact) {
        return strcmp(text, pattern) == 0;
    }
    return r ? regexec(r, text, 0, NULL, 0) == 0 : strstr(text, pattern) != NULL;
}

void flame_pane_search(struct flame_pane *p, const char *pattern, bool exact)
{
    regex_t regex;
    free(p->hit);
    p->hit = NULL;
    p->found = 0;
    if (!p->graph || !pattern[0]) {
        return;
    }
    bool is_regex = !exact && regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0;
    p->hit = must(calloc((size_t)p->graph->labels + 1, sizeof *p->hit));
    for (uint32_t l = 1; l <= p->graph->labels; l++) {
        p->hit[l] =
            found(is_regex ? &regex : NULL, pattern, exact, flame_label_text(p->graph, l, NULL));
    }
    if (is_regex) {
        regfree(&regex);
    }
    p->found = flame_sum(p->graph, p->hit, p->zoom);
}

/* --- movement --- */

static size_t box_of(const struct flame_pane *p, uint32_t node)
{
    for (size_t i = 0; i < p->boxes; i++) {
        if (p->box[i].node == node) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Selects the next box of the same depth. */
static bool sideways(struct flame_pane *p, int step)
{
    size_t at = box_of(p, p->sel);
    if (at == SIZE_MAX || (step < 0 && at == 0) || (step > 0 && at + 1 >= p->boxes)) {
        return false;
    }
    uint32_t next = p->box[step < 0 ? at - 1 : at + 1].node;
    if (p->graph->node[next].depth != p->graph->node[p->sel].depth) {
        return false;
    }
    p->sel = next;
    return true;
}

static bool to_callee(struct flame_pane *p)
{
    const struct flame_node *n = &p->graph->node[p->sel];
    for (uint32_t c = n->first_child; c < n->first_child + n->children; c++) {
        if (box_of(p, c) != SIZE_MAX) {
            p->sel = c;
            return true;
        }
    }
    return false;
}

bool flame_pane_move(struct flame_pane *p, enum flame_move how)
{
    uint32_t before = p->sel;
    if (!p->graph) {
        return false;
    }
    switch (how) {
    case FLAME_CALLER:
        if (p->sel != p->zoom) {
            p->sel = p->graph->node[p->sel].parent;
        }
        break;
    case FLAME_CALLEE:
        to_callee(p);
        break;
    case FLAME_LEFT:
    case FLAME_RIGHT:
        sideways(p, how == FLAME_LEFT ? -1 : 1);
        break;
    case FLAME_FIRST:
        p->sel = p->zoom;
        break;
    case FLAME_LAST:
        while (to_callee(p)) {
        }
        break;
    }
    return p->sel != before;
}

bool flame_pane_next(struct flame_pane *p, bool back)
{
    size_t at = box_of(p, p->sel), n = p->boxes;
    at = at == SIZE_MAX ? 0 : at;
    for (size_t k = 1; p->hit && k <= n; k++) {
        size_t i = (back ? at + n - k : at + k) % n;
        uint32_t node = p->box[i].node;
        bool caller = p->graph->node[node].depth < p->graph->node[p->zoom].depth;
        if (!caller && p->hit[p->graph->node[node].label]) {
            p->sel = node;
            return true;
        }
    }
    return false;
}
