#include "waterfall_parts.h"
#include "part_bar.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/core/call_parts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 16, TEXT_BYTES = 400, SELF_COLS = 60 };

static uint32_t call_of(const struct waterfall *w, const struct waterfall_row *r)
{
    return (uint32_t)(r->call - w->request->call);
}

bool waterfall_parts_there(const struct waterfall *w, const struct waterfall_row *r)
{
    const struct time_part_piece *first;
    return call_parts_pieces(w->request, call_of(w, r), &first) > 0;
}

/* ---- bars ---- */

/* A time of the node on the axis, in ns from the start of the request. */
static double on_axis(const struct waterfall *w, uint64_t ns)
{
    uint64_t start = w->request->start_ns, at = ns > start ? ns - start : 0;
    return (double)(at < w->whole_ns ? at : w->whole_ns);
}

bool waterfall_parts_bar(struct canvas *c, int row, int col, int cols, const struct waterfall *w,
                         const struct waterfall_row *r)
{
    const struct time_part_piece *p;
    size_t n = call_parts_pieces(w->request, call_of(w, r), &p);
    if (n == 0 || w->whole_ns == 0 || r->start_ns >= w->whole_ns || r->end_ns == r->start_ns) {
        return false;
    }
    struct part_span *span = calloc(n + 2, sizeof *span);
    if (!span) {
        abort();
    }
    span[0] = (struct part_span){on_axis(w, p[0].from_ns), PART_NONE};
    for (size_t i = 0; i < n; i++) {
        span[i + 1] = (struct part_span){on_axis(w, p[i].to_ns) - on_axis(w, p[i].from_ns),
                                         (int)call_parts_part(&p[i])};
    }
    span[n + 1] = (struct part_span){(double)w->whole_ns - on_axis(w, p[n - 1].to_ns), PART_NONE};
    part_bar_draw(c, row, col, cols, span, n + 2);
    free(span);
    return true;
}

void waterfall_parts_legend(struct canvas *c, struct rect a, const struct waterfall *w)
{
    unsigned mask = 0;
    for (uint32_t i = 0; i < w->request->n_pieces; i++) {
        mask |= 1u << call_parts_part(&w->request->piece[i]);
    }
    part_bar_legend(c, a.row, a.col, a.cols, mask);
}

/* ---- the list ---- */

static const char *tier_name(const struct snapshot *s, const struct slow_trace_call *call)
{
    return call->tier < s->n_tier_names ? s->tier_names[call->tier] : "?";
}

/* "<0.87.0> (kv_server)"; tier: that of the call in that process that the piece waits for; NULL:
 * none. */
static void name_process(const struct snapshot *s, const struct slow_trace_request *r, uint64_t pid,
                         uint64_t from_ns, char *out, size_t cap, const char **tier)
{
    char text[SNAPSHOT_PID_BYTES];
    const struct slow_trace_call *callee = call_parts_callee(r, pid, from_ns);
    const char *who = snapshot_slow_who(s, r->id, pid);
    snapshot_pid(pid, text);
    snprintf(out, cap, "%s%s%.60s%s", text, who ? " (" : "", who ? who : "", who ? ")" : "");
    *tier = callee ? tier_name(s, callee) : NULL;
}

/* The text of the line after the part, its time and its share. */
static void describe(const struct snapshot *s, const struct waterfall *w,
                     const struct waterfall_row *r, const struct call_part *k, char *out)
{
    char other[120] = "", tier[80] = "", queue[40] = "", what[PART_WHAT_BYTES + 8] = "",
         times[32] = "";
    const char *name = NULL;
    if (k->other) {
        name_process(s, w->request, k->other, r->call->start_ns, other, sizeof other, &name);
    }
    if (name) {
        snprintf(tier, sizeof tier, ", tier %.60s", name);
    }
    if (k->what) {
        snprintf(what, sizeof what, "%s%.*s", k->part == PART_WAIT ? ", in " : "",
                 PART_WHAT_BYTES - 1, k->what);
    }
    if (k->queue) {
        snprintf(queue, sizeof queue, ", mailbox of %" PRIu32 " messages", k->queue - 1);
    }
    if (k->times > 1) {
        snprintf(times, sizeof times, ", %" PRIu32 " times", k->times);
    }
    switch (k->part) {
    case PART_WAIT:
        snprintf(out, TEXT_BYTES, "for %s%s%s%s%s", other[0] ? other : "a message", queue, tier,
                 what, times);
        return;
    case PART_MAILBOX:
        snprintf(out, TEXT_BYTES, "of %s%s%s%s", other[0] ? other : "another process", queue, tier,
                 times);
        return;
    default:
        snprintf(out, TEXT_BYTES, "%s%s", what, what[0] ? times : times[0] ? times + 2 : "");
        return;
    }
}

static void draw_line(struct canvas *c, struct rect a, uint64_t whole_ns, uint64_t ns,
                      const char *text)
{
    char took[FORMAT_BYTES], share[FORMAT_BYTES];
    format_us((double)ns / 1e3, took);
    format_share(whole_ns ? (double)ns / (double)whole_ns : 0, share);
    canvas_right(c, a.row, a.col + 12, 8, STYLE_NORMAL, took);
    canvas_right(c, a.row, a.col + 20, 7, STYLE_DIM, share);
    canvas_text(c, a.row, a.col + 29, a.cols - 29, STYLE_NORMAL, text);
}

static void draw_title(struct canvas *c, struct rect a, const struct snapshot *s,
                       const struct waterfall_row *r, uint64_t whole_ns)
{
    char took[FORMAT_BYTES], self[FORMAT_BYTES], pid[SNAPSHOT_PID_BYTES];
    unsigned flags = r->call->flags;
    format_us((double)whole_ns / 1e3, took);
    format_us((double)r->self_ns / 1e3, self);
    snapshot_pid(r->call->pid, pid);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int col = canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "%s of %s: %s",
                           tier_name(s, r->call), pid, took);
    if (a.cols >= SELF_COLS) {
        canvas_textf(c, a.row, a.col + col, a.cols - col, STYLE_HEAD, ", self %s%s%s", self,
                     flags & SLOW_TRACE_ERROR ? "; an exception" : "",
                     flags & SLOW_TRACE_RUNNING ? "; still running"
                     : flags & SLOW_TRACE_ASYNC ? "; ended after the request"
                                                : "");
    }
}

void waterfall_parts_list(struct canvas *c, struct rect a, const struct snapshot *s,
                          const struct waterfall *w, const struct waterfall_row *r)
{
    struct call_part list[LINES_MAX];
    struct time_parts sum;
    char text[TEXT_BYTES];
    uint64_t whole = 0, rest_ns = 0;
    uint32_t call = call_of(w, r);
    call_parts_sum(w->request, call, &sum);
    for (int p = 0; p < PART_COUNT; p++) {
        whole += sum.ns[p];
    }
    draw_title(c, a, s, r, whole);
    size_t room = a.rows > 1 ? (size_t)a.rows - 1 : 0;
    room = room < LINES_MAX ? room : LINES_MAX;
    size_t n = call_parts_list(w->request, call, list, room, &rest_ns);
    if (n > room && room > 0) { /* one line for those that do not fit */
        n = call_parts_list(w->request, call, list, room - 1, &rest_ns);
    }
    size_t shown = n > room ? room - (room > 0) : n;
    for (size_t i = 0; i < shown; i++) {
        a.row++;
        part_bar_legend(c, a.row, a.col + 1, a.cols - 1, 1u << list[i].part);
        describe(s, w, r, &list[i], text);
        draw_line(c, a, whole, list[i].ns, text);
    }
    if (shown < n && room > 0) {
        a.row++;
        snprintf(text, sizeof text, "%zu more", n - shown);
        draw_line(c, a, whole, rest_ns, text);
    }
}
