/* The keys of a flame graph on the screen: moves, zoom, search, menus, comparison. For the screen
 * of stack samples and for that of a full trace. Core thread only. */
#ifndef UI_FLAME_KEYS_H
#define UI_FLAME_KEYS_H

#include "flame_state.h"
#include "screen.h"

/* False: the key has no meaning here. */
bool flame_keys(struct flame_state *t, struct ui_shared *sh, enum action act,
                const struct snapshot *s, struct screen_reply *out);
/* A click on a box selects it. */
bool flame_keys_click(struct flame_state *t, int row, int col);

#endif
