/* Contents of the next snapshot: a time range, and the costly parts. The screen passes this value
 * to core. Times are seconds of the history of the session, as in snapshot.h. */
#ifndef KPROF_CORE_VIEW_QUERY_H
#define KPROF_CORE_VIEW_QUERY_H

#include <kprof/core/snapshot.h>

struct view_query {
    enum window window;
    uint64_t length_s; /* 0: as `window`; else any length */
    uint64_t end_s;    /* 0: up to now; else the window is the closed seconds [end - length, end) */
    uint64_t since_s;  /* not 0: instead, the closed seconds from this one, and the running one */
    bool trends;       /* last minute of each row, second by second */
    bool why;          /* findings (core/why); implies trends */
    bool dist, heat;   /* for the row with this tier and ident: */
    uint16_t tier, ident;           /* as in snap_row */
    uint64_t heat_end_s;            /* the last second of the map; 0: the last closed one */
    uint32_t heat_col_s, heat_cols; /* seconds per column, columns: 1 to HEAT_COLS */
};

/* Cells of the latency heat map of a row. A bound that is 0 excludes nothing. */
struct view_cells {
    uint16_t tier, ident;      /* as in snap_row */
    uint64_t from_s, to_s;     /* seconds of the history, [from, to) */
    uint32_t low_bin, end_bin; /* bins of base/scale, [low, end) */
    uint64_t least_ns;         /* the least duration */
};

#endif
