#include <kprof/base/map.h>
#include <kprof/base/must.h>
#include <kprof/core/flame.h>

#include "flame_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Sums stay below this, so they are exact and never overflow. */
#define MOST_SUM (UINT64_C(1) << 62)

#define NOT_YET UINT32_MAX

/* A group of samples below the root; `sample` is one of them and gives the name. */
struct group {
    uint64_t key;
    size_t sample;
    uint32_t node;
};

/* all samples of one group with the same stack */
struct pile {
    uint64_t width;
    uint32_t group, stack;
};

struct build {
    const struct stack_view *view;
    const struct stack_profile *profile;
    const struct flame_query *q;
    struct flame_tree tree;
    struct map group_of; /* key to group */
    struct group *group;
    size_t groups, groups_cap;
    struct map pile_of; /* group << 32 | stack to pile */
    struct pile *pile;
    size_t piles, piles_cap;
    uint32_t *label_of;  /* by frame id; 0: not made yet */
    uint32_t *outermost; /* by stack: the outermost of its frames that is the focus */
    uint32_t *path;      /* stacks, or nodes, on the path to a node */
    size_t path_cap;
    struct flame_tree *shape; /* all stacks, as if there were no groups */
    uint32_t *node_of;        /* of the shape, by stack; NOT_YET */
    uint64_t sum;
};

/* Makes room for one more element. */
static void *roomy(void *p, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return p;
    *cap = *cap ? *cap * 2 : 64;
    return must(realloc(p, *cap * size));
}

static bool has_request(const struct flame_filter *f, uint64_t request)
{
    size_t low = 0, high = f->requests_n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->requests[mid] < request)
            low = mid + 1;
        else
            high = mid;
    }
    return low < f->requests_n && f->requests[low] == request;
}

static bool is_or_any(uint32_t wanted, uint32_t is)
{
    return wanted == 0 || wanted == is;
}

bool flame_passes(const struct stack_view *v, size_t i, const struct flame_filter *f)
{
    const struct stack_sample *s = stack_view_at(v, i);
    return s->time_ns >= f->from_ns && (f->to_ns == 0 || s->time_ns < f->to_ns) &&
           (f->process == 0 || s->process == f->process) &&
           (f->statuses == 0 || (f->statuses >> s->status & 1)) &&
           is_or_any(f->initial_call, s->initial_call) && is_or_any(f->name, s->name) &&
           is_or_any(f->application, s->application) && is_or_any(f->tier, s->tier) &&
           is_or_any(f->identity, s->identity) && (!f->inside || s->request != 0) &&
           (!f->requests || has_request(f, s->request)) &&
           (f->memory_decade == 0 || flame_decade(v, i) == f->memory_decade);
}

uint64_t flame_sample_width(const struct stack_view *v, size_t i, enum flame_by by,
                            enum stack_metric m)
{
    int64_t value, delta;
    if (by == FLAME_SAMPLES)
        return stack_view_at(v, i)->weight;
    if (!stack_view_metric(v, i, m, &value, &delta))
        return 0;
    return flame_metric_width(by, value, delta);
}

static uint32_t group_of(struct build *b, size_t i)
{
    uint64_t key = flame_group_key(b->view, i, b->q->group);
    uint32_t at = map_get(&b->group_of, key);
    if (at != MAP_EMPTY)
        return at;
    b->group = roomy(b->group, b->groups, &b->groups_cap, sizeof *b->group);
    at = (uint32_t)b->groups++;
    b->group[at] = (struct group){.key = key, .sample = i};
    map_put(&b->group_of, key, at);
    return at;
}

static void pile_up(struct build *b, size_t i, uint64_t width)
{
    uint32_t stack = stack_view_at(b->view, i)->stack;
    uint32_t group = b->q->group == FLAME_UNGROUPED ? 0 : group_of(b, i);
    uint64_t key = (uint64_t)group << 32 | stack;
    uint32_t at = map_get(&b->pile_of, key);
    if (at == MAP_EMPTY) {
        b->pile = roomy(b->pile, b->piles, &b->piles_cap, sizeof *b->pile);
        at = (uint32_t)b->piles++;
        b->pile[at] = (struct pile){.group = group, .stack = stack};
        map_put(&b->pile_of, key, at);
    }
    b->pile[at].width += width;
}

static void take_samples(struct build *b)
{
    struct flame *f = b->tree.flame;
    size_t n = stack_view_count(b->view);
    for (size_t i = 0; i < n; i++) {
        if (!flame_passes(b->view, i, &b->q->filter))
            continue;
        const struct stack_sample *s = stack_view_at(b->view, i);
        if (b->outermost && b->outermost[s->stack] == 0)
            continue;
        uint64_t width = flame_sample_width(b->view, i, b->q->by, b->q->metric);
        if (width == 0) {
            f->widthless++;
        } else if (width > MOST_SUM - b->sum) {
            f->left_out++;
        } else {
            b->sum += width;
            if (f->samples == 0 || s->time_ns < f->first_ns)
                f->first_ns = s->time_ns;
            if (s->time_ns > f->last_ns)
                f->last_ns = s->time_ns;
            f->samples++;
            pile_up(b, i, width);
        }
    }
}

/* A caller has a lower number than its callees, so one pass is enough. */
static void find_focus(struct build *b)
{
    if (b->q->part == FLAME_WHOLE)
        return;
    uint32_t n = stack_profile_stacks(b->profile);
    uint32_t focus = stack_profile_function(b->profile, b->q->focus);
    b->outermost = must(calloc((size_t)n + 1, sizeof *b->outermost));
    for (uint32_t s = 1; s <= n; s++) {
        uint32_t above = b->outermost[stack_profile_caller(b->profile, s)];
        uint32_t frame = stack_profile_leaf(b->profile, s);
        if (above != 0)
            b->outermost[s] = above;
        else if (stack_profile_function(b->profile, frame) == focus)
            b->outermost[s] = s;
    }
}

static uint32_t child_for(struct build *b, uint32_t parent, uint32_t stack)
{
    uint32_t frame = stack_profile_leaf(b->profile, stack);
    if (!b->q->lines)
        frame = stack_profile_function(b->profile, frame);
    const struct flame_node *p = &b->shape->flame->node[parent];
    if (b->q->fold_recursion && p->frame != 0 &&
        stack_profile_function(b->profile, p->frame) == stack_profile_function(b->profile, frame))
        return parent;
    if (b->label_of[frame] == 0) {
        struct buf text;
        buf_init(&text, 0);
        flame_frame_text(&text, b->profile, frame, b->q->lines);
        b->label_of[frame] = flame_tree_label(&b->tree, text.data, text.len);
        buf_release(&text);
    }
    return flame_tree_child(b->shape, parent, b->label_of[frame], frame);
}

static void push(struct build *b, size_t *depth, uint32_t at)
{
    b->path = roomy(b->path, *depth, &b->path_cap, sizeof *b->path);
    b->path[(*depth)++] = at;
}

/* From the root (or the focus) down. The node of each caller is stored, so each stack is visited
 * once. */
static uint32_t node_down(struct build *b, uint32_t stack)
{
    uint32_t top = b->outermost ? stack_profile_caller(b->profile, b->outermost[stack]) : 0;
    uint32_t node = 0, s = stack;
    size_t depth = 0;
    for (; s != top && b->node_of[s] == NOT_YET; s = stack_profile_caller(b->profile, s))
        push(b, &depth, s);
    if (s != top)
        node = b->node_of[s];
    while (depth > 0) {
        s = b->path[--depth];
        node = b->node_of[s] = child_for(b, node, s);
    }
    return node;
}

/* from the focus up to the root */
static uint32_t node_up(struct build *b, uint32_t stack)
{
    uint32_t node = 0;
    if (b->node_of[stack] != NOT_YET)
        return b->node_of[stack];
    for (uint32_t s = b->outermost[stack]; s != 0; s = stack_profile_caller(b->profile, s))
        node = child_for(b, node, s);
    return b->node_of[stack] = node;
}

static uint32_t shape_node(struct build *b, uint32_t stack)
{
    return b->q->part == FLAME_CALLERS ? node_up(b, stack) : node_down(b, stack);
}

static void make_shape(struct build *b)
{
    size_t stacks = (size_t)stack_profile_stacks(b->profile) + 1;
    b->node_of = must(malloc(stacks * sizeof *b->node_of));
    for (size_t i = 0; i < stacks; i++)
        b->node_of[i] = NOT_YET;
}

static void grow_alone(struct build *b)
{
    for (size_t i = 0; i < b->piles; i++) {
        uint32_t node = shape_node(b, b->pile[i].stack); /* may move the nodes */
        b->shape->flame->node[node].self += b->pile[i].width;
    }
}

/* ---- groups: parts of the shape, below the node of each group ---- */

/* Groups with the same text have one node. */
static void make_groups(struct build *b)
{
    for (size_t i = 0; i < b->groups; i++) {
        struct buf text;
        buf_init(&text, 0);
        flame_group_text(&text, b->view, b->group[i].sample, b->q->group);
        b->group[i].node =
            flame_tree_child(&b->tree, 0, flame_tree_label(&b->tree, text.data, text.len), 0);
        buf_release(&text);
    }
}

/* The piles in the order of the nodes of their groups, 1, 2 ... */
static struct pile *by_group(const struct build *b)
{
    struct pile *sorted = must(malloc((b->piles + 1) * sizeof *sorted));
    size_t *at = must(calloc((size_t)b->tree.flame->nodes + 1, sizeof *at));
    for (size_t i = 0; i < b->piles; i++)
        at[b->group[b->pile[i].group].node + 1]++;
    for (uint32_t n = 1; n <= b->tree.flame->nodes; n++)
        at[n] += at[n - 1];
    for (size_t i = 0; i < b->piles; i++)
        sorted[at[b->group[b->pile[i].group].node]++] = b->pile[i];
    free(at);
    return sorted;
}

/* The node of this group for a node of the shape. It is added with its callers if it does not exist
 * yet. node_in[n] is valid if in_group[n] is group_node. */
static uint32_t node_in_group(struct build *b, uint32_t group_node, uint32_t shape,
                              uint32_t *node_in, uint32_t *in_group)
{
    const struct flame_node *from = b->shape->flame->node;
    uint32_t node = group_node;
    size_t depth = 0;
    for (; shape != 0 && in_group[shape] != group_node; shape = from[shape].parent)
        push(b, &depth, shape);
    if (shape != 0)
        node = node_in[shape];
    while (depth > 0) {
        shape = b->path[--depth];
        node = flame_tree_add(&b->tree, node, from[shape].label, from[shape].frame);
        node_in[shape] = node;
        in_group[shape] = group_node;
    }
    return node;
}

static void grow_groups(struct build *b)
{
    make_groups(b);
    struct pile *sorted = by_group(b);
    for (size_t i = 0; i < b->piles; i++)
        shape_node(b, sorted[i].stack);
    size_t nodes = b->shape->flame->nodes;
    uint32_t *node_in = must(calloc(nodes, sizeof *node_in));
    uint32_t *in_group = must(calloc(nodes, sizeof *in_group));
    for (size_t i = 0; i < b->piles; i++) {
        uint32_t node = node_in_group(b, b->group[sorted[i].group].node,
                                      shape_node(b, sorted[i].stack), node_in, in_group);
        b->tree.flame->node[node].self += sorted[i].width;
    }
    b->tree.flame->cut += b->shape->flame->cut;
    free(node_in);
    free(in_group);
    free(sorted);
}

static void grow_tree(struct build *b)
{
    struct flame_tree shape;
    b->shape = &b->tree;
    make_shape(b);
    if (b->q->group == FLAME_UNGROUPED) {
        grow_alone(b);
    } else {
        flame_tree_init(&shape);
        b->shape = &shape;
        grow_groups(b);
        flame_tree_drop(&shape);
    }
    free(b->node_of);
}

struct flame *flame_build(const struct stack_view *v, const struct flame_query *q)
{
    struct build b = {.view = v, .profile = stack_view_profile(v), .q = q};
    flame_tree_init(&b.tree);
    map_init(&b.group_of, UINT32_MAX - 1);
    map_init(&b.pile_of, UINT32_MAX - 1);
    b.label_of = must(calloc((size_t)stack_profile_frames(b.profile) + 1, sizeof *b.label_of));
    find_focus(&b);
    take_samples(&b);
    grow_tree(&b);
    struct flame *f = flame_tree_finish(&b.tree);
    f->unit = stack_profile_meta(b.profile)->unit;
    f->by = q->by;
    f->metric = q->metric;
    map_release(&b.group_of);
    map_release(&b.pile_of);
    free(b.group);
    free(b.pile);
    free(b.label_of);
    free(b.outermost);
    free(b.path);
    return f;
}
