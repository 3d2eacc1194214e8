/* The screen of one slow request on a time axis: its tiers across processes, what each did, whom it
 * waited for. Core thread only. */
#ifndef UI_WATERFALL_SCREEN_H
#define UI_WATERFALL_SCREEN_H

#include "screen.h"
#include "scroll.h"

struct waterfall_state {
    uint64_t id; /* of the kept request */
    struct scroll at;
};

extern const struct screen_ops screen_waterfall;

#endif
