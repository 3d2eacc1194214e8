#include "waterfall_screen.h"
#include "shared.h"

#include <kprof/base/format.h>
#include <kprof/core/waterfall.h>
#include <stdio.h>
#include <string.h>

enum { GAPS = 2, DETAIL_ROWS = 1 + GAPS, EIGHTHS = 8 };

/* ---- the request ---- */

static void open_screen(void *own, const struct screen_request *r, struct intent *out)
{
    (void)out;
    *(struct waterfall_state *)own = (struct waterfall_state){.id = r->trace};
}

/* The slow call by which the list of slow requests shows this request; NULL: it does not. */
static const struct snap_slow *listed(const struct slow_filter *f, const struct snapshot *s,
                                      uint64_t id)
{
    for (size_t i = 0; i < s->n_slow; i++) {
        if (s->slow[i].trace == id && slow_matches(f, &s->slow[i])) {
            return &s->slow[i];
        }
    }
    return NULL;
}

/* Moves to the next request of the list of slow requests; down is older. */
static void step(struct waterfall_state *t, struct ui_shared *sh, const struct snapshot *s,
                 bool down)
{
    size_t i = slow_list_trace(s, t->id);
    struct slow_filter f = slow_filter_at(&sh->slow.filter, s);
    while (down ? i + 1 < s->n_slow_traces : i > 0) {
        i += down ? 1 : (size_t)-1;
        const struct snap_slow *w = listed(&f, s, s->slow_traces[i].request->id);
        if (w) {
            *t = (struct waterfall_state){.id = w->trace};
            sh->slow.seq = w->seq;
            return;
        }
    }
    message_set(&sh->message,
                down ? "there is no older slow request" : "this is the newest slow request", false);
}

/* ---- lines: rows, and a title above late calls ---- */

static size_t lines_of(const struct waterfall *w)
{
    return w->n + (w->late > 0);
}

/* WATERFALL_NIL: the title */
static uint32_t row_at(const struct waterfall *w, size_t line)
{
    size_t within = w->n - w->late;
    return line < within ? (uint32_t)line : line == within ? WATERFALL_NIL : (uint32_t)line - 1;
}

static const char *tier_name(const struct snapshot *s, const struct waterfall_row *r)
{
    return r->call->tier < s->n_tier_names ? s->tier_names[r->call->tier] : "?";
}

/* ---- bars ---- */

/* The activity of a row in a cell of the axis, in ns. */
struct share {
    uint64_t kind[3], first_ns; /* first: the begin of its self time */
};

static struct share share_of(const struct waterfall *w, const struct waterfall_row *r,
                             uint64_t from, uint64_t to)
{
    struct share sh = {.first_ns = UINT64_MAX};
    for (uint32_t i = r->first; i < r->first + r->n && w->stretch[i].from_ns < to; i++) {
        const struct waterfall_stretch *st = &w->stretch[i];
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

static void us_text(uint64_t ns, char *out)
{
    format_us((double)ns / 1e3, out);
}

static void draw_row(struct canvas *c, int row, struct rect a, const struct waterfall *w,
                     const struct waterfall_row *r, const struct snapshot *s)
{
    char text[FORMAT_BYTES + 1] = "+";
    struct slots at = slots_for(a.cols);
    bool late = r->call->flags & SLOW_TRACE_LATE, running = r->call->flags & SLOW_TRACE_RUNNING;
    bool error = r->call->flags & SLOW_TRACE_ERROR;
    int indent = (int)(r->depth < 8 ? r->depth : 8), col = a.col;

    indent = indent > at.name - 8 ? at.name - 8 : indent;
    canvas_name(c, row, col + indent, at.name - indent, error ? STYLE_BAD : STYLE_BOLD,
                tier_name(s, r));
    col += at.name + 1;
    if (at.start) {
        us_text(r->start_ns, text + 1);
        canvas_right(c, row, col, at.start, STYLE_DIM, text);
        col += at.start + 1;
    }
    us_text(r->end_ns - r->start_ns, text);
    canvas_right(c, row, col, at.took, STYLE_NORMAL, running ? "running" : text);
    canvas_text(c, row, col + at.took, 1, STYLE_BAD, error ? "!" : "");
    col += at.took + 1;
    if (at.self) {
        us_text(r->self_ns, text);
        canvas_right(c, row, col, at.self, STYLE_NORMAL, text);
        col += at.self + 1;
    }
    if (at.pid) {
        snapshot_pid(r->call->pid, text);
        canvas_text(c, row, col, at.pid, STYLE_NORMAL, text);
    }
    if (late) {
        us_text(r->start_ns - w->whole_ns, text);
        canvas_textf(c, row, a.col + at.bar, a.cols - at.bar, STYLE_DIM, "started %s after the end",
                     text);
    } else if (a.cols - at.bar >= 8) {
        draw_bar(c, row, a.col + at.bar, a.cols - at.bar, w, r);
    }
}

static void draw_titles(struct canvas *c, struct rect a, const struct snapshot *s, size_t at,
                        const struct waterfall *w)
{
    const struct slow_trace_request *r = w->request;
    struct slots sl = slots_for(a.cols);
    char took[FORMAT_BYTES], when[FORMAT_BYTES];

    us_text(w->whole_ns, took);
    format_time(s->slow_traces[at].wall_ns, true, when);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "%s  %s%s  %s  %zu of %zu",
                 snapshot_name(r->ident), took, r->error ? " error" : "", when, at + 1,
                 s->n_slow_traces);
    if (a.rows < 4) {
        return;
    }
    int row = a.row + 1, col = a.col;
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
    canvas_text(c, row, a.col + sl.bar, a.cols - sl.bar, STYLE_DIM,
                c->ascii ? "# self - calls . waits"
                         : "\xe2\x96\x88 self \xe2\x94\x80 calls \xe2\x96\x91 waits");
}

/* ---- what the selected row waited for ---- */

static void draw_gap(struct canvas *c, struct rect a, const struct snapshot *s,
                     const struct waterfall *w, const struct waterfall_gap *g)
{
    const struct waterfall_row *other = &w->row[g->other];
    char took[FORMAT_BYTES], pid[FORMAT_BYTES];
    us_text(g->ns, took);
    snapshot_pid(other->call->pid, pid);
    canvas_textf(c, a.row, a.col + 2, a.cols - 2, STYLE_WARN, "waiting for %s of %s: %s%s",
                 tier_name(s, other), pid, took, g->times > 1 ? ", in several parts" : "");
}

static void draw_detail(struct canvas *c, struct rect a, const struct snapshot *s,
                        const struct waterfall *w, uint32_t at)
{
    char self[FORMAT_BYTES], in[FORMAT_BYTES], pid[FORMAT_BYTES];
    const struct waterfall_row *r = &w->row[at];
    struct waterfall_gap gap[GAPS];
    unsigned flags = r->call->flags;

    us_text(r->self_ns, self);
    us_text(r->inner_ns, in);
    snapshot_pid(r->call->pid, pid);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD,
                 "%s of %s: self %s, in the tiers that it calls %s%s%s", tier_name(s, r), pid, self,
                 in, flags & SLOW_TRACE_ERROR ? "; an exception" : "",
                 flags & SLOW_TRACE_RUNNING ? "; still running"
                 : flags & SLOW_TRACE_ASYNC ? "; ended after the request"
                                            : "");
    a.row++;
    if (at == 0 && w->omitted_ns >= 1000) { /* a smaller sum is a rounding error */
        us_text(w->omitted_ns, self);
        canvas_textf(c, a.row++, a.col + 2, a.cols - 2, STYLE_WARN,
                     "not shown: %s, in %u calls beyond the first %d", self, w->request->omitted,
                     SLOW_TRACE_CALLS);
    }
    size_t n = waterfall_gaps(w, at, gap, GAPS);
    for (size_t i = 0; i < n && i < GAPS; i++, a.row++) {
        draw_gap(c, a, s, w, &gap[i]);
    }
}

/* ---- the screen ---- */

static void draw_lines(struct scroll *at, struct canvas *c, struct rect a, const struct snapshot *s,
                       const struct waterfall *w)
{
    size_t n = lines_of(w);
    scroll_fit(at, n, (size_t)a.rows);
    at->row = a.row;
    for (int i = 0; i < a.rows && at->top + (size_t)i < n; i++) {
        size_t line = at->top + (size_t)i;
        uint32_t row = row_at(w, line);
        if (row == WATERFALL_NIL) {
            canvas_textf(c, a.row + i, a.col, a.cols, STYLE_HEAD,
                         "LATE: %u calls that started after the request ended", w->late);
        } else {
            draw_row(c, a.row + i, a, w, &w->row[row], s);
        }
        if (line == at->sel) {
            int cols = slots_for(a.cols).bar; /* the bar keeps its colors */
            canvas_style(c, a.row + i, a.col, cols < a.cols ? cols : a.cols, STYLE_SELECT);
        }
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct waterfall_state *t = own;
    (void)sh;
    size_t at = s ? slow_list_trace(s, t->id) : 0;
    if (!s || at == s->n_slow_traces) {
        canvas_wrap(
            c, a.row, a.col, a.rows, a.cols, STYLE_DIM,
            "This request was dropped: only the newest slow requests are kept, and the slowest "
            "of each identity.");
        return;
    }
    struct waterfall w;
    waterfall_make(&w, s->slow_traces[at].request);
    int titles = a.rows < 4 ? 1 : 2, under = a.rows >= 10 ? DETAIL_ROWS : 0;
    struct rect list = a, detail = a;
    draw_titles(c, a, s, at, &w);
    list.row += titles;
    list.rows -= titles + under;
    detail.row = list.row + list.rows;
    detail.rows = under;
    if (list.rows > 0) {
        draw_lines(&t->at, c, list, s, &w);
    }
    uint32_t row = row_at(&w, t->at.sel);
    if (under && row != WATERFALL_NIL && row < w.n) {
        draw_detail(c, detail, s, &w, row);
    }
    waterfall_release(&w);
}

/* Offers the functions that the selected call's function calls: where its self time may be. */
static void offer_callees(const struct waterfall_state *t, const struct snapshot *s, size_t at,
                          struct screen_request *to)
{
    struct waterfall w;
    waterfall_make(&w, s->slow_traces[at].request);
    uint32_t row = row_at(&w, t->at.sel);
    if (row != WATERFALL_NIL && row < w.n) {
        *to = (struct screen_request){.to = SCREEN_PICK,
                                      .trace = t->id,
                                      .tier = w.row[row].call->tier,
                                      .name = tier_name(s, &w.row[row]),
                                      .called_by = true};
    }
    waterfall_release(&w);
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct waterfall_state *t = own;
    (void)key;
    size_t at = s ? slow_list_trace(s, t->id) : 0;
    switch (act) {
    case ACT_NEXT:
    case ACT_PREVIOUS:
        if (s) {
            step(t, sh, s, act == ACT_NEXT);
        }
        return true;
    case ACT_BACK:
        out->open.to = SCREEN_SLOW;
        return true;
    default:
        break;
    }
    if (!s || at == s->n_slow_traces) {
        return false;
    }
    if (act == ACT_ADD) {
        offer_callees(t, s, at, &out->open);
        return true;
    }
    const struct slow_trace_request *r = s->slow_traces[at].request;
    bool late = false;
    for (uint32_t i = 0; i < r->n; i++) {
        late = late || r->call[i].flags & SLOW_TRACE_LATE;
    }
    return scroll_key(&t->at, act, r->n + late);
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)sh;
    return &((struct waterfall_state *)own)->at;
}

const struct screen_ops screen_waterfall = {
    .name = "waterfall",
    .context = CTX_WATERFALL,
    .open = open_screen,
    .draw = draw,
    .on_key = on_key,
    .list = list,
};
