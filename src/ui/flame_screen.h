/* The flame graph screen: stack samples as a graph, with zoom, search, groups, width by a metric,
 * flame or icicle, sandwich view of one function, and comparison. Invariant: the state owns its
 * views and graphs; `view` is the view that is drawn, `next` a newer one that arrived while the
 * screen was frozen. Core thread only. */
#ifndef UI_FLAME_SCREEN_H
#define UI_FLAME_SCREEN_H

#include "flame_state.h"
#include "screen.h"

void flame_screen_release(struct flame_state *t);
/* Takes ownership of a view, the first one or a newer one. */
void flame_screen_set(struct flame_state *t, struct stack_view *v);
/* Takes ownership of the view to compare with; NULL: none. */
void flame_screen_set_base(struct flame_state *t, struct stack_view *v);
void flame_screen_search(struct flame_state *t, const char *pattern, bool exact);
/* An item of the menu of widths (or of groups) was picked. */
void flame_screen_picked(struct flame_state *t, bool width, size_t item);

extern const struct screen_ops screen_flame;

#endif
