/* The screen of one slow request on a time axis: its tiers across processes, the work of each
 * process, and the processes that it waited for. While it is shown, it is kept: it does not
 * disappear when the snapshot drops it. Core thread only. */
#ifndef UI_WATERFALL_SCREEN_H
#define UI_WATERFALL_SCREEN_H

#include "screen.h"
#include "scroll.h"

struct waterfall_state {
    uint64_t id; /* id of the slow request */
    struct scroll at;
    struct snap_slow_trace kept; /* its trace, owned, without `who`; request NULL: none */
    uint64_t event;              /* id of the selected VM event; 0: the most important one */
};

void waterfall_screen_release(struct waterfall_state *t);

extern const struct screen_ops screen_waterfall;

#endif
