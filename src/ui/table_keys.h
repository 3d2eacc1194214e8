/* The keys of the table. Core thread only. */
#ifndef UI_TABLE_KEYS_H
#define UI_TABLE_KEYS_H

#include "screen.h"
#include "shared.h"
#include "table_state.h"

bool table_keys(struct table_state *t, struct ui_shared *sh, enum action act,
                const struct snapshot *s, struct screen_reply *out);

#endif
