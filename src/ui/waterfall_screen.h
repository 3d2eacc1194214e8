/* The screen of one slow request on a time axis: its tiers across processes, the work of each
 * process, and the processes that it waited for. Core thread only. */
#ifndef UI_WATERFALL_SCREEN_H
#define UI_WATERFALL_SCREEN_H

#include "screen.h"
#include "scroll.h"

struct waterfall_state {
    uint64_t id; /* id of the slow request, whose trace is kept */
    struct scroll at;
};

extern const struct screen_ops screen_waterfall;

#endif
