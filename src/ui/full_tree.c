#include "full_tree.h"

#include <kprof/base/buf.h>
#include <kprof/base/must.h>
#include <kprof/core/flame.h>
#include <stdlib.h>
#include <string.h>

/* A node with less than 1 / UNFOLD_PART of the time is folded at first. */
enum { UNFOLD_PART = 50 };

static const struct call_node *node_of(const struct full_tree *t, uint32_t i)
{
    return call_tree_node(t->tree, i);
}

static bool is_hidden(const struct full_tree *t, uint32_t i)
{
    enum call_node_kind kind = node_of(t, i)->kind;
    return (kind == CALL_NODE_SLEEP && t->hide.sleep) || (kind == CALL_NODE_GC && t->hide.gc);
}

bool full_tree_has_children(const struct full_tree *t, uint32_t node)
{
    uint32_t i = node_of(t, node)->first_child;
    while (i && is_hidden(t, i)) {
        i = node_of(t, i)->next;
    }
    return i != 0;
}

/* --- lines --- */

struct child {
    uint64_t by;
    uint32_t node;
};

/* The nodes whose lines are still to come, the next one last. */
struct pending {
    struct child *at;
    size_t n, cap;
};

static uint64_t rank(const struct call_node *n, enum full_order order)
{
    return order == FULL_ORDER_TOTAL   ? n->total_ns
           : order == FULL_ORDER_OWN   ? n->own_ns
           : order == FULL_ORDER_CALLS ? n->calls
                                       : 0;
}

/* The first line last. Nodes have their numbers in the order of their first calls. */
static int last_first(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    if (x->by != y->by) {
        return x->by < y->by ? -1 : 1;
    }
    return x->node > y->node ? -1 : 1;
}

static void push_children(const struct full_tree *t, struct pending *p, uint32_t node)
{
    size_t first = p->n;
    for (uint32_t i = node_of(t, node)->first_child; i; i = node_of(t, i)->next) {
        if (is_hidden(t, i)) {
            continue;
        }
        if (p->n == p->cap) {
            p->cap = p->cap ? 2 * p->cap : 256;
            p->at = must(realloc(p->at, p->cap * sizeof *p->at));
        }
        p->at[p->n++] = (struct child){rank(node_of(t, i), t->order), i};
    }
    if (p->n > first) {
        qsort(p->at + first, p->n - first, sizeof *p->at, last_first);
    }
}

static void add_line(struct full_tree *t, uint32_t node)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->line = must(realloc(t->line, t->cap * sizeof *t->line));
    }
    t->line[t->n++] = node;
}

static void make_lines(struct full_tree *t)
{
    struct pending p = {0};
    t->n = 0;
    if (!t->tree) {
        return;
    }
    push_children(t, &p, 0);
    while (p.n) {
        uint32_t node = p.at[--p.n].node;
        add_line(t, node);
        if (t->open[node]) {
            push_children(t, &p, node);
        }
    }
    free(p.at);
}

/* --- folding --- */

void full_tree_set(struct full_tree *t, struct call_tree *tree)
{
    enum full_order order = t->order;
    struct call_tree_hide hide = t->hide;
    full_tree_release(t);
    t->order = order;
    t->hide = hide;
    t->tree = tree;
    if (!tree) {
        return;
    }
    call_tree_sum(tree, &hide);
    uint32_t n = call_tree_nodes(tree);
    uint64_t all = call_tree_node(tree, 0)->total_ns;
    t->open = must(calloc(n, sizeof *t->open));
    for (uint32_t i = 0; i < n; i++) {
        const struct call_node *k = call_tree_node(tree, i);
        t->open[i] = k->kind == CALL_NODE_PROCESS || k->total_ns >= all / UNFOLD_PART;
    }
    make_lines(t);
}

void full_tree_release(struct full_tree *t)
{
    free(t->open);
    free(t->line);
    *t = (struct full_tree){0};
}

void full_tree_hide(struct full_tree *t, const struct call_tree_hide *hide)
{
    t->hide = *hide;
    if (t->tree) {
        call_tree_sum(t->tree, hide);
    }
    make_lines(t);
}

void full_tree_order(struct full_tree *t, enum full_order order)
{
    t->order = order;
    make_lines(t);
}

void full_tree_fold(struct full_tree *t, uint32_t node, bool open)
{
    t->open[node] = open;
    make_lines(t);
}

void full_tree_fold_all(struct full_tree *t, bool open)
{
    uint32_t n = t->tree ? call_tree_nodes(t->tree) : 0;
    for (uint32_t i = 0; i < n; i++) {
        t->open[i] = open || node_of(t, i)->kind == CALL_NODE_PROCESS;
    }
    make_lines(t);
}

size_t full_tree_line_of(const struct full_tree *t, uint32_t node)
{
    for (; t->tree && node; node = node_of(t, node)->parent) {
        for (size_t i = 0; i < t->n; i++) {
            if (t->line[i] == node) {
                return i;
            }
        }
    }
    return 0;
}

void full_tree_show(struct full_tree *t, uint32_t node)
{
    for (uint32_t i = node_of(t, node)->parent; i; i = node_of(t, i)->parent) {
        t->open[i] = true;
    }
    make_lines(t);
}

/* --- search --- */

/* The text of each frame is compared only once, because many nodes have the same frame. */
static bool matches(const struct full_tree *t, uint32_t node, const char *text, signed char *known)
{
    const struct call_node *n = node_of(t, node);
    struct buf name;
    if (!n->frame || is_hidden(t, node)) {
        return false;
    }
    if (!known[n->frame]) {
        buf_init(&name, 0);
        flame_frame_text(&name, call_tree_profile(t->tree), n->frame, false);
        known[n->frame] = strstr(name.data, text) ? 1 : -1;
        buf_release(&name);
    }
    return known[n->frame] > 0;
}

uint32_t full_tree_find(const struct full_tree *t, uint32_t node, const char *text, bool back)
{
    uint32_t n = t->tree ? call_tree_nodes(t->tree) : 0, first = 0, last = 0, after = 0;
    bool passed = false;
    if (!n || !text[0]) {
        return 0;
    }
    signed char *known = must(calloc(stack_profile_frames(call_tree_profile(t->tree)) + 1, 1));
    for (uint32_t i = call_tree_next(t->tree, 0); i; i = call_tree_next(t->tree, i)) {
        if (i == node && back && last) {
            break; /* the last one before */
        }
        if (i != node && matches(t, i, text, known)) {
            first = first ? first : i;
            after = passed && !after ? i : after;
            last = i;
        }
        passed = passed || i == node;
    }
    free(known);
    return back ? last : after ? after : first;
}
