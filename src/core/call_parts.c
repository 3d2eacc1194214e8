#include <kprof/core/call_parts.h>

#include <stdlib.h>

enum { OTHERS = 64 }; /* processes that a request waits for; further ones have no name */

/* Pieces are sorted by call. Returns the first piece of `call` or of a later one. */
static uint32_t lower(const struct slow_trace_request *r, uint32_t call)
{
    uint32_t from = 0, to = r->n_pieces;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (r->piece[mid].call < call)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

size_t call_parts_pieces(const struct slow_trace_request *r, uint32_t call,
                         const struct time_part_piece **first)
{
    uint32_t from = lower(r, call), n = 0;

    *first = NULL;
    while (from + n < r->n_pieces && r->piece[from + n].call == call)
        n++;
    if (n)
        *first = &r->piece[from];
    return n;
}

enum time_part call_parts_part(const struct time_part_piece *p)
{
    return p->part < PART_COUNT ? (enum time_part)p->part : PART_UNKNOWN;
}

void call_parts_sum(const struct slow_trace_request *r, uint32_t call, struct time_parts *out)
{
    const struct time_part_piece *p;
    size_t n = call_parts_pieces(r, call, &p);

    *out = (struct time_parts){.ns = {0}};
    for (size_t i = 0; i < n; i++)
        out->ns[call_parts_part(&p[i])] += p[i].to_ns - p[i].from_ns;
}

const char *call_parts_what(const struct slow_trace_request *r, const struct time_part_piece *p)
{
    return p->what >= 1 && p->what <= r->n_whats ? r->what[p->what - 1] : NULL;
}

/* Same part, name and process. */
static int by_kind(const void *a, const void *b)
{
    const struct time_part_piece *x = a, *y = b;

    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return x->what < y->what ? -1 : x->what > y->what;
}

static int longest(const void *a, const void *b)
{
    const struct call_part *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    return x->other < y->other ? -1 : x->other > y->other;
}

size_t call_parts_list(const struct slow_trace_request *r, uint32_t call, struct call_part *out,
                       size_t max, uint64_t *rest_ns)
{
    const struct time_part_piece *first;
    size_t n = call_parts_pieces(r, call, &first), kinds = 0;
    struct time_part_piece *p = malloc((n + 1) * sizeof *p);
    struct call_part *all = calloc(n + 1, sizeof *all);

    if (!p || !all)
        abort();
    *rest_ns = 0;
    for (size_t i = 0; i < n; i++)
        p[i] = first[i];
    qsort(p, n, sizeof *p, by_kind);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_kind(&p[i - 1], &p[i]) != 0)
            all[kinds++] = (struct call_part){.part = call_parts_part(&p[i]),
                                              .what = call_parts_what(r, &p[i]),
                                              .other = p[i].other};
        struct call_part *to = &all[kinds - 1];
        to->times++;
        to->ns += p[i].to_ns - p[i].from_ns;
        to->queue = p[i].queue > to->queue ? p[i].queue : to->queue;
    }
    qsort(all, kinds, sizeof *all, longest);
    for (size_t i = 0; i < kinds; i++) {
        if (i < max)
            out[i] = all[i];
        else
            *rest_ns += all[i].ns;
    }
    free(p);
    free(all);
    return kinds;
}

struct wait {
    uint64_t pid, ns;
};

static int longest_wait(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

size_t call_parts_others(const struct slow_trace_request *r, uint64_t *pid, size_t max)
{
    struct wait all[OTHERS];
    size_t n = 0;

    for (uint32_t i = 0; i < r->n_pieces; i++) {
        const struct time_part_piece *p = &r->piece[i];
        size_t k = 0;
        while (k < n && all[k].pid != p->other)
            k++;
        if (p->other == 0 || k == OTHERS)
            continue;
        if (k == n)
            all[n++] = (struct wait){.pid = p->other};
        all[k].ns += p->to_ns - p->from_ns;
    }
    qsort(all, n, sizeof *all, longest_wait);
    for (size_t i = 0; i < n && i < max; i++)
        pid[i] = all[i].pid;
    return n < max ? n : max;
}

const struct slow_trace_call *call_parts_callee(const struct slow_trace_request *r, uint64_t pid,
                                                uint64_t from_ns)
{
    const struct slow_trace_call *best = NULL;

    for (uint32_t i = 0; i < r->n; i++) {
        const struct slow_trace_call *c = &r->call[i];
        bool after = c->end_ns == 0 || c->end_ns > from_ns;
        bool known = best && (best->end_ns == 0 || best->end_ns > from_ns);
        if (c->pid != pid || (best && known && !after))
            continue;
        if (!best || (after && !known) || (after == known && c->start_ns < best->start_ns))
            best = c;
    }
    return best;
}
