/* The flame graph screen: stack samples as a graph that can be zoomed, searched, grouped, drawn by
 * a metric, turned over, looked at around one function, and compared.
 *
 * Invariant: the state owns its views and graphs; `view` is what is drawn, `next` a newer one that
 * came while the screen was frozen. Core thread only. */
#ifndef UI_FLAME_SCREEN_H
#define UI_FLAME_SCREEN_H

#include "flame_state.h"
#include "screen.h"

extern const struct screen_ops screen_flame;

#endif
