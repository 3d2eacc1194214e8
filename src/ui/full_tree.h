/* A call tree as lines: folded and unfolded nodes, in an order, without what is hidden.
 *
 * Invariant: the lines fit tree, order, folding and what is hidden; every function here that
 * changes one of these makes them again. Borrows the tree. Pure; draws nothing. */
#ifndef UI_FULL_TREE_H
#define UI_FULL_TREE_H

#include <kprof/core/call_tree.h>
#include <stddef.h>

/* Of the children of a node: by first call, or the largest first. */
enum full_order {
    FULL_ORDER_CALLED,
    FULL_ORDER_TOTAL,
    FULL_ORDER_OWN,
    FULL_ORDER_CALLS,
    FULL_ORDERS
};

struct full_tree {
    struct call_tree *tree; /* NULL: none */
    struct call_tree_hide hide;
    enum full_order order;
    bool *open;     /* by node */
    uint32_t *line; /* nodes, in the order of the lines */
    size_t n, cap;
};

/* Unfolds the nodes with the most time. NULL: no tree. */
void full_tree_set(struct full_tree *t, struct call_tree *tree);
void full_tree_release(struct full_tree *t); /* not the tree */
void full_tree_hide(struct full_tree *t, const struct call_tree_hide *hide);
void full_tree_order(struct full_tree *t, enum full_order order);
void full_tree_fold(struct full_tree *t, uint32_t node, bool open);
void full_tree_fold_all(struct full_tree *t, bool open); /* false: only processes stay unfolded */
/* The line of a node, or of the folded node that contains it. */
size_t full_tree_line_of(const struct full_tree *t, uint32_t node);
/* Whether the node has children that are not hidden. */
bool full_tree_has_children(const struct full_tree *t, uint32_t node);
/* The node after (back: before) `node` whose text contains `text`, folded or not; wraps around. 0:
 * none. */
uint32_t full_tree_find(const struct full_tree *t, uint32_t node, const char *text, bool back);
/* Unfolds all above the node. */
void full_tree_show(struct full_tree *t, uint32_t node);

#endif
