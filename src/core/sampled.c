#include "sampled.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

void sampled_init(struct sampled *s)
{
    *s = (struct sampled){0};
    map_init(&s->newest, SAMPLED_RECENT);
    map_init(&s->known, SAMPLED_REQUESTS);
}

void sampled_release(struct sampled *s)
{
    free(s->recent);
    free(s->kept);
    free(s->request);
    map_release(&s->newest);
    map_release(&s->known);
    sampled_init(s);
}

static void *reserve(size_t n, size_t bytes)
{
    void *p = calloc(n, bytes);
    if (!p)
        abort();
    return p;
}

static void begin(struct sampled *s)
{
    s->recent = reserve(SAMPLED_RECENT, sizeof *s->recent);
    s->kept = reserve(SAMPLED_KEPT, sizeof *s->kept);
    s->request = reserve(SAMPLED_REQUESTS, sizeof *s->request);
}

void core_keep_inside(struct core *c, bool on)
{
    if (on == (c->inside.step != NULL))
        return;
    inside_release(&c->inside);
    sampled_release(&c->sampled);
    if (on) {
        inside_on(&c->inside, c->now_ns);
        begin(&c->sampled);
    }
}

void sampled_forget_calls(struct sampled *s)
{
    s->n_recent = s->n_kept = 0;
    map_clear(&s->newest);
}

static uint32_t in_ring(uint64_t n, uint32_t cap)
{
    return n < cap ? (uint32_t)n : cap;
}

void sampled_fold_ident(struct sampled *s, uint16_t from, uint16_t into)
{
    for (uint32_t i = 0; i < in_ring(s->n_recent, SAMPLED_RECENT); i++)
        if (s->recent[i].call.ident == from)
            s->recent[i].call.ident = into;
    for (uint32_t i = 0; i < in_ring(s->n_kept, SAMPLED_KEPT); i++)
        if (s->kept[i].ident == from)
            s->kept[i].ident = into;
}

/* ---- calls ---- */

static void keep(struct sampled *s, const struct sampled_call *call)
{
    s->kept[s->n_kept++ % SAMPLED_KEPT] = *call;
}

static void add_recent(struct sampled *s, const struct sampled_call *call)
{
    uint32_t slot = (uint32_t)(s->n_recent % SAMPLED_RECENT);
    struct sampled_recent *r = &s->recent[slot];

    if (s->n_recent >= SAMPLED_RECENT && map_get(&s->newest, r->call.request) == slot)
        map_del(&s->newest, r->call.request);
    uint64_t number = ++s->n_recent;
    uint32_t before = map_get(&s->newest, call->request);
    *r = (struct sampled_recent){.call = *call};
    if (before != MAP_EMPTY)
        r->before = number - (slot + SAMPLED_RECENT - before) % SAMPLED_RECENT;
    map_put(&s->newest, call->request, slot);
}

void sampled_ended(struct core *c, uint64_t request, uint16_t tier, uint16_t ident,
                   uint64_t took_ns)
{
    struct sampled *s = &c->sampled;
    const struct sampled_call call = {.request = request,
                                      .took_ns = took_ns,
                                      .second = (uint32_t)c->windows.sec,
                                      .tier = tier,
                                      .ident = ident};

    if (!s->recent || !request)
        return;
    if (map_get(&s->known, request) != MAP_EMPTY)
        keep(s, &call);
    else
        add_recent(s, &call);
}

/* The calls of the request that ended before its first sample came. */
static void keep_recent(struct sampled *s, uint64_t request)
{
    uint32_t slot = map_get(&s->newest, request);
    uint64_t number =
        slot == MAP_EMPTY ? 0 : s->n_recent - (s->n_recent - 1 - slot) % SAMPLED_RECENT;

    while (number && number + SAMPLED_RECENT > s->n_recent) {
        const struct sampled_recent *r = &s->recent[(number - 1) % SAMPLED_RECENT];
        keep(s, &r->call);
        number = r->before;
    }
    if (slot != MAP_EMPTY)
        map_del(&s->newest, request);
}

void sampled_note(struct sampled *s, uint64_t request)
{
    if (!s->recent || !request || map_get(&s->known, request) != MAP_EMPTY)
        return;
    uint32_t slot = (uint32_t)(s->n_requests++ % SAMPLED_REQUESTS);
    if (s->n_requests > SAMPLED_REQUESTS && map_get(&s->known, s->request[slot]) == slot)
        map_del(&s->known, s->request[slot]);
    s->request[slot] = request;
    map_put(&s->known, request, slot);
    keep_recent(s, request);
}

void core_sampled(struct core *c, uint64_t request)
{
    sampled_note(&c->sampled, request);
}

void sampled_merged(struct sampled *s, uint64_t into, uint64_t from)
{
    if (s->recent && map_get(&s->known, from) != MAP_EMPTY)
        sampled_note(s, into);
}

/* ---- the query ---- */

static bool row_fits(const struct view_cells *q, const struct sampled_call *k)
{
    uint16_t tier = q->tier == TIER_TOTAL ? ROW_TOTAL : q->tier;

    return k->tier == tier && (q->ident == IDENT_ALL || k->ident == q->ident);
}

/* The bin that the heat map counts a duration in: that of the middle of its bucket. */
static size_t bin_of(uint64_t ns)
{
    size_t bucket = hist_bucket_of(ns);
    uint64_t low = hist_bucket_low(bucket);

    return scale_bin(low + (hist_bucket_high(bucket) - low) / 2);
}

static bool cell_fits(const struct view_cells *q, const struct sampled_call *k)
{
    if (k->second < q->from_s || (q->to_s && k->second >= q->to_s) || k->took_ns < q->least_ns)
        return false;
    if (q->low_bin == 0 && q->end_bin == 0)
        return true;
    size_t bin = bin_of(k->took_ns);
    return bin >= q->low_bin && (q->end_bin == 0 || bin < q->end_bin);
}

static int by_label(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Sorts and removes duplicates. */
static size_t in_order(uint64_t *label, size_t n)
{
    size_t kept = 0;

    qsort(label, n, sizeof *label, by_label);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || label[kept - 1] != label[i])
            label[kept++] = label[i];
    return kept;
}

/* Samples that came before a merge have the label of the merged request. */
static size_t with_merged(const struct core *c, uint64_t *label, size_t n)
{
    const struct inside *k = &c->inside;
    size_t all = n;

    for (uint32_t i = 0; i < in_ring(k->merges, INSIDE_MERGES); i++) {
        uint64_t into = inside_label(k, k->merge[i].from);
        if (bsearch(&into, label, n, sizeof *label, by_label))
            label[all++] = k->merge[i].from;
    }
    return in_order(label, all);
}

uint64_t *core_sampled_requests(const struct core *c, const struct view_cells *q, size_t *n)
{
    const struct sampled *s = &c->sampled;
    uint32_t calls = in_ring(s->n_kept, SAMPLED_KEPT);
    uint64_t *label = reserve((size_t)calls + INSIDE_MERGES + 1, sizeof *label);

    *n = 0;
    for (uint32_t i = 0; i < calls; i++)
        if (row_fits(q, &s->kept[i]) && cell_fits(q, &s->kept[i]))
            label[(*n)++] = s->kept[i].request;
    *n = with_merged(c, label, in_order(label, *n));
    return label;
}
