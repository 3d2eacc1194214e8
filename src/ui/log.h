/* The screen of messages: the session log. Its state is a struct scroll. Core thread only. */
#ifndef UI_LOG_H
#define UI_LOG_H

#include "screen.h"

extern const struct screen_ops screen_log;

#endif
