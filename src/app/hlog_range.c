#include "hlog_range.h"

#include <kprof/base/clock.h>

/* Core keeps the single seconds of the last minute, and the sums of 10 s, 1 min and 5 min for the
 * last 5 min, 30 min and 3 h, also if its memory is full. */
uint64_t hlog_range_step(uint64_t delay_ns)
{
    uint64_t s = delay_ns / CLOCK_SEC_NS;

    return s <= 60 ? 1 : s <= 300 ? 10 : s <= 1800 ? 60 : 300;
}

bool hlog_range_next(struct hlog_range *r, uint64_t closed_s, struct view_query *q)
{
    uint64_t end_s = closed_s - closed_s % r->step_s;

    if (end_s <= r->done_s)
        return false;
    q->end_s = end_s;
    q->length_s = end_s - r->done_s;
    r->done_s = end_s;
    return true;
}

void hlog_range_rest(const struct hlog_range *r, struct view_query *q)
{
    q->window = WINDOW_RUN;
    q->since_s = r->done_s;
}
