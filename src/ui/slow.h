/* The screen of slow calls: the list, and the tiers of the selected request on a time axis. Its
 * state is the list (src/ui/slow_list.h). Core thread only. */
#ifndef UI_SLOW_H
#define UI_SLOW_H

#include "screen.h"

extern const struct screen_ops screen_slow;

#endif
