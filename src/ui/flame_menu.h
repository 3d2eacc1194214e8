/* The menus of the flame graph screen: widths, groups, and which requests' samples are shown.
 *
 * Invariant: the answer to a menu is for the state for which it was opened. Core thread only. */
#ifndef UI_FLAME_MENU_H
#define UI_FLAME_MENU_H

#include "dialog.h"
#include "flame_state.h"

/* Widths: samples, and each metric that the samples have, its growth, its shrinkage. */
void flame_menu_width(struct flame_state *t, struct dialog *d);
void flame_menu_group(const struct flame_state *t, struct dialog *d);
/* All samples, those inside requests, those in requests slower than a percentile of s (may be
 * NULL). */
void flame_menu_inside(struct flame_state *t, struct dialog *d, const struct snapshot *s);
/* An item of the open menu of the flame graph was picked: an intent for app. */
struct intent flame_menu_picked(struct flame_state *t, const struct menu *m);

#endif
