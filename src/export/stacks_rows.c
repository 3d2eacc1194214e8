#include "stacks_page.h"

#include <kprof/base/must.h>
#include <stdlib.h>
#include <string.h>

const enum flame_group stacks_dim[STACKS_DIMS] = {FLAME_STATUS,      FLAME_MEMORY, FLAME_WHO,
                                                  FLAME_APPLICATION, FLAME_TIER,   FLAME_IDENTITY};

static uint64_t width_of(const struct flame_width *w, const struct stack_sample *s,
                         const struct stack_metrics *m)
{
    if (w->by == FLAME_SAMPLES)
        return s->weight;
    if (!(m->known >> w->metric & 1))
        return 0;
    return flame_metric_width(w->by, m->value[w->metric], m->delta[w->metric]);
}

static uint32_t text_id(struct intern *t, const struct buf *text)
{
    uint32_t id = intern_add(t, text->len ? text->data : "?", text->len ? text->len : 1);
    return id == INTERN_FULL ? 1 : id;
}

static uint32_t name_of(struct stacks_page *p, uint32_t frame)
{
    frame = stack_profile_function(p->profile, frame);
    if (p->name_of[frame] == 0) {
        struct buf text;
        buf_init(&text, 0);
        flame_frame_text(&text, p->profile, frame, false);
        p->name_of[frame] = text_id(p->names, &text);
        buf_release(&text);
    }
    return p->name_of[frame];
}

static uint32_t child_of(struct stacks_page *p, uint32_t parent, uint32_t name)
{
    struct stacks_node key = {parent, name}, above;
    if (p->how->query.fold_recursion && parent != 0) {
        memcpy(&above, intern_str(p->nodes, parent), sizeof above);
        if (above.name == name)
            return parent;
    }
    uint32_t id = intern_add(p->nodes, &key, sizeof key);
    return id == INTERN_FULL ? parent : id;
}

/* Stacks that differ only in lines have the same node. */
static uint32_t node_of(struct stacks_page *p, uint32_t stack)
{
    uint32_t node = MAP_EMPTY;
    size_t depth = 0;
    for (uint32_t s = stack; s != 0; s = stack_profile_caller(p->profile, s)) {
        node = map_get(&p->node_of, s);
        if (node != MAP_EMPTY)
            break;
        if (depth == p->path_cap) {
            p->path_cap = p->path_cap ? p->path_cap * 2 : 64;
            p->path = must(realloc(p->path, p->path_cap * sizeof *p->path));
        }
        p->path[depth++] = s;
    }
    if (node == MAP_EMPTY)
        node = 0;
    while (depth > 0) {
        uint32_t s = p->path[--depth];
        node = child_of(p, node, name_of(p, stack_profile_leaf(p->profile, s)));
        map_put(&p->node_of, s, node);
    }
    return node;
}

static uint32_t dim_of(struct stacks_page *p, size_t i, unsigned d)
{
    uint64_t key = flame_group_key(p->view, i, stacks_dim[d]);
    uint32_t id = map_get(&p->dim_of[d], key);
    if (id == MAP_EMPTY) {
        struct buf text;
        buf_init(&text, 0);
        flame_group_text(&text, p->view, i, stacks_dim[d]);
        id = text_id(p->dim[d], &text);
        map_put(&p->dim_of[d], key, id);
        buf_release(&text);
    }
    return id;
}

/* The row of a sample; if there are too many rows, that of its stack in the groups "other". */
static uint32_t row_of(struct stacks_page *p, size_t i)
{
    struct stacks_row key = {.node = node_of(p, stack_view_at(p->view, i)->stack)};
    for (unsigned d = 0; d < STACKS_DIMS; d++)
        key.dim[d] = dim_of(p, i, d);
    bool full = intern_count(p->rows) >= STACKS_ROWS_MAX;
    if (full && intern_find(p->rows, &key, sizeof key) == 0) {
        p->merged++;
        for (unsigned d = 0; d < STACKS_DIMS; d++)
            key.dim[d] = 1;
    }
    return intern_add(p->rows, &key, sizeof key);
}

static void take_samples(struct stacks_page *p)
{
    size_t rows = 0;
    for (size_t i = 0; i < stack_view_count(p->view); i++) {
        struct stack_metrics m;
        if (!flame_passes(p->view, i, &p->how->query.filter))
            continue;
        uint32_t row = row_of(p, i);
        if (row >= rows) {
            size_t more = rows ? rows * 2 : 1024;
            more = more > row ? more : row + 1;
            p->sum = must(realloc(p->sum, more * p->widths * sizeof *p->sum));
            memset(p->sum + rows * p->widths, 0, (more - rows) * p->widths * sizeof *p->sum);
            rows = more;
        }
        stack_view_metrics(p->view, i, &m);
        for (size_t w = 0; w < p->widths; w++) {
            uint64_t *sum = &p->sum[row * p->widths + w];
            uint64_t add = width_of(&p->width[w], stack_view_at(p->view, i), &m);
            *sum = add > UINT64_MAX - *sum ? UINT64_MAX : *sum + add;
        }
    }
}

void stacks_page_init(struct stacks_page *p)
{
    p->names = intern_new(STACKS_TEXTS_MAX, SIZE_MAX);
    p->nodes = intern_new(STACKS_NODES_MAX, SIZE_MAX);
    p->rows = intern_new(STACKS_ROWS_MAX + STACKS_NODES_MAX + 1, SIZE_MAX);
    p->name_of = must(calloc((size_t)stack_profile_frames(p->profile) + 1, sizeof *p->name_of));
    intern_add(p->names, "other", strlen("other"));
    map_init(&p->node_of, UINT32_MAX - 1);
    for (unsigned d = 0; d < STACKS_DIMS; d++) {
        p->dim[d] = intern_new(STACKS_TEXTS_MAX, SIZE_MAX);
        intern_add(p->dim[d], "other", strlen("other"));
        map_init(&p->dim_of[d], UINT32_MAX - 1);
    }
    p->widths = flame_widths(p->view, p->width);
    take_samples(p);
}

void stacks_page_release(struct stacks_page *p)
{
    for (unsigned d = 0; d < STACKS_DIMS; d++) {
        intern_free(p->dim[d]);
        map_release(&p->dim_of[d]);
    }
    map_release(&p->node_of);
    intern_free(p->names);
    intern_free(p->nodes);
    intern_free(p->rows);
    free(p->name_of);
    free(p->path);
    free(p->sum);
}
