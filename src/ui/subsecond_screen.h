/* The sub-second heat map: the samples of the flame graph by time, columns are seconds and lines
 * parts of a second; a marked range is shown as a flame graph, or other ranges are compared with
 * it. It shares the state of the flame graph screen. Core thread only. */
#ifndef UI_SUBSECOND_SCREEN_H
#define UI_SUBSECOND_SCREEN_H

#include "screen.h"

extern const struct screen_ops screen_subsecond;

#endif
