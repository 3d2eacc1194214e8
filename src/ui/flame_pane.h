/* One flame graph on the screen: which node is zoomed to and which is selected, where the nodes lie
 * in columns, and moving from node to node. Pure; draws nothing.
 *
 * Invariant: zoom and sel are nodes of the graph, sel is zoom or below it. The boxes are those of
 * the last flame_pane_layout: nodes at least a column wide, by depth and then from left to right;
 * first the zoomed node's callers, which fill the whole width. The pane owns its graph. Core thread
 * only. */
#ifndef UI_FLAME_PANE_H
#define UI_FLAME_PANE_H

#include <kprof/core/flame.h>
#include <stdbool.h>

struct flame_box {
    uint32_t node;
    int col, cols;
    double x, width; /* columns, before they are rounded */
};

struct flame_pane {
    struct flame *graph; /* NULL: none */
    uint32_t zoom, sel;
    uint32_t top; /* depth of the first row that is shown */
    struct flame_box *box;
    size_t boxes, cap;
    bool *hit;      /* by label: found; NULL: nothing is searched for */
    uint64_t found; /* the width of what was found, in the zoomed part */
};

/* Takes over the graph, which may be NULL. keep: zoom and selection stay where texts are the same.
 */
void flame_pane_set(struct flame_pane *p, struct flame *graph, bool keep);
void flame_pane_release(struct flame_pane *p);
void flame_pane_layout(struct flame_pane *p, int cols);
void flame_pane_zoom(struct flame_pane *p, uint32_t node);
/* Marks what the pattern finds: a regular expression, or a text if it is none; exact: the whole
 * text only. An empty pattern finds nothing. */
void flame_pane_search(struct flame_pane *p, const char *pattern, bool exact);

enum flame_move { FLAME_CALLER, FLAME_CALLEE, FLAME_LEFT, FLAME_RIGHT, FLAME_FIRST, FLAME_LAST };
bool flame_pane_move(struct flame_pane *p, enum flame_move how); /* false: it is at the edge */
/* Selects the next box that was found, or the one before; false: none is in sight. */
bool flame_pane_next(struct flame_pane *p, bool back);
/* The part of the graph that a node is, 0..1; of a comparison, the mean of both graphs. */
double flame_pane_share(const struct flame *f, uint32_t node);
/* By how much the part of the whole has changed since the base, -1..1. */
double flame_pane_change(const struct flame *f, uint32_t node);

#endif
