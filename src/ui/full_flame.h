/* A full trace as a flame graph, a screen. Core thread only. */
#ifndef UI_FULL_FLAME_H
#define UI_FULL_FLAME_H

#include "full_state.h"
#include "screen.h"

extern const struct screen_ops screen_full_flame;

#endif
