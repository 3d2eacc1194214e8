#include "waterfall_rows.h"
#include "waterfall_parts.h"

#include <kprof/base/format.h>

enum { EIGHTHS = 8 };

const char *waterfall_rows_tier(const struct snapshot *s, const struct waterfall_row *r)
{
    return r->call->tier < s->n_tier_names ? s->tier_names[r->call->tier] : "?";
}

/* ---- bars ---- */

/* The activity of a row in a cell of the axis, in ns. */
struct share {
    uint64_t kind[3], first_ns; /* first: the start of its self time */
};

static struct share share_of(const struct waterfall *w, const struct waterfall_row *r,
                             uint64_t from, uint64_t to)
{
    struct share sh = {.first_ns = UINT64_MAX};
    for (uint32_t i = r->first; i < r->first + r->n && w->segment[i].from_ns < to; i++) {
        const struct waterfall_segment *st = &w->segment[i];
        if (st->to_ns <= from) {
            continue;
        }
        uint64_t a = st->from_ns > from ? st->from_ns : from, b = st->to_ns < to ? st->to_ns : to;
        if (st->kind == WATERFALL_SELF && sh.first_ns == UINT64_MAX) {
            sh.first_ns = a;
        }
        sh.kind[st->kind] += b - a;
    }
    return sh;
}

/* Self time fills the cell by eighths from the side where it is. */
static const char *block(uint64_t own, uint64_t cell, bool right)
{
    unsigned n = (unsigned)(own * EIGHTHS / (cell ? cell : 1));
    n = n < 1 ? 1 : n > EIGHTHS ? EIGHTHS : n;
    if (!right || n == EIGHTHS) {
        return format_eighths(n);
    }
    return n < 3 ? "\xe2\x96\x95"
                 : "\xe2\x96\x90"; /* only these two blocks exist on the right side */
}

static void draw_cell(struct canvas *c, int row, int col, const struct share *sh, uint64_t from,
                      uint64_t to)
{
    uint64_t own = sh->kind[WATERFALL_SELF], wait = sh->kind[WATERFALL_WAIT],
             in = sh->kind[WATERFALL_INNER];
    uint64_t cell = to - from;
    bool none = !own && !wait && !in;
    if (none) {
        return;
    }
    if (own && (own * EIGHTHS >= cell || (!wait && !in))) {
        bool right = sh->first_ns - from > cell / 4 && own < cell - cell / 4;
        canvas_text(c, row, col, 1, STYLE_GOOD, c->ascii ? "#" : block(own, cell, right));
    } else if (wait >= in) {
        canvas_text(c, row, col, 1, STYLE_WARN, c->ascii ? "." : "\xe2\x96\x91");
    } else {
        canvas_text(c, row, col, 1, STYLE_DIM, c->ascii ? "-" : "\xe2\x94\x80");
    }
}

static void draw_bar(struct canvas *c, int row, int col, int cols, const struct waterfall *w,
                     const struct waterfall_row *r)
{
    for (int i = 0; i < cols; i++) {
        uint64_t from = w->whole_ns / (unsigned)cols * (unsigned)i;
        uint64_t to =
            i + 1 == cols ? w->whole_ns : w->whole_ns / (unsigned)cols * (unsigned)(i + 1);
        struct share sh = share_of(w, r, from, to);
        draw_cell(c, row, col + i, &sh, from, to);
    }
    if (r->end_ns == r->start_ns ||
        w->whole_ns < (unsigned)cols) { /* shorter than a cell: a mark */
        uint64_t at = w->whole_ns ? r->start_ns * (unsigned)cols / w->whole_ns : 0;
        int x = at < (unsigned)cols ? (int)at : cols - 1;
        canvas_text(c, row, col + x, 1, STYLE_GOOD, c->ascii ? "|" : "\xe2\x96\x8f");
    }
}

/* Before the bar: its message was in the mailbox of its process. */
static void draw_mailbox(struct canvas *c, int row, int col, int cols, const struct waterfall *w,
                         const struct waterfall_row *r)
{
    uint64_t wait_ns = (uint64_t)r->call->mailbox_us * 1000;
    if (!(r->call->flags & SLOW_TRACE_MAILBOX) || !w->whole_ns) {
        return;
    }
    uint64_t sent_ns = r->start_ns > wait_ns ? r->start_ns - wait_ns : 0;
    int from = (int)((double)sent_ns / (double)w->whole_ns * cols);
    int to = (int)((double)r->start_ns / (double)w->whole_ns * cols);
    for (int i = from; i < to && i < cols; i++) {
        canvas_text(c, row, col + i, 1, STYLE_WARN, c->ascii ? "m" : "\xe2\x94\x84");
    }
}

/* ---- lines ---- */

struct slots {
    int name, start, took, self, pid; /* 0: not shown */
    int bar;                          /* column where the bar begins */
};

static struct slots slots_for(int cols)
{
    struct slots w = {.name = cols < 60 ? 14 : cols < 100 ? 20 : 28, .took = 7};
    if (cols >= 60) {
        w.start = 8;
        w.self = 7;
    }
    w.pid = cols >= 100 ? 12 : 0;
    w.bar =
        w.name + 1 + w.took + 1 + (w.start ? w.start + w.self + 2 : 0) + (w.pid ? w.pid + 1 : 0);
    return w;
}

int waterfall_rows_bar(int cols)
{
    return slots_for(cols).bar;
}

void waterfall_rows_duration(uint64_t ns, char *out)
{
    format_us((double)ns / 1e3, out);
}

void waterfall_rows_titles(struct canvas *c, int row, struct rect a)
{
    struct slots sl = slots_for(a.cols);
    int col = a.col;
    canvas_text(c, row, col, sl.name, STYLE_DIM, "TIER");
    col += sl.name + 1;
    if (sl.start) {
        canvas_right(c, row, col, sl.start, STYLE_DIM, "START");
        col += sl.start + 1;
    }
    canvas_right(c, row, col, sl.took, STYLE_DIM, "TOOK");
    col += sl.took + 1;
    if (sl.self) {
        canvas_right(c, row, col, sl.self, STYLE_DIM, "SELF");
        col += sl.self + 1;
    }
    canvas_text(c, row, col, sl.pid, STYLE_DIM, "PROCESS");
}

void waterfall_rows_draw(struct canvas *c, int row, struct rect a, const struct waterfall *w,
                         const struct waterfall_row *r, const struct snapshot *s)
{
    char text[FORMAT_BYTES + 1] = "+";
    struct slots at = slots_for(a.cols);
    bool late = r->call->flags & SLOW_TRACE_LATE, running = r->call->flags & SLOW_TRACE_RUNNING;
    bool error = r->call->flags & SLOW_TRACE_ERROR;
    int indent = (int)(r->depth < 8 ? r->depth : 8), col = a.col;

    indent = indent > at.name - 8 ? at.name - 8 : indent;
    canvas_name(c, row, col + indent, at.name - indent, error ? STYLE_BAD : STYLE_BOLD,
                waterfall_rows_tier(s, r));
    col += at.name + 1;
    if (at.start) {
        waterfall_rows_duration(r->start_ns, text + 1);
        canvas_right(c, row, col, at.start, STYLE_DIM, text);
        col += at.start + 1;
    }
    waterfall_rows_duration(r->end_ns - r->start_ns, text);
    canvas_right(c, row, col, at.took, STYLE_NORMAL, running ? "running" : text);
    canvas_text(c, row, col + at.took, 1, STYLE_BAD, error ? "!" : "");
    col += at.took + 1;
    if (at.self) {
        waterfall_rows_duration(r->self_ns, text);
        canvas_right(c, row, col, at.self, STYLE_NORMAL, text);
        col += at.self + 1;
    }
    if (at.pid) {
        snapshot_pid(r->call->pid, text);
        canvas_text(c, row, col, at.pid, STYLE_NORMAL, text);
    }
    if (late) {
        waterfall_rows_duration(r->start_ns - w->whole_ns, text);
        canvas_textf(c, row, a.col + at.bar, a.cols - at.bar, STYLE_DIM, "started %s after the end",
                     text);
    } else if (a.cols - at.bar >= 8) {
        draw_mailbox(c, row, a.col + at.bar, a.cols - at.bar, w, r);
        if (!waterfall_parts_bar(c, row, a.col + at.bar, a.cols - at.bar, w, r)) {
            draw_bar(c, row, a.col + at.bar, a.cols - at.bar, w, r);
        }
    }
}
