#include "flame_screen_draw.h"
#include "flame_draw.h"
#include "flame_graphs.h"
#include "flame_live.h"
#include "flame_title.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

static void amount(const struct flame *f, uint64_t n, char out[FORMAT_BYTES])
{
    flame_title_amount(out, f->by, f->unit, n);
}

static void add_comparison(struct buf *text, const struct flame_state *t)
{
    if (t->pane[0].graph->compared && t->base_to_ns) {
        buf_adds(text, ", compared in % points with ");
        flame_title_range(text, t->view, t->base_from_ns, t->base_to_ns);
    } else if (t->pane[0].graph->compared) {
        buf_adds(text, ", compared in % points");
    }
}

static void draw_title(const struct flame_state *t, struct canvas *c, struct rect a)
{
    const struct flame *f = t->pane[0].graph;
    const struct flame_width w = {t->query.by, t->query.metric};
    struct buf text;
    buf_init(&text, 0);
    buf_adds(&text, t->sandwich ? "CALLERS AND CALLEES" : "FLAME GRAPH");
    if (f) {
        char total[FORMAT_BYTES];
        amount(f, f->node[0].total, total);
        buf_addf(&text, "  %s %s", total, flame_title_is_time(f->by, f->unit) ? "of " : "");
        flame_width_text(&text, &w, f->unit);
        flame_title_filter(&text, t, true);
        if (t->query.group != FLAME_UNGROUPED) {
            buf_addf(&text, ", by %s", flame_group_name(t->query.group));
        }
        buf_adds(&text, t->query.fold_recursion ? ", recursion folded" : "");
        buf_adds(&text, t->query.lines ? ", lines" : "");
        add_comparison(&text, t);
    }
    buf_adds(&text, t->frozen ? "  FROZEN" : "");
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int n = canvas_text(c, a.row, a.col, a.cols, STYLE_HEAD, text.data);
    if (t->source[0] && n + 12 < a.cols) {
        canvas_name(c, a.row, a.col + n + 2, a.cols - n - 2, STYLE_HEAD, t->source);
    }
    buf_release(&text);
}

static void draw_info(const struct flame_state *t, struct canvas *c, struct rect a)
{
    const struct flame_pane *p = &t->pane[t->active];
    const struct flame *f = p->graph;
    const struct flame_node *n = &f->node[p->sel];
    char total[FORMAT_BYTES], share[FORMAT_BYTES], self[FORMAT_BYTES], more[64] = "";
    double all = (double)f->node[0].total, zoomed = (double)f->node[p->zoom].total;
    amount(f, n->total, total);
    format_share(all > 0 ? (double)n->total / all : 0, share);
    format_share(all > 0 ? (double)n->self / all : 0, self);
    if (p->hit) {
        char found[FORMAT_BYTES];
        format_share(zoomed > 0 ? (double)p->found / zoomed : 0, found);
        snprintf(more, sizeof more, "matched %s  ", found);
    } else if (f->compared) {
        snprintf(more, sizeof more, "%+.2f points  ", 100 * flame_pane_change(f, p->sel));
    }
    int col = canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD, "%s%s %s, self %s  ", more, total,
                           share, self);
    canvas_name(c, a.row, a.col + col, a.cols - col, STYLE_NORMAL, flame_text(f, p->sel, NULL));
}

static void draw_counts(const struct flame_state *t, struct canvas *c, struct rect a)
{
    const struct stack_profile_counts *n = stack_view_counts(t->view);
    const struct flame *f = t->pane[0].graph;
    uint64_t lost = (t->live ? 0 : n->dropped) + n->left_out + f->left_out;
    if (lost + n->cut_stacks + f->cut > 0) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN,
                     "not shown: %" PRIu64 " samples; truncated: %" PRIu64 " stacks", lost,
                     n->cut_stacks + f->cut);
    } else if (t->live && n->dropped > 0) {
        char span[FORMAT_BYTES];
        format_span((f->last_ns - f->first_ns) / 1000000000u, span);
        canvas_textf(c, a.row, a.col, a.cols, STYLE_DIM,
                     "the last %s of samples; older ones were dropped", span);
    } else if (f->widthless > 0) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_DIM,
                     "%" PRIu64 " samples have no value of the chosen metric (m)", f->widthless);
    }
}

static void draw_none(struct canvas *c, struct rect a, const struct flame_state *t)
{
    bool marked = t->compare && !t->base && !t->base_to_ns,
         some = t->view && stack_view_count(t->view) > 0;
    char why[500];
    if (t->live && !some) {
        flame_live_why(t, why, sizeof why);
    } else {
        snprintf(
            why, sizeof why, "%s",
            !t->view ? "No stack samples."
            : marked ? "No samples yet since the comparison began (d ends it)."
            : flame_live_only_running(t)
                ? "No sample of a running process yet (a: samples in any status)."
            : flame_graphs_filtered(t)
                ? "No samples pass the filter (r: all samples), or none has a value of the chosen "
                  "metric (m: another)."
                : "No samples pass the filter, or none has a value of the chosen metric (m: "
                  "another).");
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, why);
}

/* Two halves around the function: callers above, callees below. */
static void draw_graphs(struct flame_state *t, struct canvas *c, struct rect a)
{
    t->area[0] = a;
    t->area[1] = (struct rect){0};
    if (t->sandwich) {
        t->area[0].rows = a.rows / 2;
        t->area[1] = a;
        t->area[1].row += t->area[0].rows;
        t->area[1].rows -= t->area[0].rows;
        flame_draw(&t->pane[1], c, t->area[1], false, t->active == 1);
    }
    flame_draw(&t->pane[0], c, t->area[0], t->sandwich || t->up, t->active == 0);
}

void flame_screen_draw(struct flame_state *t, struct canvas *c, struct rect a)
{
    struct rect inner = a, last = a;
    int title = a.rows >= 3, live = t->live && a.rows >= 5;
    int under = a.rows >= 8 + 4 * live ? 2 : a.rows >= 2;
    inner.row += title + live;
    inner.rows -= title + live + under;
    last.row = a.row + a.rows - 1;
    t->area[0] = t->area[1] = (struct rect){0};
    if (title) {
        draw_title(t, c, a);
    }
    if (live) {
        flame_live_draw(t, c, (struct rect){a.row + title, a.col, 1, a.cols});
    }
    bool none = !t->pane[0].graph || t->pane[0].graph->samples == 0;
    if (none) {
        draw_none(c, inner, t);
    } else {
        draw_graphs(t, c, inner);
    }
    if (under == 2 && !none) {
        draw_counts(t, c, (struct rect){last.row - 1, a.col, 1, a.cols});
    }
    if (under && !none) {
        draw_info(t, c, last);
    }
}
