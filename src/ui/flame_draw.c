#include "flame_draw.h"

#include <kprof/base/fnv.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <string.h>

/* The row of a depth; may be outside of the area. */
static int row_of(const struct flame_pane *p, struct rect a, bool up, uint32_t depth)
{
    int below = (int)(depth - p->top);
    return up ? a.row + a.rows - 1 - below : a.row + below;
}

/* Functions of one module have one color. */
static enum style color(const char *text)
{
    const char *colon = strchr(text, ':'), *dot = strrchr(text, '.');
    const char *end = colon ? colon : dot;
    size_t n = end ? (size_t)(end - text) : strlen(text);
    uint64_t h = fnv_add(FNV_START, text, n);
    return (enum style)(STYLE_FRAME + (h ^ h >> 32) % STYLE_FRAMES);
}

static enum style style_of(const struct flame_pane *p, uint32_t node, bool active)
{
    const struct flame *f = p->graph;
    const struct flame_node *n = &f->node[node];
    if (active && node == p->sel) {
        return STYLE_SELECT;
    }
    if (p->hit && p->hit[n->label]) {
        return STYLE_MATCH;
    }
    if (n->depth < f->node[p->zoom].depth) {
        return STYLE_DIM;
    }
    if (!f->compared) {
        return color(flame_text(f, node, NULL));
    }
    double change = flame_pane_change(f, node);
    return change >= 0.001 ? STYLE_MORE : change <= -0.001 ? STYLE_LESS : STYLE_NORMAL;
}

/* Without the module if there is no room for it: the whole function name says more. */
static const char *fitting(const char *text, int cols)
{
    const char *colon = strchr(text, ':'), *dot = strrchr(text, '.');
    const char *end = colon ? colon : dot;
    bool fits = text_width(text, strlen(text)) <= (size_t)cols;
    return fits || !end || !strchr(end, '/') ? text : end + 1; /* M:F/A */
}

static void draw_box(const struct flame_pane *p, struct canvas *c, int row, int col,
                     const struct flame_box *b, bool active)
{
    const char *text = flame_text(p->graph, b->node, NULL);
    enum style st = style_of(p, b->node, active);
    char sign[16] = "";
    if (p->graph->compared) {
        snprintf(sign, sizeof sign, "%+.1f ", 100 * flame_pane_change(p->graph, b->node));
    }
    canvas_fill(c, row, col, b->cols, st, ' ');
    canvas_text(c, row, col, 1, st, c->ascii ? "|" : "\xe2\x94\x82");
    if (b->cols >= 4) {
        int n = canvas_text(c, row, col + 1, b->cols - 1, st, sign);
        int room = b->cols - 1 - n;
        canvas_text(c, row, col + 1 + n, room, st, fitting(text, room));
    }
}

void flame_draw(struct flame_pane *p, struct canvas *c, struct rect a, bool up, bool active)
{
    flame_pane_layout(p, a.cols);
    if (!p->graph || a.rows < 1) {
        return;
    }
    uint32_t rows = (uint32_t)a.rows, depth = p->graph->node[p->sel].depth;
    if (depth < p->top) {
        p->top = depth;
    }
    if (depth >= p->top + rows) {
        p->top = depth - rows + 1;
    }
    for (size_t i = 0; i < p->boxes; i++) {
        uint32_t d = p->graph->node[p->box[i].node].depth;
        if (d >= p->top && d < p->top + rows) {
            draw_box(p, c, row_of(p, a, up, d), a.col + p->box[i].col, &p->box[i], active);
        }
    }
}

void flame_draw_frame(struct canvas *c, int row, int col, int cols, const char *text)
{
    enum style st = color(text);
    canvas_fill(c, row, col, cols, st, ' ');
    canvas_text(c, row, col, 1, st, c->ascii ? "|" : "\xe2\x94\x82");
    if (cols >= 4) {
        canvas_text(c, row, col + 1, cols - 1, st, fitting(text, cols - 1));
    }
}

bool flame_draw_node_at(const struct flame_pane *p, struct rect a, bool up, int row, int col,
                        uint32_t *node)
{
    for (size_t i = 0; p->graph && i < p->boxes; i++) {
        const struct flame_box *b = &p->box[i];
        uint32_t d = p->graph->node[b->node].depth;
        if (d >= p->top && d < p->top + (uint32_t)a.rows && row_of(p, a, up, d) == row &&
            col >= a.col + b->col && col < a.col + b->col + b->cols) {
            *node = b->node;
            return true;
        }
    }
    return false;
}
