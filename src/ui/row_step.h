/* The keys by which a screen about one row of the table goes to the next or the previous row.
 * Core thread only. */
#ifndef UI_ROW_STEP_H
#define UI_ROW_STEP_H

#include "shared.h"

#include <kprof/ui/keys.h>

enum row_step { ROW_STEP_NO, ROW_STEP_MOVED, ROW_STEP_EDGE };

/* NO: the key does not move. EDGE: there is no further row; the message line says so. */
enum row_step row_step_key(struct ui_shared *sh, enum action act, const struct snapshot *s);

#endif
