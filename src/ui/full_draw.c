#include "full_draw.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <kprof/core/flame.h>
#include <kprof/core/snapshot.h>
#include <stdio.h>
#include <string.h>

static void ns_text(uint64_t ns, char out[FORMAT_BYTES])
{
    format_us((double)ns / 1e3, out);
}

/* --- without a result --- */

static void state_text(const struct full_state *t, char *out, size_t cap)
{
    const struct full_now *n = &t->now;
    char waited[FORMAT_BYTES];
    format_span(n->waited_ns / 1000000000u, waited);
    switch (n->state) {
    case FULL_IDLE:
        snprintf(out, cap,
                 "No full trace yet. x on a row of the table, a slow request, an open call or a "
                 "process traces all calls of the next request, or of the process.");
        break;
    case FULL_ARMED:
        snprintf(out, cap,
                 "Waiting for %s: %s, %" PRIu64 " attempt%s so far. Esc ends it; X leaves this "
                 "screen; the wait goes on.",
                 n->what, waited, n->attempts, n->attempts == 1 ? "" : "s");
        break;
    case FULL_NOT_CAUGHT:
        snprintf(out, cap, "Nothing was traced: %s. Press x to try again.", n->says);
        break;
    default:
        snprintf(out, cap, "%s. Esc ends it.", n->says);
        break;
    }
}

void full_draw_state(const struct full_state *t, struct canvas *c, struct rect a)
{
    char text[1400];
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "FULL TRACE%s%s",
                 t->now.what[0] ? " of " : "", t->now.what);
    state_text(t, text, sizeof text);
    enum style st = t->now.state == FULL_NOT_CAUGHT ? STYLE_WARN
                    : t->now.state == FULL_IDLE     ? STYLE_DIM
                                                    : STYLE_NORMAL;
    int row = a.row + 1 + (a.rows >= 8);
    row += canvas_wrap(c, row, a.col + 1, a.row + a.rows - row, a.cols - 1, st, text);
    if (t->now.state == FULL_ARMED && t->now.attempts) {
        canvas_wrap(
            c, row, a.col + 1, a.row + a.rows - row, a.cols - 1, STYLE_DIM,
            "Attempt: a request that was traced, but was too fast or had another identity.");
    } else if (t->now.state == FULL_ARMED) {
        canvas_textf(c, row, a.col + 1, a.cols - 1, STYLE_DIM,
                     "%" PRIu64 " functions have a trace pattern.", t->now.functions);
    }
}

/* --- the tree --- */

struct slots {
    int total, own, calls, share, name; /* widths; 0: not shown */
};

static struct slots slots_for(int cols)
{
    struct slots w = {.total = 7, .own = cols >= 50 ? 7 : 0, .calls = cols >= 34 ? 7 : 0};
    w.share = cols >= 66 ? 6 : 0;
    w.name = w.total + 1 + (w.own ? w.own + 1 : 0) + (w.calls ? w.calls + 1 : 0) +
             (w.share ? w.share + 1 : 0);
    return w;
}

static int cell(struct canvas *c, int row, int col, int cols, enum style st, const char *text)
{
    if (cols) {
        canvas_right(c, row, col, cols, st, text);
    }
    return cols ? col + cols + 1 : col;
}

static void draw_heads(const struct full_tree *t, struct canvas *c, int row, struct rect a)
{
    static const enum full_order by[] = {FULL_ORDER_TOTAL, FULL_ORDER_OWN, FULL_ORDER_CALLS};
    static const char *const title[] = {"TOTAL", "SELF", "CALLS"};
    struct slots w = slots_for(a.cols);
    const int width[] = {w.total, w.own, w.calls};
    int col = a.col;
    canvas_fill(c, row, a.col, a.cols, STYLE_HEAD, ' ');
    for (int i = 0; i < 3; i++) {
        enum style st = t->order == by[i] ? STYLE_SELECT : STYLE_HEAD;
        col = cell(c, row, col, width[i], st, title[i]);
    }
    cell(c, row, col, w.share, STYLE_HEAD, "SHARE");
    canvas_text(c, row, a.col + w.name, a.cols - w.name, STYLE_HEAD, "FUNCTION");
}

static void node_name(const struct call_tree *t, const struct call_node *n, struct buf *out)
{
    char pid[SNAPSHOT_PID_BYTES];
    if (n->kind == CALL_NODE_PROCESS) {
        snapshot_pid(n->pid, pid);
        buf_addf(out, "process %s", pid);
    } else {
        flame_frame_text(out, call_tree_profile(t), n->frame, false);
    }
}

static double share_of(const struct full_tree *t, uint64_t ns)
{
    uint64_t all = call_tree_node(t->tree, 0)->total_ns;
    return all ? (double)ns / (double)all : 0;
}

static void draw_node(const struct full_tree *t, struct canvas *c, int row, struct rect a,
                      uint32_t node)
{
    const struct call_node *n = call_tree_node(t->tree, node);
    struct slots w = slots_for(a.cols);
    char text[FORMAT_BYTES];
    struct buf name;
    int room = a.cols - w.name, deep = (int)n->depth - 1, col = a.col;
    int indent = deep < room / 2 ? deep : room / 2;
    bool process = n->kind == CALL_NODE_PROCESS, wait = n->kind != CALL_NODE_FUNCTION && !process;
    ns_text(n->total_ns, text);
    col = cell(c, row, col, w.total, STYLE_NORMAL, text);
    ns_text(n->own_ns, text);
    col = cell(c, row, col, w.own, n->own_ns ? STYLE_NORMAL : STYLE_DIM, text);
    format_count(n->calls, text);
    col = cell(c, row, col, w.calls, STYLE_NORMAL, text);
    format_share(share_of(t, n->total_ns), text);
    cell(c, row, col, w.share, STYLE_DIM, text);
    col = a.col + w.name + indent;
    if (full_tree_has_children(t, node)) {
        const char *open = c->ascii ? "-" : "\xe2\x96\xbe", *shut = c->ascii ? "+" : "\xe2\x96\xb8";
        canvas_text(c, row, col, 1, STYLE_DIM, t->open[node] ? open : shut);
    }
    buf_init(&name, 0);
    node_name(t->tree, n, &name);
    canvas_name(c, row, col + 2, a.col + a.cols - col - 2,
                process         ? STYLE_BOLD
                : n->exceptions ? STYLE_BAD
                : wait          ? STYLE_WARN
                                : STYLE_NORMAL,
                name.data);
    buf_release(&name);
}

static const char *counted(const struct call_node *n)
{
    bool one = n->calls == 1;
    switch (n->kind) {
    case CALL_NODE_FUNCTION:
        return one ? "call" : "calls";
    case CALL_NODE_SLEEP:
        return one ? "wait" : "waits";
    case CALL_NODE_GC:
        return one ? "collection" : "collections";
    case CALL_NODE_PROCESS:
        break;
    }
    return one ? "time" : "times";
}

static void draw_info(const struct full_state *t, struct canvas *c, struct rect a)
{
    const struct call_node *n = call_tree_node(t->call_tree, t->tree.line[t->at.sel]);
    char total[FORMAT_BYTES], own[FORMAT_BYTES], share[FORMAT_BYTES], calls[FORMAT_BYTES];
    struct buf name;
    ns_text(n->total_ns, total);
    ns_text(n->own_ns, own);
    format_share(share_of(&t->tree, n->total_ns), share);
    format_count(n->calls, calls);
    int col = canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD, "%s %s, self %s, %s %s%s  ", total,
                           share, own, calls, counted(n), n->exceptions ? ", exception" : "");
    buf_init(&name, 0);
    node_name(t->call_tree, n, &name);
    canvas_name(c, a.row, a.col + col, a.cols - col, STYLE_NORMAL, name.data);
    buf_release(&name);
}

/* The processes of the trace. */
static unsigned processes(const struct call_tree *t)
{
    unsigned n = 0;
    for (uint32_t i = call_tree_node(t, 0)->first_child; i; i = call_tree_node(t, i)->next) {
        n++;
    }
    return n;
}

void full_draw_title(const struct full_state *t, struct canvas *c, struct rect a, const char *what,
                     const char *more)
{
    char total[FORMAT_BYTES], in[40] = "";
    const char *hidden = full_state_hidden(t);
    unsigned n = processes(t->call_tree);
    ns_text(call_tree_node(t->call_tree, 0)->total_ns, total);
    if (n > 1) { /* they may have run at the same time, so it is not the duration of the request */
        snprintf(in, sizeof in, " in %u processes", n);
    }
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "%s of %s  %s%s, %" PRIu64 " events%s%s%s%s",
                 what, t->of.what, total, in, call_tree_counts(t->call_tree)->events,
                 hidden[0] ? ", " : "", hidden, more[0] ? ", " : "", more);
}

void full_draw_tree(struct full_state *t, struct canvas *c, struct rect a)
{
    bool says = t->now.state != FULL_IDLE && a.rows >= 12;
    struct rect lines = a;
    full_draw_title(t, c, a, "CALL TREE", "");
    int heads = a.rows >= 4, info = a.rows >= 6;
    lines.row += 1 + heads;
    lines.rows -= 1 + heads + info + says;
    if (heads) {
        draw_heads(&t->tree, c, a.row + 1, a);
    }
    lines.rows = lines.rows > 0 ? lines.rows : 0;
    scroll_fit(&t->at, t->tree.n, (size_t)lines.rows);
    t->at.row = lines.row;
    for (int i = 0; i < lines.rows && t->at.top + (size_t)i < t->tree.n; i++) {
        size_t at = t->at.top + (size_t)i;
        draw_node(&t->tree, c, lines.row + i, a, t->tree.line[at]);
        if (at == t->at.sel) {
            canvas_style(c, lines.row + i, a.col, a.cols, STYLE_SELECT);
        }
    }
    int row = a.row + a.rows - info - says;
    if (says) {
        canvas_textf(c, row, a.col, a.cols, t->now.hint[0] ? STYLE_WARN : STYLE_DIM, "%s%s%s",
                     t->now.says, t->now.hint[0] ? "; " : "", t->now.hint);
    }
    if (info) {
        draw_info(t, c, (struct rect){a.row + a.rows - 1, a.col, 1, a.cols});
    }
}
