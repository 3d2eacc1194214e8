#include <kprof/core/compare.h>

#include <kprof/base/fnv.h>
#include <kprof/base/map.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct compare {
    struct snapshot *then;
    struct map row; /* hash of the names -> index of the row */
    char name[sizeof((struct snapshot *)0)->compared];
};

static uint64_t key(const struct snap_row *r)
{
    uint64_t h = fnv_add(FNV_START, r->tier_name, strlen(r->tier_name) + 1);
    return r->ident ? fnv_add(h, r->ident, strlen(r->ident)) : h;
}

static bool same(const struct snap_row *a, const struct snap_row *b)
{
    return !a->ident == !b->ident && strcmp(a->tier_name, b->tier_name) == 0 &&
           (!a->ident || strcmp(a->ident, b->ident) == 0);
}

struct compare *compare_new(struct snapshot *then, const char *name)
{
    struct compare *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->then = then;
    snprintf(c->name, sizeof c->name, "%s", name);
    map_init(&c->row, then->n_rows ? then->n_rows : 1);
    for (size_t i = 0; i < then->n_rows; i++)
        map_put(&c->row, key(&then->rows[i]), (uint32_t)i);
    return c;
}

void compare_free(struct compare *c)
{
    if (!c)
        return;
    map_release(&c->row);
    snapshot_free(c->then);
    free(c);
}

const struct snapshot *compare_then(const struct compare *c)
{
    return c->then;
}

const struct snap_row *compare_find(const struct compare *c, const struct snap_row *r)
{
    uint32_t i = map_get(&c->row, key(r));
    /* If two names have the same hash, one is not found. It is never taken for the other. */
    return i != MAP_EMPTY && same(&c->then->rows[i], r) ? &c->then->rows[i] : NULL;
}

static double change(double now, double then)
{
    return then > 0 ? now / then - 1 : NAN;
}

void compare_apply(const struct compare *c, struct snapshot *s)
{
    struct snap_row *row = snapshot_rows(s);
    snprintf(s->compared, sizeof s->compared, "%s", c->name);
    for (size_t i = 0; i < s->n_rows; i++) {
        struct snap_row *r = &row[i];
        const struct snap_row *then = compare_find(c, r);
        bool both = then && then->count && r->count;
        r->then_count = then ? then->count : 0;
        r->d_rate = then ? change(r->rate, then->rate) : NAN;
        r->d_p50 = both ? change(r->p50_us, then->p50_us) : NAN;
        r->d_p99 = both ? change(r->p99_us, then->p99_us) : NAN;
    }
}
