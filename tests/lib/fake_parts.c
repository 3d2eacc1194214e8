#include "fake_parts.h"

#include <kprof/core/slow_trace.h>
#include <kprof/core/tier.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 6, PIECES = 400 };

struct fake_parts {
    struct snapshot *s;
    struct time_part_view *views;
    struct snap_who *who; /* the process of db, by slow request */
};

/* Shares in per cent: of all calls, and of the slowest 1 %. */
static const struct {
    int all[PART_COUNT], slow[PART_COUNT];
} kinds[KINDS] = {
    {{90, 10, 0, 0, 0, 0, 0, 0}, {40, 55, 5, 0, 0, 0, 0, 0}},
    {{8, 4, 2, 0, 0, 61, 24, 1}, {1, 2, 1, 0, 0, 14, 81, 1}},
    {{55, 5, 40, 0, 0, 0, 0, 0}, {20, 5, 75, 0, 0, 0, 0, 0}},
    {{20, 3, 2, 60, 10, 3, 1, 1}, {5, 20, 2, 60, 10, 1, 1, 1}},
    {{97, 1, 1, 0, 0, 0, 0, 1}, {97, 1, 1, 0, 0, 0, 0, 1}},
    {{25, 5, 6, 20, 4, 30, 9, 1}, {6, 18, 5, 22, 3, 20, 25, 1}},
};

static void fill(struct time_part_view *v, const struct snap_row *r)
{
    size_t kind = r->tier == TIER_TOTAL ? KINDS - 1 : r->tier % (KINDS - 1);
    v->calls = 1 + r->count / 100;
    v->slow_from_us = r->p99_us;
    for (int p = 0; p < PART_COUNT; p++) {
        v->share[p] = kinds[kind].all[p] / 100.0;
        v->slow_share[p] = kinds[kind].slow[p] / 100.0;
        v->mean_us[p] = r->mean_us * v->share[p];
        v->p50_us[p] = r->p50_us * v->share[p];
        v->p99_us[p] = r->p99_us * v->slow_share[p];
    }
}

/* ---- pieces ---- */

static void add(struct slow_trace_request *r, uint32_t call, uint64_t to_ns, enum time_part part,
                uint32_t what, uint64_t other, uint32_t queue)
{
    const struct slow_trace_call *c = &r->call[call];
    const struct time_part_piece *last = r->n_pieces ? &r->piece[r->n_pieces - 1] : NULL;
    uint64_t from = last && last->call == call ? last->to_ns : c->start_ns;
    if (to_ns > from && r->n_pieces < PIECES) {
        r->piece[r->n_pieces++] = (struct time_part_piece){.from_ns = from,
                                                           .to_ns = to_ns,
                                                           .call = call,
                                                           .part = (uint8_t)part,
                                                           .what = what,
                                                           .other = other,
                                                           .queue = queue};
    }
}

/* The entry runs, and waits for each call in another process: in its mailbox, then for its end. */
static void entry_pieces(struct slow_trace_request *r)
{
    uint64_t at = r->call[0].start_ns;
    for (uint32_t i = 1; i < r->n; i++) {
        const struct slow_trace_call *c = &r->call[i];
        if (c->pid == r->call[0].pid || c->flags & SLOW_TRACE_LATE || c->start_ns < at) {
            continue;
        }
        add(r, 0, at + (c->start_ns - at) / 2, PART_RUN, 0, 0, 0);
        add(r, 0, c->start_ns, PART_MAILBOX, 1, c->pid, 42);
        add(r, 0, c->end_ns, PART_WAIT, 1, c->pid, 0);
        at = c->end_ns;
    }
    uint64_t rest = (r->end_ns - at) / 4;
    add(r, 0, at + rest, PART_RUN_QUEUE, 0, 0, 0);
    add(r, 0, at + 2 * rest, PART_GC, 0, 0, 0);
    add(r, 0, r->end_ns, PART_RUN, 0, 0, 0);
}

static void call_pieces(struct slow_trace_request *r, uint32_t i)
{
    const struct slow_trace_call *c = &r->call[i];
    uint64_t start = c->start_ns, tenth = (c->end_ns - start) / 10;
    add(r, i, start + tenth, PART_RUN, 0, 0, 0);
    if (c->tier == 3) { /* db */
        add(r, i, start + 5 * tenth, PART_DIRTY, 2, 0, 0);
        add(r, i, start + 6 * tenth, PART_PORT, 3, 0, 0);
        add(r, i, start + 8 * tenth, PART_DIRTY, 2, 0, 0);
        add(r, i, start + 9 * tenth, PART_UNKNOWN, 0, 0, 0);
    } else {
        add(r, i, start + 6 * tenth, PART_WAIT, 1, 0, 0);
    }
    add(r, i, c->end_ns, PART_RUN, 0, 0, 0);
}

static void give_pieces(struct slow_trace_request *r)
{
    static const char *const names[] = {"gen:do_call/4", "prim_file:read_nif/2",
                                        "\x1b[2Jport \xff"};
    r->piece = calloc(PIECES, sizeof *r->piece);
    r->what = calloc(3, sizeof *r->what);
    if (!r->piece || !r->what) {
        abort();
    }
    for (int i = 0; i < 3; i++) {
        strcpy(r->what[r->n_whats++], names[i]);
    }
    entry_pieces(r);
    for (uint32_t i = 1; i < r->n; i++) {
        if (r->call[i].end_ns) {
            call_pieces(r, i);
        }
    }
}

struct fake_parts *fake_parts_give(struct snapshot *s)
{
    struct fake_parts *p = calloc(1, sizeof *p);
    if (!p || !(p->views = calloc(s->n_rows + 1, sizeof *p->views)) ||
        !(p->who = calloc(s->n_slow_traces + 1, sizeof *p->who))) {
        abort();
    }
    p->s = s;
    for (size_t i = 0; i < s->n_rows; i++) {
        struct snap_row *r = (struct snap_row *)(uintptr_t)&s->rows[i];
        if (r->count) {
            fill(&p->views[i], r);
            r->parts = &p->views[i];
        }
    }
    for (size_t i = 0; i < s->n_slow_traces; i++) {
        struct snap_slow_trace *t = (struct snap_slow_trace *)(uintptr_t)&s->slow_traces[i];
        give_pieces((struct slow_trace_request *)(uintptr_t)t->request);
        p->who[i] = (struct snap_who){t->request->call[0].pid + 1, "kv_db"};
        t->who = &p->who[i];
        t->n_who = 1;
    }
    return p;
}

void fake_parts_free(struct fake_parts *p)
{
    if (!p) {
        return;
    }
    for (size_t i = 0; i < p->s->n_rows; i++) {
        ((struct snap_row *)(uintptr_t)&p->s->rows[i])->parts = NULL;
    }
    for (size_t i = 0; i < p->s->n_slow_traces; i++) {
        struct slow_trace_request *r =
            (struct slow_trace_request *)(uintptr_t)p->s->slow_traces[i].request;
        free(r->piece);
        free(r->what);
        r->piece = NULL;
        r->what = NULL;
        r->n_pieces = r->n_whats = 0;
        ((struct snap_slow_trace *)(uintptr_t)&p->s->slow_traces[i])->n_who = 0;
    }
    free(p->views);
    free(p->who);
    free(p);
}
