/* The screen of a full trace: its progress; then its call tree, or why there is none. Core thread
 * only. */
#ifndef UI_FULL_SCREEN_H
#define UI_FULL_SCREEN_H

#include "full_state.h"
#include "screen.h"

extern const struct screen_ops screen_full;

#endif
