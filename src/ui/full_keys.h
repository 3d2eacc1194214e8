/* The keys that the three screens of a full trace have in common: what is hidden, export, the other
 * screens. Core thread only. */
#ifndef UI_FULL_KEYS_H
#define UI_FULL_KEYS_H

#include "full_state.h"
#include "screen.h"

/* file: the name that an export proposes. False: it is not one of them. */
bool full_keys(struct full_state *t, struct ui_shared *sh, enum action act, const char *file,
               struct screen_reply *out);

#endif
