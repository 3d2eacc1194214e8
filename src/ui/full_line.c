#include "full_line.h"
#include "flame_draw.h"
#include "full_draw.h"
#include "full_keys.h"
#include "full_line_cells.h"
#include "shared.h"

#include <kprof/base/format.h>
#include <kprof/base/must.h>
#include <kprof/base/text.h>
#include <kprof/core/flame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZOOM = 4, NAME = 14, LANES = 64 };
#define LEAST_NS 1000u /* the shortest part that can be in sight */

/* --- the part in sight --- */

static void whole(const struct full_state *t, uint64_t *from, uint64_t *to)
{
    const struct call_tree_counts *n = call_tree_counts(t->call_tree);
    *from = n->first_ns;
    *to = n->last_ns > n->first_ns ? n->last_ns : n->first_ns + 1;
}

static struct full_axis axis(const struct full_state *t, int cols)
{
    struct full_axis x = {.cols = cols > 0 ? cols : 1};
    whole(t, &x.from_ns, &x.to_ns);
    if (t->line.to_ns) {
        x.from_ns = t->line.from_ns;
        x.to_ns = t->line.to_ns;
    }
    return x;
}

/* Keeps the width, as far as the trace reaches. */
static void look_at(struct full_state *t, uint64_t from, uint64_t width)
{
    uint64_t first, last;
    whole(t, &first, &last);
    if (width >= last - first) {
        t->line.from_ns = t->line.to_ns = 0;
        return;
    }
    from = from < first ? first : from;
    from = from > last - width ? last - width : from;
    t->line.from_ns = from;
    t->line.to_ns = from + width;
}

static uint64_t cursor(const struct full_state *t)
{
    uint64_t first, last;
    whole(t, &first, &last);
    return t->line.has_cursor ? t->line.cursor_ns : first;
}

/* Brings the cursor into sight. */
static void set_cursor(struct full_state *t, uint64_t ns)
{
    struct full_axis x = axis(t, 1);
    uint64_t first, last, width = x.to_ns - x.from_ns;
    whole(t, &first, &last);
    ns = ns < first ? first : ns >= last ? last - 1 : ns;
    t->line.cursor_ns = ns;
    t->line.has_cursor = true;
    if (t->line.to_ns && (ns < x.from_ns || ns >= x.to_ns)) {
        look_at(t, ns > width / 2 ? ns - width / 2 : 0, width);
    }
}

static bool zoom(struct full_state *t, bool in)
{
    struct full_axis x = axis(t, 1);
    uint64_t width = x.to_ns - x.from_ns, at = cursor(t);
    if (in ? width / ZOOM < LEAST_NS : !t->line.to_ns) {
        return false;
    }
    double part = (double)(at - x.from_ns) / (double)width;
    uint64_t now = in ? width / ZOOM : width * ZOOM, before = (uint64_t)(part * (double)now);
    look_at(t, at > before ? at - before : 0, now);
    return true;
}

/* --- processes --- */

/* Of the tree, in the order of their first events. */
static size_t processes(const struct full_state *t, uint64_t *pid, size_t cap, size_t *sel)
{
    size_t n = 0;
    *sel = 0;
    for (uint32_t i = call_tree_node(t->call_tree, 0)->first_child; i && n < cap;
         i = call_tree_node(t->call_tree, i)->next) {
        pid[n] = call_tree_node(t->call_tree, i)->pid;
        *sel = pid[n] == t->line.pid ? n : *sel;
        n++;
    }
    return n;
}

static void select_process(struct full_state *t, int by, struct message *m)
{
    uint64_t *pid = must(calloc(CALL_TREE_PROCESSES_MAX, sizeof *pid));
    size_t sel, n = processes(t, pid, CALL_TREE_PROCESSES_MAX, &sel);
    if ((by < 0 && sel == 0) || (by > 0 && sel + 1 >= n)) {
        message_set(m, n < 2 ? "there is one process only" : "there is no other process", true);
    } else {
        t->line.pid = pid[by < 0 ? sel - 1 : sel + 1];
        t->line.top = 0;
    }
    free(pid);
}

/* --- drawing --- */

static void draw_lane(struct canvas *c, int row, int col, const struct full_cell *cell, int cols)
{
    static const char *const mark[FULL_CELL_KINDS] = {"\xe2\x96\x88", "\xe2\x96\x91",
                                                      "\xe2\x96\x92"};
    static const char *const ascii[FULL_CELL_KINDS] = {"#", ".", "g"};
    static const enum style style[FULL_CELL_KINDS] = {STYLE_GOOD, STYLE_WARN, STYLE_BAD};
    for (int i = 0; i < cols; i++) {
        const uint64_t *ns = cell[i].ns;
        unsigned k = FULL_CELL_RUNS;
        for (unsigned j = 1; j < FULL_CELL_KINDS; j++) {
            k = ns[j] > ns[k] ? j : k;
        }
        if (ns[k]) {
            canvas_text(c, row, col + i, 1, style[k], c->ascii ? ascii[k] : mark[k]);
        }
    }
}

/* The stack up to a depth, 1 is the outermost frame; 0: it is not that deep. */
static uint32_t stack_at(const struct stack_profile *p, uint32_t stack, size_t depth)
{
    size_t n = 0;
    for (uint32_t i = stack; i; i = stack_profile_caller(p, i)) {
        n++;
    }
    for (; n > depth; n--) {
        stack = stack_profile_caller(p, stack);
    }
    return n == depth ? stack : 0;
}

static void draw_box(struct canvas *c, int row, int col, int cols, const struct stack_profile *p,
                     uint32_t stack)
{
    struct buf name;
    buf_init(&name, 0);
    flame_frame_text(&name, p, stack_profile_leaf(p, stack), false);
    flame_draw_frame(c, row, col, cols, name.data);
    buf_release(&name);
}

/* A row of calls: columns in which the same call has most of the time are one box. */
static void draw_depth(struct canvas *c, int row, int col, const struct stack_profile *p,
                       const struct full_cell *cell, int cols, size_t depth)
{
    for (int from = 0; from < cols;) {
        uint32_t stack = stack_at(p, cell[from].stack, depth);
        int to = from + 1;
        while (to < cols && stack_at(p, cell[to].stack, depth) == stack) {
            to++;
        }
        if (stack) {
            draw_box(c, row, col + from, to - from, p, stack);
        }
        from = to;
    }
}

static void draw_axis(const struct full_state *t, struct canvas *c, int row, int col,
                      const struct full_axis *x)
{
    uint64_t first, last;
    char from[FORMAT_BYTES], to[FORMAT_BYTES];
    whole(t, &first, &last);
    format_us((double)(x->from_ns - first) / 1e3, from);
    format_us((double)(x->to_ns - first) / 1e3, to);
    int at = full_axis_col(x, cursor(t)), left = at < (int)strlen(from) + 2 ? at + 2 : 0;
    int end = (int)strlen(to) + 1, right = x->cols - end;
    right = at >= right ? at - end - 1 : right;
    canvas_textf(c, row, col + left, x->cols - left, STYLE_DIM, "+%s", from);
    canvas_textf(c, row, col + right, end, STYLE_DIM, "+%s", to);
    canvas_text(c, row, col + at, 1, STYLE_SELECT, c->ascii ? "^" : "\xe2\x96\xb2");
}

static void draw_cursor_info(const struct full_state *t, struct canvas *c, struct rect a,
                             uint64_t pid)
{
    uint64_t first, last, at = cursor(t);
    const struct stack_view *v = t->flame.view;
    const struct stack_sample *s = full_line_at(v, pid, at);
    char since[FORMAT_BYTES], took[FORMAT_BYTES];
    struct buf name;
    whole(t, &first, &last);
    format_us((double)(at - first) / 1e3, since);
    if (!s) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_DIM, "+%s: not traced here", since);
        return;
    }
    format_us((double)s->weight / 1e3, took);
    buf_init(&name, 0);
    flame_frame_text(&name, stack_view_profile(v),
                     stack_profile_leaf(stack_view_profile(v), s->stack), false);
    int n = canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD, "+%s for %s  ", since, took);
    canvas_name(c, a.row, a.col + n, a.cols - n, STYLE_NORMAL, name.data);
    buf_release(&name);
}

static uint32_t hidden(const struct full_state *t)
{
    return (t->tree.hide.sleep ? 1u << STACK_WAITING : 0) |
           (t->tree.hide.gc ? 1u << STACK_GARBAGE_COLLECTING : 0);
}

/* Rows: the title, the processes, the axis, the calls of the selected process, the cursor. */
static void draw_result(struct full_state *t, struct canvas *c, struct rect a)
{
    int name = a.cols < 60 ? 0 : NAME, cols = a.cols - name;
    struct full_axis x = axis(t, cols);
    uint64_t *pid = must(calloc(CALL_TREE_PROCESSES_MAX, sizeof *pid));
    size_t sel, n = processes(t, pid, CALL_TREE_PROCESSES_MAX, &sel);
    size_t most = a.rows > 9 ? (size_t)(a.rows - 6) / 3 : 1;
    size_t lanes = n < most ? n : most < LANES ? most : LANES;
    if (sel < t->line.first || sel >= t->line.first + lanes) {
        t->line.first = sel + 1 > lanes ? sel + 1 - lanes : 0;
    }
    if (t->line.first + lanes > n) { /* there is room for more lanes than before */
        t->line.first = n - lanes;
    }
    struct full_cell *cell = must(calloc(lanes * (size_t)cols + 1, sizeof *cell));
    full_line_cells(t->flame.view, &x, pid + t->line.first, lanes, hidden(t), cell);
    t->line.cols = cols;
    for (size_t i = 0; i < lanes; i++) {
        char text[SNAPSHOT_PID_BYTES];
        int row = a.row + 1 + (int)i;
        snapshot_pid(pid[t->line.first + i], text);
        canvas_text(c, row, a.col, name, STYLE_NORMAL, text);
        draw_lane(c, row, a.col + name, cell + i * (size_t)cols, cols);
        if (t->line.first + i == sel) {
            canvas_style(c, row, a.col, name, STYLE_SELECT);
        }
    }
    int row = a.row + 1 + (int)lanes, end = a.row + a.rows - 1;
    draw_axis(t, c, row, a.col + name, &x);
    const struct full_cell *of = cell + (sel - t->line.first) * (size_t)cols;
    for (int i = row + 1; i < end; i++) {
        draw_depth(c, i, a.col + name, stack_view_profile(t->flame.view), of, cols,
                   t->line.top + (size_t)(i - row));
    }
    if (a.rows >= 5) {
        draw_cursor_info(t, c, (struct rect){end, a.col, 1, a.cols}, pid[sel]);
    }
    free(cell);
    free(pid);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct full_state *t = own;
    (void)sh;
    (void)s;
    if (!t->tree.n || a.cols < 8 || a.rows < 4) {
        full_draw_state(t, c, a);
        return;
    }
    full_draw_title(t, c, a, "TIMELINE",
                    c->ascii
                        ? "# runs . waits g collects garbage"
                        : "\xe2\x96\x88 runs \xe2\x96\x91 waits \xe2\x96\x92 collects garbage");
    draw_result(t, c, a);
}

/* --- keys --- */

static void step(struct full_state *t, int by)
{
    struct full_axis x = axis(t, t->line.cols);
    uint64_t width = (x.to_ns - x.from_ns) / (unsigned)x.cols, at = cursor(t);
    width = width ? width : 1;
    set_cursor(t, by > 0 ? at + width : at > width ? at - width : 0);
}

static bool on_line(struct full_state *t, struct ui_shared *sh, enum action act)
{
    uint64_t first, last;
    whole(t, &first, &last);
    switch (act) {
    case ACT_LEFT:
    case ACT_RIGHT:
        step(t, act == ACT_RIGHT ? 1 : -1);
        return true;
    case ACT_HOME:
    case ACT_END:
        set_cursor(t, act == ACT_END ? last : first);
        return true;
    case ACT_UP:
    case ACT_DOWN:
        select_process(t, act == ACT_DOWN ? 1 : -1, &sh->message);
        return true;
    case ACT_PGUP:
    case ACT_PGDN:
        t->line.top = act == ACT_PGDN ? t->line.top + 5 : t->line.top > 5 ? t->line.top - 5 : 0;
        return true;
    case ACT_FINER:
    case ACT_COARSER:
        if (!zoom(t, act == ACT_FINER)) {
            message_set(&sh->message,
                        act == ACT_FINER ? "the timeline cannot be finer"
                                         : "the whole trace is in sight",
                        true);
        }
        return true;
    default:
        return false;
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct full_state *t = own;
    (void)key;
    (void)s;
    return full_keys(t, sh, act, "kprof-top-trace.trace.json", out) ||
           (t->tree.n && on_line(t, sh, act));
}

const struct screen_ops screen_full_line = {
    .name = "timeline of a full trace",
    .context = CTX_FULL_LINE,
    .draw = draw,
    .on_key = on_key,
};
