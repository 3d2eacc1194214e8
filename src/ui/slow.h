/* The screen of slow requests: the list, and the selected one unfolded into its tiers. Its state is
 * the list (src/ui/slow_list.h). Core thread only. */
#ifndef UI_SLOW_H
#define UI_SLOW_H

#include "screen.h"

extern const struct screen_ops screen_slow;

#endif
