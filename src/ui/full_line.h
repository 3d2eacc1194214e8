/* The timeline of a full trace, a screen: when each process ran, waited and collected garbage, and
 * the calls of one process over time. Core thread only. */
#ifndef UI_FULL_LINE_H
#define UI_FULL_LINE_H

#include "full_state.h"
#include "screen.h"

extern const struct screen_ops screen_full_line;

#endif
