/* Which seconds the next report of a histogram log covers. A reader adds up its lines, so the
 * ranges follow each other: each closed second of the run is in exactly one of them, and the last
 * one has the rest, up to the end.
 *
 * A range ends at a multiple of a step, because the single seconds of a long interval may no longer
 * be stored when it ends. Pure; begins zeroed, but for step_s. One thread. */
#ifndef KPROF_APP_HLOG_RANGE_H
#define KPROF_APP_HLOG_RANGE_H

#include <kprof/core/view_query.h>
#include <stdbool.h>

struct hlog_range {
    uint64_t step_s; /* of hlog_range_step */
    uint64_t done_s; /* earlier seconds are in a report; 0: there is none */
};

uint64_t hlog_range_step(uint64_t delay_ns); /* in seconds */
/* Sets the times of the next report. closed_s: the closed seconds of the history are before it.
 * False: there is nothing to report yet. */
bool hlog_range_next(struct hlog_range *r, uint64_t closed_s, struct view_query *q);
/* Sets the times of the last report; the whole run if there was no other. */
void hlog_range_rest(const struct hlog_range *r, struct view_query *q);

#endif
