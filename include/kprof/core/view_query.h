/* What the next snapshot shall show: which stretch of time, and what of the costly parts. A value
 * that the screen hands to core; times are seconds of the session's history, as in snapshot.h. */
#ifndef KPROF_CORE_VIEW_QUERY_H
#define KPROF_CORE_VIEW_QUERY_H

#include <kprof/core/snapshot.h>

struct view_query {
    enum window window;
    uint64_t length_s; /* 0: as window says; else any length */
    uint64_t end_s;    /* 0: up to now; else the window is the closed seconds [end - length, end) */
    bool trends;       /* the rows' last minute, second by second */
    bool dist, heat;   /* of this row: */
    uint16_t tier, ident;           /* as snap_row has them */
    uint64_t heat_end_s;            /* the last second of the map; 0: the last closed one */
    uint32_t heat_col_s, heat_cols; /* seconds a column (at least 1), columns (at most HEAT_COLS) */
};

#endif
