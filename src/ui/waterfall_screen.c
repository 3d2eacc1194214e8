#include "waterfall_screen.h"
#include "shared.h"
#include "vm_lane.h"
#include "waterfall_parts.h"
#include "waterfall_rows.h"

#include <kprof/base/format.h>
#include <kprof/core/waterfall.h>
#include <stdio.h>
#include <string.h>

enum { WAITS = 2, DETAIL_ROWS = 1 + WAITS };

/* ---- the request ---- */

static void show_request(struct waterfall_state *t, uint64_t id)
{
    t->id = id;
    t->at = (struct scroll){0};
}

static void open_screen(void *own, const struct screen_request *r, struct intent *out)
{
    (void)out;
    show_request(own, r->trace);
}

void waterfall_screen_release(struct waterfall_state *t)
{
    slow_trace_unref(t->kept.request);
    t->kept = (struct snap_slow_trace){0};
}

/* A snapshot that has the request: s itself, or room with the kept one. NULL: it is not known. */
static const struct snapshot *with_request(struct waterfall_state *t, const struct snapshot *s,
                                           struct snapshot *room)
{
    size_t at = s ? slow_list_trace(s, t->id) : 0;

    if (s && at < s->n_slow_traces) {
        const struct snap_slow_trace *now = &s->slow_traces[at];
        const struct slow_trace_request *r = slow_trace_ref(now->request);
        waterfall_screen_release(t);
        t->kept = (struct snap_slow_trace){.request = r, .wall_ns = now->wall_ns};
        return s;
    }
    if (!s || !t->kept.request || t->kept.request->id != t->id) {
        return NULL;
    }
    *room = *s;
    room->slow_traces = &t->kept;
    room->n_slow_traces = 1;
    return room;
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
            show_request(t, w->trace);
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

static bool has_mailbox(const struct waterfall *w)
{
    for (uint32_t i = 0; i < w->n - w->late; i++) {
        if (w->row[i].call->flags & SLOW_TRACE_MAILBOX) {
            return true;
        }
    }
    return false;
}

/* Every bar shows the parts of its time; so no bar shows self time, calls or waits. */
static bool all_parts(const struct waterfall *w)
{
    for (uint32_t i = 0; i < w->n - w->late; i++) {
        if (!waterfall_parts_there(w, &w->row[i])) {
            return false;
        }
    }
    return w->n > w->late;
}

static void draw_titles(struct canvas *c, struct rect a, const struct snapshot *s, size_t at,
                        bool kept, const struct waterfall *w)
{
    const struct slow_trace_request *r = w->request;
    char took[FORMAT_BYTES], when[FORMAT_BYTES];

    waterfall_rows_duration(w->whole_ns, took);
    format_time(s->slow_traces[at].wall_ns, true, when);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int used = canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "%s  %s%s  %s  ",
                            snapshot_name(r->ident), took, r->error ? " error" : "", when);
    if (kept) {
        canvas_text(c, a.row, a.col + used, a.cols - used, STYLE_HEAD,
                    "no longer stored: visible until you leave this screen");
    } else {
        canvas_textf(c, a.row, a.col + used, a.cols - used, STYLE_HEAD, "%zu of %zu", at + 1,
                     s->n_slow_traces);
    }
    if (a.rows < 4) {
        return;
    }
    int row = a.row + 1, bar = waterfall_rows_bar(a.cols);
    waterfall_rows_titles(c, row, a);
    if (all_parts(w)) {
        return; /* a line of its own explains the bars */
    }
    canvas_textf(c, row, a.col + bar, a.cols - bar, STYLE_DIM, "%s%s",
                 c->ascii ? "# self - calls . waits"
                          : "\xe2\x96\x88 self \xe2\x94\x80 calls \xe2\x96\x91 waits",
                 !has_mailbox(w) ? ""
                 : c->ascii      ? " m mailbox"
                                 : " \xe2\x94\x84 mailbox");
}

/* ---- what the selected row waited for ---- */

static void draw_wait(struct canvas *c, struct rect a, const struct snapshot *s,
                      const struct waterfall *w, const struct waterfall_wait *g)
{
    const struct waterfall_row *other = &w->row[g->other];
    char took[FORMAT_BYTES], pid[FORMAT_BYTES];
    waterfall_rows_duration(g->ns, took);
    snapshot_pid(other->call->pid, pid);
    canvas_textf(c, a.row, a.col + 2, a.cols - 2, STYLE_WARN, "waiting for %s of %s: %s%s",
                 waterfall_rows_tier(s, other), pid, took,
                 g->times > 1 ? ", in several parts" : "");
}

static const struct snap_slow *slow_of(const struct snapshot *s, uint64_t id)
{
    for (size_t i = 0; i < s->n_slow; i++) {
        if (s->slow[i].trace == id) {
            return &s->slow[i];
        }
    }
    return NULL;
}

static void draw_detail(struct canvas *c, struct rect a, const struct snapshot *s,
                        const struct waterfall *w, uint32_t at)
{
    char self[FORMAT_BYTES], in[FORMAT_BYTES], pid[FORMAT_BYTES];
    const struct waterfall_row *r = &w->row[at];
    struct waterfall_wait waits[WAITS];
    unsigned flags = r->call->flags;
    int end = a.row + a.rows;

    waterfall_rows_duration(r->self_ns, self);
    waterfall_rows_duration(r->inner_ns, in);
    snapshot_pid(r->call->pid, pid);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD,
                 "%s of %s: self %s, %s in the tiers that it calls%s%s", waterfall_rows_tier(s, r),
                 pid, self, in, flags & SLOW_TRACE_ERROR ? "; an exception" : "",
                 flags & SLOW_TRACE_RUNNING ? "; still running"
                 : flags & SLOW_TRACE_ASYNC ? "; ended after the request"
                                            : "");
    a.row++;
    if (at == 0 && w->omitted_ns >= 1000) { /* a smaller sum is a rounding error */
        waterfall_rows_duration(w->omitted_ns, self);
        canvas_textf(c, a.row++, a.col + 2, a.cols - 2, STYLE_WARN,
                     "not shown: %s, in %u calls beyond the first %d", self, w->request->omitted,
                     SLOW_TRACE_CALLS);
    }
    const struct snap_slow *of = at == 0 ? slow_of(s, w->request->id) : NULL;
    if (of && of->n_places) {
        canvas_textf(c, a.row++, a.col + 2, a.cols - 2, STYLE_WARN,
                     "polled %u times while it was open: %.0f %% %s in %s", of->polls,
                     of->places[0].share * 100, of->places[0].status, of->places[0].text);
    }
    if (flags & SLOW_TRACE_MAILBOX) {
        waterfall_rows_duration((uint64_t)r->call->mailbox_us * 1000, self);
        canvas_textf(c, a.row++, a.col + 2, a.cols - 2, STYLE_WARN,
                     "before it began: %s in the mailbox of %s", self, pid);
    }
    size_t n = waterfall_waits(w, at, waits, WAITS);
    for (size_t i = 0; i < n && i < WAITS && a.row < end; i++, a.row++) {
        draw_wait(c, a, s, w, &waits[i]);
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
            waterfall_rows_draw(c, a.row + i, a, w, &w->row[row], s);
        }
        if (line == at->sel) {
            int cols = waterfall_rows_bar(a.cols); /* the bar keeps its colors */
            canvas_style(c, a.row + i, a.col, cols < a.cols ? cols : a.cols, STYLE_SELECT);
        }
    }
}

/* ---- the lane of VM events ---- */

/* The VM events during the request. */
static struct vm_lane lane_of(const struct snapshot *s, const struct snap_slow_trace *t, int cols)
{
    uint64_t whole_ns = t->request->end_ns - t->request->start_ns;
    return (struct vm_lane){
        .s = s, .from_ns = t->wall_ns, .to_ns = t->wall_ns + whole_ns + 1, .cols = cols};
}

static int lane_cols(int cols)
{
    int bar = cols - waterfall_rows_bar(cols);
    return bar >= 8 ? bar : 8;
}

static const struct snap_vm_event *event_of(const struct vm_lane *l, uint64_t id)
{
    const struct snap_vm_event *e = vm_lane_find(l, id), *best = NULL;
    if (e) {
        return e;
    }
    while ((e = vm_lane_next(l, e, false))) {
        best = !best || e->kind < best->kind ? e : best;
    }
    return best;
}

/* Draws two rows: the lane under the bars, and the selected event. */
static void draw_lane(const struct waterfall_state *t, struct canvas *c, struct rect a,
                      const struct vm_lane *l)
{
    const struct snap_vm_event *e = event_of(l, t->event);
    int bar = waterfall_rows_bar(a.cols), cell = vm_lane_cell(l, e);
    bar = a.cols - bar >= 8 ? bar : a.cols - 8;
    canvas_text(c, a.row, a.col, bar - 1, STYLE_DIM, "VM events");
    vm_lane_draw(l, c, a.row, a.col + bar, cell);
    vm_lane_say(l, c, a.row + 1, a.col + 2, a.cols - 2, cell, e);
}

static void step_event(struct waterfall_state *t, struct message *say, const struct snapshot *s,
                       const struct snap_slow_trace *of, bool later)
{
    struct vm_lane l = lane_of(s, of, 8);
    const struct snap_vm_event *e = event_of(&l, t->event),
                               *next = e ? vm_lane_next(&l, e, later) : NULL;
    if (next) {
        t->event = next->id;
    } else {
        message_set(say,
                    !e      ? vm_lane_none(s)
                    : later ? "no later VM event during this request"
                            : "no earlier VM event during this request",
                    false);
    }
}

/* Lines about the selected row; the parts of its time take a third of the screen. */
static int detail_rows(int rows, bool parts)
{
    if (!parts) {
        return rows >= 10 ? DETAIL_ROWS : 0;
    }
    int third = rows / 3;
    return rows < 8 ? 0 : third > PART_COUNT + 1 ? PART_COUNT + 1 : third;
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct waterfall_state *t = own;
    (void)sh;
    struct snapshot room;
    const struct snapshot *now = s;
    s = with_request(t, now, &room);
    if (!s) {
        canvas_wrap(
            c, a.row, a.col, a.rows, a.cols, STYLE_DIM,
            "This request was dropped: only the newest slow requests are kept, and the slowest "
            "of each identity.");
        return;
    }
    struct waterfall w;
    size_t at = slow_list_trace(s, t->id);
    waterfall_make(&w, s->slow_traces[at].request);
    bool parts = w.request->n_pieces > 0;
    int titles = a.rows < 4 ? 1 : parts && a.rows >= 8 ? 3 : 2, under = detail_rows(a.rows, parts);
    struct vm_lane lane = lane_of(s, &s->slow_traces[at], lane_cols(a.cols));
    int events = a.rows >= 6 && vm_lane_any(&lane) ? 2 : 0;
    struct rect list = a, detail = a, legend = a, vm = a;
    under = under && events && a.rows - titles - under - events < 2 ? 0 : under;
    draw_titles(c, a, s, at, s != now, &w);
    if (titles == 3) {
        legend.row += 2;
        waterfall_parts_legend(c, legend, &w);
    }
    list.row += titles;
    list.rows -= titles + under + events;
    vm.row = list.row + list.rows;
    detail.row = vm.row + events;
    detail.rows = under;
    if (list.rows > 0) {
        draw_lines(&t->at, c, list, s, &w);
    }
    if (events) {
        draw_lane(t, c, vm, &lane);
    }
    uint32_t row = row_at(&w, t->at.sel);
    if (under && row != WATERFALL_NIL && row < w.n) {
        if (waterfall_parts_there(&w, &w.row[row])) {
            waterfall_parts_list(c, detail, s, &w, &w.row[row]);
        } else if (under >= DETAIL_ROWS) {
            draw_detail(c, detail, s, &w, row);
        }
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
                                      .name = waterfall_rows_tier(s, &w.row[row]),
                                      .called_by = true};
    }
    waterfall_release(&w);
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct waterfall_state *t = own;
    struct snapshot room;
    (void)key;
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
    s = with_request(t, s, &room);
    if (!s) {
        return false;
    }
    size_t at = slow_list_trace(s, t->id);
    if (act == ACT_ADD) {
        offer_callees(t, s, at, &out->open);
        return true;
    }
    const struct slow_trace_request *r = s->slow_traces[at].request;
    if (act == ACT_EVENT_LATER || act == ACT_EVENT_EARLIER) {
        step_event(t, &sh->message, s, &s->slow_traces[at], act == ACT_EVENT_LATER);
        return true;
    }
    if (act == ACT_FULL) {
        out->full = full_offer_request(s, r->ident, (double)(r->end_ns - r->start_ns) / 1e3);
        out->open = (struct screen_request){.to = SCREEN_FULL_ASK, .full = &out->full};
        return true;
    }
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
