/* The screen of internals: counters of events, calls and requests, each with its meaning. Core
 * thread only. */
#ifndef UI_INTERNALS_SCREEN_H
#define UI_INTERNALS_SCREEN_H

#include "screen.h"

extern const struct screen_ops screen_internals;

#endif
