/* One flame graph on the screen: the zoomed and the selected node, the columns of the nodes, and
 * movement between nodes. Pure; draws nothing. Invariant: zoom and sel are nodes of the graph, and
 * sel is zoom or below it. The boxes are those of the last flame_pane_layout: nodes of at least one
 * column, by depth and then from left to right; first the callers of the zoomed node, which have
 * the whole width. The pane owns its graph. Core thread only. */
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
    bool *hit;      /* by label: the node matches; NULL: no search */
    uint64_t found; /* the total width of the matches in the zoomed part */
};

/* Takes ownership of the graph, which may be NULL. keep: zoom and selection stay on nodes with the
 * same texts. */
void flame_pane_set(struct flame_pane *p, struct flame *graph, bool keep);
void flame_pane_release(struct flame_pane *p);
void flame_pane_layout(struct flame_pane *p, int cols);
void flame_pane_zoom(struct flame_pane *p, uint32_t node);
/* Highlights the nodes that match the pattern: a regular expression, or plain text if it is not
 * valid; exact: the whole text must be equal. An empty pattern matches nothing. */
void flame_pane_search(struct flame_pane *p, const char *pattern, bool exact);

enum flame_move { FLAME_CALLER, FLAME_CALLEE, FLAME_LEFT, FLAME_RIGHT, FLAME_FIRST, FLAME_LAST };
bool flame_pane_move(struct flame_pane *p, enum flame_move how); /* false: it is at the edge */
/* Selects the next or the previous match; false: no match is visible. */
bool flame_pane_next(struct flame_pane *p, bool back);
/* The share of a node in the graph, 0..1; in a comparison, the mean of both graphs. */
double flame_pane_share(const struct flame *f, uint32_t node);
/* The change of the share of a node since the base, -1..1. */
double flame_pane_change(const struct flame *f, uint32_t node);

#endif
