/* The screen of help: all keys, columns and words. Its state is a struct scroll, whose sel is the
 * line on top. Core thread only. */
#ifndef UI_HELP_H
#define UI_HELP_H

#include "screen.h"

extern const struct screen_ops screen_help;

#endif
