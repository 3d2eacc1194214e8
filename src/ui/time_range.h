/* The time range that all screens show: now, or an earlier one in seconds of the history; and
 * whether the screen is paused. Core thread only. */
#ifndef UI_TIME_RANGE_H
#define UI_TIME_RANGE_H

#include "dialog.h"
#include "message.h"

#include <kprof/core/snapshot.h>
#include <kprof/core/view_query.h>
#include <kprof/ui/keys.h>

struct time_range {
    bool window_asked; /* `window` is the last requested one; the snapshot may still have the one
                          before */
    enum window window;
    uint64_t end_s;        /* 0: now */
    uint64_t length_s;     /* 0: the length of the window */
    uint64_t now_length_s; /* length_s before an earlier time was shown */
    bool paused;
    uint64_t paused_s, paused_oldest_s;     /* the history at the time of the pause */
    uint64_t zero_wall_ns, oldest_s, now_s; /* values at the time when the prompt was opened */
};

/* Back to now, also from a pause, because the history has started again. */
void time_range_forget(struct time_range *t);
/* [from_s, to_s), complete seconds of the history. */
void time_range_set(struct time_range *t, uint64_t from_s, uint64_t to_s);
bool time_range_key(struct time_range *t, struct dialog *d, struct message *m, enum action act,
                    const struct snapshot *s, struct intent *out);
/* Applies the typed text; false: error. */
bool time_range_typed(struct time_range *t, const char *text, char *error, size_t cap);
/* Writes the time of the next snapshot to q. */
void time_range_query(const struct time_range *t, struct view_query *q);

void time_range_clock(const struct snapshot *s, uint64_t sec, char *out); /* FORMAT_BYTES */
void time_range_text(const struct snapshot *s, char *out,
                     size_t cap); /* for an earlier time range */

#endif
