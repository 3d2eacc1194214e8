/* The flame graph screen: stack samples as a graph that can be zoomed, searched, grouped, drawn by
 * a metric, turned over, looked at around one function, and compared.
 *
 * Invariant: the state owns its views and graphs; `view` is what is drawn, `next` a newer one that
 * came while the screen was frozen. Core thread only. */
#ifndef UI_FLAME_SCREEN_H
#define UI_FLAME_SCREEN_H

#include "flame_state.h"
#include "screen.h"

void flame_screen_release(struct flame_state *t);
/* Takes over a view, newer than the last one or the first. */
void flame_screen_set(struct flame_state *t, struct stack_view *v);
/* Takes over the view to compare with; NULL: none. */
void flame_screen_set_base(struct flame_state *t, struct stack_view *v);
void flame_screen_search(struct flame_state *t, const char *pattern, bool exact);
/* An item of the menu of widths (or of groups) was picked. */
void flame_screen_picked(struct flame_state *t, bool width, size_t item);

extern const struct screen_ops screen_flame;

#endif
