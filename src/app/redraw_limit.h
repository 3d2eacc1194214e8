/* When the screen may be drawn: a value that is given the time, as a bucket of draws that fills.
 *
 * Invariant: at most REDRAW_LIMIT_BURST + REDRAW_LIMIT_A_SECOND draws begin in any second; a key
 * waits for one at most REDRAW_LIMIT_GAP_NS; a draw that no key asked for is made from a full
 * bucket only, so keys after it find what is left: two of them are answered at once, as is each
 * that comes REDRAW_LIMIT_GAP_NS or more after the one before. All zero: full. Pure. One thread. */
#ifndef KPROF_APP_REDRAW_LIMIT_H
#define KPROF_APP_REDRAW_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define REDRAW_LIMIT_BURST    3u
#define REDRAW_LIMIT_A_SECOND 7u
#define REDRAW_LIMIT_GAP_NS   (UINT64_C(1000000000) / REDRAW_LIMIT_A_SECOND)

struct redraw_limit {
    uint64_t at_ns;   /* as of when, */
    uint64_t used_ns; /* this much is missing to full; REDRAW_LIMIT_GAP_NS a draw */
};

/* Takes a draw; false: not yet. key: somebody waits for it. now_ns: never less than before. */
bool redraw_limit_draw(struct redraw_limit *p, uint64_t now_ns, bool key);

#endif
