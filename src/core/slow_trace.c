#include <kprof/core/slow_trace.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The length by which calls are compared: 0 for a late call; a running call counts until the end of
 * the request. */
static uint64_t length(const struct slow_trace_request *r, const struct slow_trace_call *c)
{
    uint64_t end = c->flags & SLOW_TRACE_RUNNING ? r->end_ns : c->end_ns;

    if (c->flags & SLOW_TRACE_LATE)
        return 0;
    return 1 + (end > c->start_ns ? end - c->start_ns : 0);
}

struct ranked {
    uint64_t length;
    uint32_t at;
};

static int longest_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? 1 : -1;
    return x->at > y->at ? 1 : -1;
}

static void choose(const struct slow_trace_request *r, uint32_t max, bool in[SLOW_TRACE_CALLS])
{
    struct ranked rank[SLOW_TRACE_CALLS];

    for (uint32_t i = 0; i < r->n; i++)
        rank[i] = (struct ranked){i == 0 ? UINT64_MAX : length(r, &r->call[i]), i};
    qsort(rank, r->n, sizeof *rank, longest_first);
    for (uint32_t i = 0; i < r->n; i++)
        in[rank[i].at] = i < max;
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = bytes ? malloc(bytes) : NULL;

    if (bytes && !to)
        abort();
    return bytes ? memcpy(to, from, bytes) : NULL;
}

/* A copy without calls and pieces, with room for cap of them. Copies each field, because an atomic
 * must not be copied as bytes. */
static struct slow_trace_request *copy_of_head(const struct slow_trace_request *r, uint32_t cap)
{
    struct slow_trace_request *to = malloc(sizeof *to + cap * sizeof to->call[0]);

    if (!to)
        abort();
    atomic_init(&to->refs, 1);
    to->id = r->id;
    to->label = r->label;
    to->start_ns = r->start_ns;
    to->end_ns = r->end_ns;
    to->omitted_self_ns = r->omitted_self_ns;
    to->omitted = r->omitted;
    to->n = to->running = 0;
    to->cap = cap;
    to->error = r->error;
    memcpy(to->ident, r->ident, sizeof to->ident);
    to->n_whats = r->n_whats;
    to->what = copy_of(r->what, r->n_whats * sizeof *r->what);
    to->n_pieces = 0;
    to->piece = NULL;
    return to;
}

struct slow_trace_request *slow_trace_copy(const struct slow_trace_request *r, uint32_t cap)
{
    struct slow_trace_request *to = copy_of_head(r, cap);

    assert(r->n <= cap);
    to->n = r->n;
    to->running = r->running;
    memcpy(to->call, r->call, r->n * sizeof r->call[0]);
    to->n_pieces = r->n_pieces;
    to->piece = copy_of(r->piece, r->n_pieces * sizeof *r->piece);
    return to;
}

/* The pieces of the calls that stay, with their new positions. */
static void keep_pieces(const struct slow_trace_request *r, const bool in[SLOW_TRACE_CALLS],
                        struct slow_trace_request *to)
{
    uint32_t new_at[SLOW_TRACE_CALLS], n = 0;

    for (uint32_t i = 0; i < r->n; i++)
        new_at[i] = in[i] ? n++ : UINT32_MAX;
    to->piece = copy_of(r->piece, r->n_pieces * sizeof *r->piece);
    for (uint32_t i = 0; i < r->n_pieces; i++) {
        const struct time_part_piece *p = &r->piece[i];
        if (!in[p->call])
            continue;
        to->piece[to->n_pieces] = *p;
        to->piece[to->n_pieces++].call = new_at[p->call];
    }
}

struct slow_trace_request *slow_trace_compact(const struct slow_trace_request *r, uint32_t max)
{
    uint32_t n = r->n < max ? r->n : max;
    struct slow_trace_request *to = copy_of_head(r, n);
    bool in[SLOW_TRACE_CALLS];

    assert(r->n <= SLOW_TRACE_CALLS && n > 0);
    to->omitted += r->n - n;
    choose(r, max, in);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct slow_trace_call *c = &r->call[i];
        if (in[i]) {
            to->call[to->n++] = *c;
            to->running += (c->flags & SLOW_TRACE_RUNNING) != 0;
        } else if (!(c->flags & SLOW_TRACE_LATE)) {
            to->omitted_self_ns += c->self_ns;
        }
    }
    keep_pieces(r, in, to);
    return to;
}

const struct slow_trace_request *slow_trace_ref(const struct slow_trace_request *r)
{
    atomic_fetch_add_explicit(&((struct slow_trace_request *)(uintptr_t)r)->refs, 1,
                              memory_order_relaxed);
    return r;
}

void slow_trace_unref(const struct slow_trace_request *r)
{
    struct slow_trace_request *own = (struct slow_trace_request *)(uintptr_t)r;

    if (own && atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1) {
        free(own->piece);
        free(own->what);
        free(own);
    }
}
