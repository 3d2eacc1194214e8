#include "view.h"
#include "columns.h"

#include <kprof/base/fnv.h>
#include <kprof/base/text.h>
#include <kprof/core/tier.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LOOK 4096 /* bytes of a name that are compared */
#define INDENT    2

static void *need(void *p)
{
    if (!p) {
        abort();
    }
    return p;
}

/* --- folds --- */

static size_t folds_index(const struct folds *f, uint64_t group)
{
    size_t i = 0;
    while (i < f->n && f->key[i] != group) {
        i++;
    }
    return i;
}

static bool is_folded(const struct folds *f, uint64_t group)
{
    return f->all != (folds_index(f, group) < f->n);
}

void folds_flip(struct folds *f, uint64_t group)
{
    size_t i = folds_index(f, group);
    if (i < f->n) {
        f->key[i] = f->key[--f->n];
        return;
    }
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 16;
        f->key = need(realloc(f->key, f->cap * sizeof *f->key));
    }
    f->key[f->n++] = group;
}

void folds_only(struct folds *f, bool all, const uint64_t *but)
{
    f->all = all;
    f->n = 0;
    if (but) {
        folds_flip(f, *but);
    }
}

void folds_flip_all(struct folds *f)
{
    f->all = !f->all;
    f->n = 0;
}

void folds_release(struct folds *f)
{
    free(f->key);
    memset(f, 0, sizeof *f);
}

/* --- keys --- */

static uint64_t ident_key(const char *ident)
{
    return ident ? fnv_add(FNV_START, ident, strnlen(ident, NAME_LOOK)) | 1 : 0;
}

uint64_t view_row_key(const struct snap_row *r)
{
    uint64_t i = ident_key(r->ident);
    return fnv_add(fnv_add(FNV_START, &r->tier, sizeof r->tier), &i, sizeof i);
}

uint64_t view_row_group(const struct snap_row *r, bool pivot)
{
    return pivot ? ident_key(r->ident) : r->tier;
}

/* --- items: rows with their sort keys --- */

struct item {
    const struct snap_row *row;
    uint64_t group;
    double value;
    const char *name;
    size_t index;
    bool head;
};

struct group {
    struct item by; /* the sort key of the group: that of its head, else of its first row */
    size_t first, n;
    bool pinned;
};

static double sort_value(const struct view_opts *o, const struct snap_row *r)
{
    if (o->sort < SORT_COLUMN) {
        return 0;
    }
    double v = column_value(column_at((size_t)(o->sort - SORT_COLUMN)), r);
    return isnan(v) ? -INFINITY : v;
}

static struct item *make_items(const struct snapshot *s, const struct view_opts *o)
{
    struct item *items = need(calloc(s->n_rows + 1, sizeof *items));
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        struct item *it = &items[i];
        it->row = r;
        it->index = i;
        it->value = sort_value(o, r);
        it->group = view_row_group(r, o->pivot);
        it->head = o->pivot ? r->tier == TIER_TOTAL : !r->ident;
        bool by_ident = it->head ? o->pivot : !o->pivot;
        it->name = by_ident ? snapshot_name(r->ident) : r->tier_name;
        if (!it->name) {
            it->name = o->pivot ? "all identities" : "";
        }
    }
    return items;
}

static int by_group(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    if (x->head != y->head) {
        return x->head ? -1 : 1;
    }
    return x->index < y->index ? -1 : 1;
}

static int by_wish(const struct item *x, const struct item *y, const struct view_opts *o)
{
    int d = 0;
    if (o->sort == SORT_NAME) {
        d = strcmp(x->name, y->name);
    } else if (o->sort >= SORT_COLUMN) {
        d = x->value > y->value ? -1 : x->value < y->value;
    }
    if (d == 0) {
        d = x->index < y->index ? -1 : x->index > y->index;
        return o->sort == SORT_ORDER && o->reverse ? -d : d;
    }
    return o->reverse ? -d : d;
}

static int compare_items(const void *a, const void *b, void *o)
{
    return by_wish(a, b, o);
}

static int compare_groups(const void *a, const void *b, void *o)
{
    const struct group *x = a, *y = b;
    if (x->pinned != y->pinned) {
        return x->pinned ? -1 : 1;
    }
    return by_wish(&x->by, &y->by, o);
}

static size_t make_groups(struct item *items, size_t n, const struct view_opts *o,
                          struct group *groups)
{
    size_t n_groups = 0;
    uint64_t pinned = o->pivot ? 0 : TIER_TOTAL;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || items[i].group != items[i - 1].group) {
            struct group *g = &groups[n_groups++];
            *g = (struct group){.by = items[i], .first = i, .pinned = items[i].group == pinned};
            if (!items[i].head) {
                g->by.name =
                    o->pivot ? snapshot_name(items[i].row->ident) : items[i].row->tier_name;
                g->by.name = g->by.name ? g->by.name : "all identities";
            }
        }
        struct group *g = &groups[n_groups - 1];
        g->n++;
        g->by.index = items[i].index < g->by.index ? items[i].index : g->by.index;
    }
    return n_groups;
}

/* --- lines --- */

struct maker {
    struct view *v;
    const struct view_opts *o;
    bool lone_hidden; /* without an identity rule, the only identity of a tier is not shown */
};

static void widen(struct view *v, const char *name, size_t indent)
{
    size_t w = text_width(name, strnlen(name, NAME_LOOK)) + indent;
    v->widest = w > v->widest ? w : v->widest;
}

static void add_group(struct maker *m, const struct group *g, struct item *items)
{
    bool has_head = items[0].head, filtering = m->o->filter[0] != 0;
    struct item *child = items + has_head;
    size_t n = g->n - has_head, matches = 0;
    if (n == 1 && m->lone_hidden) {
        n = 0;
    }
    qsort_r(child, n, sizeof *child, compare_items, (void *)(uintptr_t)m->o);
    bool head_matches = text_contains(g->by.name, m->o->filter);
    widen(m->v, g->by.name, INDENT);
    for (size_t i = 0; i < n; i++) {
        widen(m->v, child[i].name, 2 * INDENT);
        matches += text_contains(child[i].name, m->o->filter);
    }
    if (filtering && !head_matches && !matches) {
        return;
    }
    m->v->unfolded += 1 + n;
    bool folded = !filtering && n && is_folded(m->o->folds, g->by.group);
    m->v->lines[m->v->n++] = (struct line){
        .row = has_head ? items[0].row : NULL,
        .label = g->by.name,
        .key = has_head ? view_row_key(items[0].row) : ~g->by.group,
        .group = g->by.group,
        .head = true,
        .pinned = g->pinned,
        .folded = folded,
        .children = n,
    };
    for (size_t i = 0; i < n && !folded; i++) {
        if (head_matches || text_contains(child[i].name, m->o->filter)) {
            m->v->lines[m->v->n++] = (struct line){
                .row = child[i].row,
                .label = child[i].name,
                .key = view_row_key(child[i].row),
                .group = g->by.group,
                .pinned = g->pinned,
            };
        }
    }
}

void view_build(struct view *v, const struct snapshot *s, const struct view_opts *o)
{
    memset(v, 0, sizeof *v);
    struct item *items = make_items(s, o);
    struct group *groups = need(calloc(s->n_rows + 1, sizeof *groups));
    v->lines = need(calloc(2 * s->n_rows + 1, sizeof *v->lines));
    qsort(items, s->n_rows, sizeof *items, by_group);
    size_t n = make_groups(items, s->n_rows, o, groups);
    qsort_r(groups, n, sizeof *groups, compare_groups, (void *)(uintptr_t)o);
    struct maker m = {v, o, !o->pivot && !s->has_identity};
    for (size_t i = 0; i < n; i++) {
        add_group(&m, &groups[i], items + groups[i].first);
    }
    free(groups);
    free(items);
}

void view_release(struct view *v)
{
    free(v->lines);
    memset(v, 0, sizeof *v);
}

size_t view_find(const struct view *v, uint64_t key)
{
    size_t i = 0;
    while (i < v->n && v->lines[i].key != key) {
        i++;
    }
    return i;
}
