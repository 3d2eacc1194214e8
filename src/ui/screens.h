/* The registry of screens. Only units above the screens use it. The table is constant; any
 * thread. */
#ifndef UI_SCREENS_H
#define UI_SCREENS_H

#include "flame_state.h"
#include "screen.h"

struct ui;

const struct screen_ops *screens_ops(enum screen_id id); /* not SCREEN_NONE */
void *screens_own(struct ui *u, enum screen_id id);      /* state of the screen; NULL: none */
/* The flame graph that is on the screen; while there is none, the one of samples. */
struct flame_state *screens_flame(struct ui *u);
enum screen_id screens_by_key(int key); /* SCREEN_NONE: no screen has it */
unsigned
screens_context(const struct ui *u); /* whose keys are valid now: a dialog's or a screen's */

#endif
