/* The state of the flame graph screen.
 * Invariant: the state owns its views and graphs; `view` is the view that is drawn, `next` a newer
 * one that arrived while the screen was frozen. Core thread only. */
#ifndef UI_FLAME_STATE_H
#define UI_FLAME_STATE_H

#include "flame_pane.h"
#include "rect.h"

#include <kprof/core/sample_map.h>
#include <kprof/core/snapshot.h>
#include <kprof/core/view_query.h>

enum { FLAME_PATTERN_BYTES = 200, FLAME_INSIDE_ITEMS = 6, FLAME_WHAT_BYTES = 80 };

/* The sub-second heat map: a view of the same samples. Times are those of the samples. */
struct subsecond {
    struct sample_map *map;       /* NULL: to be made, or there are no times */
    struct sample_map_query made; /* what it was made of */
    uint64_t end_s;               /* the second after its last column; 0: follows the samples */
    bool has_cursor;              /* false: the cursor is at the newest sample */
    bool marked;                  /* from mark_ns to the cursor */
    uint64_t cursor_ns, mark_ns;  /* times in cells */
    struct rect area;             /* of the last draw: the grid */
    bool halves;                  /* it had two lines per row */
};

struct flame_state {
    struct stack_view *view, *next, *base; /* base: the view to compare with, of any profile */
    struct flame_query query;
    struct flame_pane pane[2]; /* the graph, or callers (0) and callees (1) of a function */
    struct rect area[2];       /* of the last draw */
    int active;                /* the pane that receives the keys */
    uint64_t split_ns; /* without a base: samples from then on are compared with those before */
    uint64_t base_from_ns, base_to_ns; /* the range that is compared with; to 0: none */
    bool sandwich, up, frozen, compare;
    uint64_t *requests;          /* of the filter; NULL: none */
    struct view_cells cells;     /* the cells that the requests are in */
    char what[FLAME_WHAT_BYTES]; /* the same for the title: "of 50ms or longer" */
    bool from_heat;              /* requested by the latency heat map */
    struct subsecond subsecond;
    char pattern[FLAME_PATTERN_BYTES];
    bool exact;                                 /* the pattern is the whole text of a frame */
    struct flame_width width[FLAME_WIDTHS_MAX]; /* the items of the open menu of widths */
    uint64_t inside_ns[FLAME_INSIDE_ITEMS];     /* thresholds of the open menu */
    char source[200];                           /* the origin of the samples, for the title */
    bool live;                                  /* of a node or a recording, not of a file */
    bool trace;                                 /* of a full trace */
    struct snap_sampling sampling;              /* if live */
    bool keep;                                  /* the sampling goes on when the screen is left */
};

#endif
