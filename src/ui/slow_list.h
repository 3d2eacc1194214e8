/* The list of slow requests, one line each, filtered and sorted, and the selected request. It is
 * shown under the table and on its own screen, which other screens can open, too. A slow call
 * without a request has its own line.
 *
 * Invariant: the selection is the number of a slow request, not its position, so it stays while
 * newer requests move it down. Nothing here points into a snapshot. Core thread only. */
#ifndef UI_SLOW_LIST_H
#define UI_SLOW_LIST_H

#include "dialog.h"
#include "rect.h"
#include "scroll.h"

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>

enum slow_column { /* from left to right */
                   SLOW_TIME,
                   SLOW_IDENTITY,
                   SLOW_TOOK,
                   SLOW_TIER,
                   SLOW_SELF,
                   SLOW_SHARE,
                   SLOW_PARTS, /* only if parts of the time were recorded */
                   SLOW_PROCESS,
                   SLOW_COLUMNS
};

struct slow_list {
    struct scroll at;
    uint64_t seq;          /* number of the selected request; 0: always the first line */
    enum slow_column sort; /* names from A, other columns from the largest or newest */
    bool reverse;
    struct slow_filter filter;
    bool pane_focus; /* the list under the table gets the keys */
};

/* The requests that pass the filter, in the chosen order, as indexes in the snapshot. The caller
 * frees `at`. */
struct slow_picks {
    size_t *at;
    size_t n;
};

struct slow_picks slow_list_pick(const struct slow_list *l, const struct snapshot *s);
/* Returns the selected request of p and sets at.sel to its line; NULL: there is none. */
const struct snap_slow *slow_list_selected(struct slow_list *l, const struct snapshot *s,
                                           const struct slow_picks *p);
/* Selects another line, filters, sorts, asks for the threshold; false: not a key of a list. */
bool slow_list_key(struct slow_list *l, struct dialog *d, enum action act,
                   const struct snapshot *s);
void slow_list_draw(struct slow_list *l, struct canvas *c, struct rect a, const struct snapshot *s,
                    const struct slow_picks *p, bool focus); /* with its title */

/* Filters for requests in a range of the local wall clock; false: there are none, and nothing has
 * changed. */
bool slow_list_filter_time(struct slow_list *l, const struct snapshot *s, uint64_t from_ns,
                           uint64_t to_ns);
bool slow_list_forget_filter(struct slow_list *l); /* false: there was none */
/* Prompts for the threshold. */
void slow_list_ask_threshold(struct dialog *d, const struct snapshot *s);
/* Writes why there is no slow call that ended in this time of the local wall clock; true: another
 * threshold would help from now on. */
bool slow_list_why_none(const struct snapshot *s, uint64_t from_ns, uint64_t to_ns, char *out,
                        size_t cap);
/* The threshold as an operator types it: "20ms", "1500us", "2s". */
void slow_list_threshold_text(uint64_t ns, char *out, size_t cap);
/* The index of a slow request in s->slow_traces; n_slow_traces: its trace was dropped. */
size_t slow_list_trace(const struct snapshot *s, uint64_t id);

#endif
