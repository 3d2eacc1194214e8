/* A call tree as text: a line for each node, parents before their children, children in the order
 * of their first call. Columns: total and self time, calls, and the function, indented by its
 * depth. Texts from the node are made safe. Pure, except for the sink; any thread that may read
 * the tree. */
#ifndef KPROF_EXPORT_CALL_TEXT_H
#define KPROF_EXPORT_CALL_TEXT_H

#include <kprof/base/buf.h>
#include <kprof/core/call_tree.h>
#include <kprof/export/stacks.h>

/* hide: as in call_tree_sum, which was called with it. Returns false when the sink did. */
bool call_text_write(const struct call_tree *t, const struct call_tree_hide *hide,
                     stacks_sink *sink, void *arg);

#endif
