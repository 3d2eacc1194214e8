/* The flame graph screen: stack samples as a graph, with zoom, search, groups, width by a metric,
 * flame or icicle, sandwich view of one function, and comparison. Invariant: the state owns its
 * views and graphs; `view` is the view that is drawn, `next` a newer one that arrived while the
 * screen was frozen. Core thread only. */
#ifndef UI_FLAME_SCREEN_H
#define UI_FLAME_SCREEN_H

#include "flame_state.h"
#include "screen.h"

extern const struct screen_ops screen_flame;

#endif
