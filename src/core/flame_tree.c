#include "flame_tree.h"

#include <kprof/base/intern.h>
#include <kprof/base/must.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void flame_tree_init(struct flame_tree *t)
{
    *t = (struct flame_tree){.flame = must(calloc(1, sizeof *t->flame))};
    t->flame->texts = intern_new(FLAME_NODES_MAX, SIZE_MAX);
    map_init(&t->children, FLAME_NODES_MAX);
    t->cap = 256;
    t->flame->node = must(malloc(t->cap * sizeof *t->flame->node));
    t->flame->node[0] = (struct flame_node){.label = flame_tree_label(t, "all", 3)};
    t->flame->nodes = 1;
    t->other = flame_tree_label(t, "<other>", strlen("<other>"));
}

uint32_t flame_tree_label(struct flame_tree *t, const char *s, size_t n)
{
    if (n == 0)
        return flame_tree_label(t, "?", 1);
    uint32_t id = intern_add(t->flame->texts, s, n);
    return id != INTERN_FULL ? id : t->other;
}

uint32_t flame_tree_child(struct flame_tree *t, uint32_t parent, uint32_t label, uint32_t frame)
{
    struct flame *f = t->flame;
    uint64_t key = (uint64_t)parent << 32 | label;
    uint32_t at = map_get(&t->children, key);
    if (at != MAP_EMPTY)
        return at;
    uint32_t nodes = f->nodes;
    at = flame_tree_add(t, parent, label, frame);
    if (f->nodes > nodes)
        map_put(&t->children, key, at);
    return at;
}

uint32_t flame_tree_add(struct flame_tree *t, uint32_t parent, uint32_t label, uint32_t frame)
{
    struct flame *f = t->flame;
    if (f->nodes == FLAME_NODES_MAX) {
        f->cut++;
        return parent;
    }
    if (f->nodes == t->cap) {
        t->cap *= 2;
        f->node = must(realloc(f->node, t->cap * sizeof *f->node));
    }
    uint32_t at = f->nodes++;
    f->node[at] = (struct flame_node){
        .parent = parent, .label = label, .frame = frame, .depth = f->node[parent].depth + 1};
    return at;
}

void flame_tree_drop(struct flame_tree *t)
{
    flame_free(t->flame);
    map_release(&t->children);
    *t = (struct flame_tree){0};
}

struct item {
    uint64_t total, base_total;
    const char *text;
    uint32_t node;
};

static int widest_first(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    if (x->base_total != y->base_total)
        return x->base_total > y->base_total ? -1 : 1;
    return strcmp(x->text, y->text);
}

static void add_up(struct flame *f)
{
    for (uint32_t i = 0; i < f->nodes; i++) {
        f->node[i].total = f->node[i].self;
        f->node[i].base_total = f->node[i].base_self;
    }
    for (uint32_t i = f->nodes; i-- > 1;) {
        struct flame_node *parent = &f->node[f->node[i].parent];
        parent->total += f->node[i].total;
        parent->base_total += f->node[i].base_total;
        parent->children++;
    }
}

/* Groups the nodes by parent, sorted; first[p] is the first child of p. */
static struct item *sorted(const struct flame *f, uint32_t *first)
{
    struct item *items = must(malloc(f->nodes * sizeof *items));
    uint32_t at = 0;
    for (uint32_t p = 0; p < f->nodes; p++) {
        first[p] = at;
        at += f->node[p].children;
    }
    for (uint32_t i = 1; i < f->nodes; i++) {
        const struct flame_node *n = &f->node[i];
        items[first[n->parent]++] = (struct item){.total = n->total,
                                                  .base_total = n->base_total,
                                                  .text = intern_str(f->texts, n->label),
                                                  .node = i};
    }
    for (uint32_t p = 0; p < f->nodes; p++) {
        uint32_t n = f->node[p].children;
        first[p] -= n;
        if (n > 1)
            qsort(items + first[p], n, sizeof *items, widest_first);
    }
    return items;
}

/* Renumbers the nodes level by level, so the children of a node are contiguous. */
static void renumber(struct flame *f)
{
    uint32_t *first = must(malloc(f->nodes * sizeof *first));
    uint32_t *was = must(malloc(f->nodes * sizeof *was)); /* by new number */
    struct item *items = sorted(f, first);
    struct flame_node *node = must(malloc(f->nodes * sizeof *node));
    uint32_t made = 1;
    was[0] = 0;
    node[0] = f->node[0];
    for (uint32_t i = 0; i < made; i++) {
        node[i].first_child = made;
        for (uint32_t k = 0; k < node[i].children; k++) {
            was[made] = items[first[was[i]] + k].node;
            node[made] = f->node[was[made]];
            node[made].parent = i;
            made++;
        }
    }
    assert(made == f->nodes);
    f->depth = node[made - 1].depth;
    free(f->node);
    f->node = node;
    free(items);
    free(first);
    free(was);
}

struct flame *flame_tree_finish(struct flame_tree *t)
{
    struct flame *f = t->flame;
    add_up(f);
    renumber(f);
    f->labels = intern_count(f->texts);
    map_release(&t->children);
    *t = (struct flame_tree){0};
    return f;
}

void flame_free(struct flame *f)
{
    if (!f)
        return;
    intern_free(f->texts);
    free(f->node);
    free(f);
}

uint32_t flame_next(const struct flame *f, uint32_t node, uint32_t top)
{
    if (f->node[node].children > 0)
        return f->node[node].first_child;
    for (; node != top; node = f->node[node].parent) {
        const struct flame_node *parent = &f->node[f->node[node].parent];
        if (node + 1 < parent->first_child + parent->children)
            return node + 1;
    }
    return 0;
}

const char *flame_label_text(const struct flame *f, uint32_t label, size_t *n)
{
    if (n)
        *n = intern_len(f->texts, label);
    return intern_str(f->texts, label);
}

const char *flame_text(const struct flame *f, uint32_t node, size_t *n)
{
    return flame_label_text(f, f->node[node].label, n);
}

uint64_t flame_sum(const struct flame *f, const bool *hit, uint32_t below)
{
    uint64_t sum = 0;
    bool *in = must(calloc(f->nodes, sizeof *in));     /* at or below a node that was counted */
    bool *part = must(calloc(f->nodes, sizeof *part)); /* at or below `below` */
    for (uint32_t i = 0; i < f->nodes; i++) {
        const struct flame_node *n = &f->node[i];
        part[i] = i == below || (i > 0 && part[n->parent]);
        in[i] = i > 0 && in[n->parent];
        if (!part[i] || in[i] || !hit[n->label])
            continue;
        in[i] = true;
        sum += n->total;
    }
    free(in);
    free(part);
    return sum;
}

static uint32_t label_of(struct flame_tree *t, const struct flame *from, uint32_t node)
{
    size_t n;
    const char *s = flame_text(from, node, &n);
    return flame_tree_label(t, s, n);
}

/* Adds a tree: parents come before their children, so one pass is enough. */
static void add_tree(struct flame_tree *t, const struct flame *from, bool base)
{
    uint32_t *to = must(malloc(from->nodes * sizeof *to));
    for (uint32_t i = 0; i < from->nodes; i++) {
        const struct flame_node *n = &from->node[i];
        to[i] = i == 0
                    ? 0
                    : flame_tree_child(t, to[n->parent], label_of(t, from, i), base ? 0 : n->frame);
        struct flame_node *sum = &t->flame->node[to[i]];
        if (base)
            sum->base_self += n->self;
        else
            sum->self += n->self;
    }
    free(to);
}

struct flame *flame_compare(const struct flame *now, const struct flame *base)
{
    struct flame_tree t;
    flame_tree_init(&t);
    add_tree(&t, now, false);
    add_tree(&t, base, true);
    struct flame *f = flame_tree_finish(&t);
    f->samples = now->samples;
    f->widthless = now->widthless;
    f->left_out = now->left_out;
    f->cut += now->cut + base->cut;
    f->first_ns = now->first_ns;
    f->last_ns = now->last_ns;
    f->unit = now->unit;
    f->by = now->by;
    f->metric = now->metric;
    f->compared = true;
    return f;
}
