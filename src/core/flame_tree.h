/* A flame graph under construction: nodes in the order in which they are added, sorted at the end.
 *
 * Invariant: a node's number is greater than its parent's. Widths are added to `self` only;
 * flame_tree_finish computes the totals and the order of flame.h. One thread. */
#ifndef KPROF_CORE_FLAME_TREE_H
#define KPROF_CORE_FLAME_TREE_H

#include <kprof/base/map.h>
#include <kprof/core/flame.h>

struct flame_tree {
    struct flame *flame; /* owned until finish */
    size_t cap;
    struct map children; /* parent << 32 | label to node */
    uint32_t other;      /* the label of texts beyond FLAME_NODES_MAX */
};

void flame_tree_init(struct flame_tree *t);
/* The label of a text; equal texts have equal labels. */
uint32_t flame_tree_label(struct flame_tree *t, const char *s, size_t n);
/* The child with this label; added if there is none. Returns the parent if there are too many
 * nodes. */
uint32_t flame_tree_child(struct flame_tree *t, uint32_t parent, uint32_t label, uint32_t frame);
/* Adds a child without looking for an existing one; flame_tree_child will not find it. As there,
 * the parent is returned if there are too many nodes.
 */
uint32_t flame_tree_add(struct flame_tree *t, uint32_t parent, uint32_t label, uint32_t frame);
void flame_tree_drop(struct flame_tree *t); /* instead of finish */
struct flame *flame_tree_finish(struct flame_tree *t);

#endif
