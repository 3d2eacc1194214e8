#include "detail.h"
#include "state.h"

#include <kprof/core/call_parts.h>
#include <kprof/core/slow_trace.h>
#include <stdlib.h>
#include <string.h>

void detail_init(struct detail *d)
{
    memset(d, 0, sizeof *d);
    scheduling_init(&d->scheduling);
    part_sums_init(&d->sums);
}

void detail_release(struct detail *d)
{
    scheduling_release(&d->scheduling);
    part_sums_release(&d->sums);
    if (d->work)
        free(d->work->call);
    free(d->work);
}

void detail_called(struct core *c, uint64_t pid, uint64_t ts_ns)
{
    scheduling_runs(&c->detail.scheduling, pid, ts_ns);
}

void detail_sent(struct core *c, const struct event *ev)
{
    if (event_in_detail(ev->label))
        scheduling_sent(&c->detail.scheduling, ev->pid, ev->prev, ev->ts_ns);
}

static int by_start(const void *a, const void *b)
{
    const struct scheduling_call *x = a, *y = b;

    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void detail_request(struct core *c, const struct request *r)
{
    struct detail *d = &c->detail;

    if (!event_in_detail(r->label))
        return;
    if (!d->work && (!(d->work = calloc(1, sizeof *d->work)) ||
                     !(d->work->call = calloc(DETAIL_CALLS, sizeof *d->work->call))))
        abort();
    d->work->n = 0;
    for (uint32_t at = r->first; at != CALL_NIL && d->work->n < DETAIL_CALLS;
         at = c->calls.call[at].next) {
        const struct call *f = &c->calls.call[at];
        bool open = f->flags & CALL_ON_STACK;
        if (f->kind == CALL_FREE || f->kind == CALL_ACCOUNTED)
            continue;
        d->work->call[d->work->n++] =
            (struct scheduling_call){f->start_ns, open ? 0 : f->end_ns, f->pid};
    }
    qsort(d->work->call, d->work->n, sizeof *d->work->call, by_start);
}

static const struct scheduling_cut *cut(struct core *c, uint64_t pid, uint64_t start_ns,
                                        uint64_t end_ns)
{
    struct detail *d = &c->detail;
    struct scheduling_call call = {start_ns, end_ns, pid};

    scheduling_cut(&d->scheduling, c->set.names, &call, d->work->call, d->work->n, &d->work->cut);
    return &d->work->cut;
}

void detail_member(struct core *c, const struct call *f, const struct request *r, uint16_t ident)
{
    if (!(f->flags & CALL_DETAIL) || !event_in_detail(r->label))
        return;
    const struct scheduling_cut *k = cut(c, f->pid, f->start_ns, f->end_ns);
    struct part_sums_call call = {
        .end_ns = f->end_ns, .parts = k->parts, .tier = f->tier, .ident = ident};
    part_sums_add(&c->detail.sums, &call);
    if (r->entry == CALL_NIL || &c->calls.call[r->entry] != f)
        return;
    call.tier = ROW_TOTAL;
    part_sums_add(&c->detail.sums, &call);
}

/* ---- slow traces ---- */

/* The number of a name in the trace, from 1; 0: none, or there is no room. */
static uint32_t name_in(const struct core *c, struct slow_trace_request *to, uint32_t fn,
                        uint32_t *known)
{
    if (!fn)
        return 0;
    for (uint32_t i = 0; i < to->n_whats; i++)
        if (known[i] == fn)
            return i + 1;
    if (to->n_whats == DETAIL_NAMES)
        return 0;
    void *more = realloc(to->what, (to->n_whats + 1) * sizeof *to->what);
    if (!more)
        abort();
    to->what = more;
    const char *name = intern_str(c->set.names, fn);
    size_t n = strnlen(name, PART_WHAT_BYTES - 1);
    memset(to->what[to->n_whats], 0, PART_WHAT_BYTES);
    memcpy(to->what[to->n_whats], name, n);
    known[to->n_whats++] = fn;
    return to->n_whats;
}

/* The mailbox of the process that a piece waits for. Once that process works for the request, its
 * mailbox is of no interest. */
static uint32_t queue_of(const struct core *c, const struct slow_trace_request *to,
                         const struct scheduling_piece *p)
{
    bool waits = p->part == PART_MAILBOX ||
                 (p->part == PART_WAIT && !call_parts_callee(to, p->other, p->from_ns));

    return p->other && waits
               ? scheduling_queue_length(&c->detail.scheduling, p->other, p->from_ns, p->to_ns)
               : 0;
}

static void add_pieces(const struct core *c, struct slow_trace_request *to, uint32_t at,
                       uint32_t *known)
{
    const struct scheduling_cut *k = &c->detail.work->cut;

    if (to->n_pieces + k->n > DETAIL_TRACE_PIECES)
        return;
    void *more = realloc(to->piece, (to->n_pieces + k->n) * sizeof *to->piece);
    if (!more && k->n)
        abort();
    to->piece = k->n ? more : to->piece;
    for (size_t i = 0; i < k->n; i++) {
        const struct scheduling_piece *p = &k->piece[i];
        to->piece[to->n_pieces++] = (struct time_part_piece){.from_ns = p->from_ns,
                                                             .to_ns = p->to_ns,
                                                             .call = at,
                                                             .part = p->part,
                                                             .what = name_in(c, to, p->what, known),
                                                             .other = p->other,
                                                             .queue = queue_of(c, to, p)};
    }
}

void detail_trace(struct core *c, struct slow_trace_request *to)
{
    uint32_t known[DETAIL_NAMES];

    if (!event_in_detail(to->label))
        return;
    c->detail.work->n = 0; /* calls of a long request that were drained are in the trace only */
    for (uint32_t i = 0; i < to->n && c->detail.work->n < DETAIL_CALLS; i++)
        c->detail.work->call[c->detail.work->n++] =
            (struct scheduling_call){to->call[i].start_ns, to->call[i].end_ns, to->call[i].pid};
    qsort(c->detail.work->call, c->detail.work->n, sizeof *c->detail.work->call, by_start);
    for (uint32_t i = 0; i < to->n; i++) {
        const struct slow_trace_call *k = &to->call[i];
        if (!(k->flags & SLOW_TRACE_DETAIL) || k->end_ns <= k->start_ns)
            continue;
        cut(c, k->pid, k->start_ns, k->end_ns);
        add_pieces(c, to, i, known);
    }
}
