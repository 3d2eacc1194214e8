#include <kprof/core/waterfall.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_late(const struct waterfall_row *r)
{
    return (r->call->flags & SLOW_TRACE_LATE) != 0;
}

static int by_start(const void *a, const void *b)
{
    const struct waterfall_row *x = a, *y = b;

    if (is_late(x) != is_late(y))
        return is_late(x) ? 1 : -1;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? 1 : -1;
    return x->call > y->call ? 1 : -1; /* in order of arrival */
}

static void fill_rows(struct waterfall *w, const struct slow_trace_request *r)
{
    uint64_t self = 0;

    w->n = r->n;
    w->row = calloc(r->n, sizeof *w->row);
    if (!w->row)
        abort();
    for (uint32_t i = 0; i < r->n; i++) {
        const struct slow_trace_call *c = &r->call[i];
        struct waterfall_row *to = &w->row[i];
        *to = (struct waterfall_row){.call = c, .self_ns = c->self_ns, .parent = WATERFALL_NIL};
        to->start_ns = c->start_ns - r->start_ns;
        to->end_ns = c->flags & SLOW_TRACE_RUNNING ? w->whole_ns : c->end_ns - r->start_ns;
        if (to->end_ns < to->start_ns)
            to->end_ns = to->start_ns;
        w->late += is_late(to);
        self += is_late(to) ? 0 : c->self_ns;
    }
    w->omitted_ns = w->whole_ns > self ? w->whole_ns - self : 0;
    qsort(w->row, w->n, sizeof *w->row, by_start);
}

/* ---- segments: instant by instant ---- */

struct open { /* calls open at an instant, by start */
    uint32_t *row;
    uint32_t n;
    uint32_t *proc; /* by row: the number of its process */
    uint32_t *seen; /* by process: the instant at which it was last visited */
    uint32_t instant;
};

static uint64_t end_within(const struct waterfall *w, uint32_t row)
{
    return w->row[row].end_ns < w->whole_ns ? w->row[row].end_ns : w->whole_ns;
}

static void number_processes(const struct waterfall *w, struct open *o)
{
    uint32_t n = 0;

    o->row = calloc(w->n + 1, sizeof *o->row);
    o->proc = calloc(w->n + 1, sizeof *o->proc);
    o->seen = calloc(w->n + 1, sizeof *o->seen);
    if (!o->row || !o->proc || !o->seen)
        abort();
    for (uint32_t i = 0; i < w->n; i++) { /* o->row: for now, the first row of each process */
        uint32_t k = 0;
        while (k < n && w->row[o->row[k]].call->pid != w->row[i].call->pid)
            k++;
        if (k == n)
            o->row[n++] = i;
        o->proc[i] = k;
    }
}

/* Segments are collected in order of time; the lists of the rows are made at the end. */
struct piece {
    struct waterfall_segment s;
    uint32_t row;
};

struct pieces {
    struct piece *p;
    uint32_t n, cap;
    uint32_t *last; /* by row: its newest segment, from 1 */
};

static void add_piece(struct pieces *ps, uint32_t row, struct waterfall_segment s)
{
    struct piece *last = ps->last[row] ? &ps->p[ps->last[row] - 1] : NULL;

    if (last && last->s.kind == s.kind && last->s.other == s.other && last->s.to_ns == s.from_ns) {
        last->s.to_ns = s.to_ns;
        return;
    }
    if (ps->n == ps->cap) {
        ps->cap = ps->cap ? ps->cap * 2 : 256;
        ps->p = realloc(ps->p, ps->cap * sizeof *ps->p);
        if (!ps->p)
            abort();
    }
    ps->p[ps->n++] = (struct piece){.s = s, .row = row};
    ps->last[row] = ps->n;
}

/* From the call that began last to the one that began first, so that the calls above each are
 * known. */
static void spend(struct waterfall *w, struct open *o, struct pieces *ps, uint64_t from,
                  uint64_t to)
{
    o->instant++;
    for (uint32_t k = o->n; k-- > 0 && to > from;) {
        struct waterfall_row *r = &w->row[o->row[k]];
        uint32_t *seen = &o->seen[o->proc[o->row[k]]];
        struct waterfall_segment s = {
            .from_ns = from, .to_ns = to, .kind = WATERFALL_SELF, .other = WATERFALL_NIL};
        if (*seen == o->instant) {
            s.kind = WATERFALL_INNER;
            r->inner_ns += to - from;
        } else if (k + 1 < o->n) {
            s.kind = WATERFALL_WAIT;
            s.other = o->row[k + 1];
            r->wait_ns += to - from;
        }
        *seen = o->instant;
        add_piece(ps, o->row[k], s);
    }
}

/* Advances to `until`, and stops wherever a call ends. */
static void advance(struct waterfall *w, struct open *o, struct pieces *ps, uint64_t *t,
                    uint64_t until)
{
    while (o->n) {
        uint64_t next = until;
        for (uint32_t i = 0; i < o->n; i++)
            if (end_within(w, o->row[i]) < next)
                next = end_within(w, o->row[i]);
        spend(w, o, ps, *t, next);
        *t = next > *t ? next : *t;
        uint32_t keep = 0;
        for (uint32_t i = 0; i < o->n; i++)
            if (end_within(w, o->row[i]) > *t)
                o->row[keep++] = o->row[i];
        bool ended = keep < o->n;
        o->n = keep;
        if (!ended && *t >= until)
            break;
    }
    *t = until > *t ? until : *t;
}

static void list_by_row(struct waterfall *w, const struct pieces *ps)
{
    uint32_t at = 0;

    w->n_segments = ps->n;
    w->segment = calloc(ps->n + 1, sizeof *w->segment);
    if (!w->segment)
        abort();
    for (uint32_t i = 0; i < ps->n; i++)
        w->row[ps->p[i].row].n++;
    for (uint32_t i = 0; i < w->n; i++) {
        w->row[i].first = at;
        at += w->row[i].n;
        w->row[i].n = 0;
    }
    for (uint32_t i = 0; i < ps->n; i++) {
        struct waterfall_row *r = &w->row[ps->p[i].row];
        w->segment[r->first + r->n++] = ps->p[i].s;
    }
}

static void walk(struct waterfall *w)
{
    struct open o = {.n = 0};
    struct pieces ps = {.last = calloc(w->n + 1, sizeof *ps.last)};
    uint64_t t = 0;

    if (!ps.last)
        abort();
    number_processes(w, &o);
    for (uint32_t i = 0; i < w->n - w->late; i++) {
        struct waterfall_row *r = &w->row[i];
        advance(w, &o, &ps, &t, r->start_ns);
        if (i > 0) { /* at the end of the request no call is open except the entry */
            r->parent = o.n ? o.row[o.n - 1] : 0;
            r->depth = w->row[r->parent].depth + 1;
        }
        if (end_within(w, i) > r->start_ns)
            o.row[o.n++] = i;
    }
    advance(w, &o, &ps, &t, w->whole_ns);
    list_by_row(w, &ps);
    free(o.row);
    free(o.proc);
    free(o.seen);
    free(ps.p);
    free(ps.last);
}

/* Self times of a long request are computed before it ends. If its end arrives very late and lies
 * before the time computed so far, the segments are correct, but the self times are not. */
static void own_self_times(struct waterfall *w)
{
    uint64_t self = 0;

    for (uint32_t i = 0; i < w->n - w->late; i++)
        self += w->row[i].self_ns;
    for (uint32_t i = 0; i < w->n - w->late && self > w->whole_ns; i++) {
        struct waterfall_row *r = &w->row[i];
        uint64_t end = end_within(w, i), in = r->inner_ns + r->wait_ns;
        r->self_ns = end > r->start_ns ? end - r->start_ns - in : 0;
    }
}

void waterfall_make(struct waterfall *w, const struct slow_trace_request *r)
{
    memset(w, 0, sizeof *w);
    w->request = slow_trace_ref(r);
    w->whole_ns = r->end_ns - r->start_ns;
    fill_rows(w, r);
    walk(w);
    own_self_times(w);
}

void waterfall_release(struct waterfall *w)
{
    slow_trace_unref(w->request);
    free(w->row);
    free(w->segment);
    memset(w, 0, sizeof *w);
}

static bool same_server(const struct waterfall *w, uint32_t a, uint32_t b)
{
    const struct slow_trace_call *x = w->row[a].call, *y = w->row[b].call;
    return x->tier == y->tier && x->pid == y->pid;
}

static int longest(const void *a, const void *b)
{
    const struct waterfall_wait *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : x->other > y->other ? 1 : -1;
}

size_t waterfall_waits(const struct waterfall *w, uint32_t row, struct waterfall_wait *out,
                       size_t max)
{
    const struct waterfall_row *r = &w->row[row];
    struct waterfall_wait *all = calloc(r->n + 1, sizeof *all);
    size_t n = 0;

    if (!all)
        abort();
    for (uint32_t i = 0; i < r->n; i++) {
        const struct waterfall_segment *s = &w->segment[r->first + i];
        size_t k = 0;
        if (s->kind != WATERFALL_WAIT)
            continue;
        while (k < n && !same_server(w, all[k].other, s->other))
            k++;
        if (k == n)
            all[n++] = (struct waterfall_wait){.other = s->other};
        all[k].times++;
        all[k].ns += s->to_ns - s->from_ns;
    }
    qsort(all, n, sizeof *all, longest);
    for (size_t i = 0; i < n && i < max; i++)
        out[i] = all[i];
    free(all);
    return n;
}
