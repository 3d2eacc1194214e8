/* Decides when the screen may be drawn. The limit is a token bucket: draws empty it, time fills it.
 *
 * Invariant: at most REDRAW_LIMIT_BURST + REDRAW_LIMIT_A_SECOND draws begin in any second; a key
 * waits for a draw at most REDRAW_LIMIT_GAP_NS. A draw without a key needs a full bucket and leaves
 * enough for two keys, which are drawn at once; so is each key that comes REDRAW_LIMIT_GAP_NS or
 * more after the key before it. A zeroed struct is a full bucket. Pure: the caller passes the time.
 * One thread. */
#ifndef KPROF_APP_REDRAW_LIMIT_H
#define KPROF_APP_REDRAW_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define REDRAW_LIMIT_BURST    3u
#define REDRAW_LIMIT_A_SECOND 7u
#define REDRAW_LIMIT_GAP_NS   (UINT64_C(1000000000) / REDRAW_LIMIT_A_SECOND)

struct redraw_limit {
    uint64_t at_ns;   /* time of the last call */
    uint64_t used_ns; /* time until the bucket is full; REDRAW_LIMIT_GAP_NS per draw */
};

/* Takes a draw from the bucket; false: not yet. key: the operator waits for the draw. now_ns: not
 * less than in the call before. */
bool redraw_limit_draw(struct redraw_limit *p, uint64_t now_ns, bool key);

#endif
