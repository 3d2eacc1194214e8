/* The state of the flame graph screen.
 * Invariant: the state owns its views and graphs; `view` is the view that is drawn, `next` a newer
 * one that arrived while the screen was frozen. Core thread only. */
#ifndef UI_FLAME_STATE_H
#define UI_FLAME_STATE_H

#include "flame_pane.h"
#include "rect.h"

#include <kprof/core/snapshot.h>

enum { FLAME_PATTERN_BYTES = 200 };

struct flame_state {
    struct stack_view *view, *next, *base; /* base: the view to compare with, of any profile */
    struct flame_query query;
    struct flame_pane pane[2]; /* the graph, or callers (0) and callees (1) of a function */
    struct rect area[2];       /* of the last draw */
    int active;                /* the pane that has the keys */
    uint64_t
        split_ns; /* without a base: samples from this time on are compared with those before */
    bool sandwich, up, frozen, compare;
    char pattern[FLAME_PATTERN_BYTES];
    bool exact;                                 /* the pattern is the whole text of a frame */
    struct flame_width width[FLAME_WIDTHS_MAX]; /* the items of the open menu of widths */
    char source[200];                           /* the origin of the samples, for the title */
    bool live;                                  /* of a node or a recording, not of a file */
    struct snap_sampling sampling;              /* if live */
    bool keep;                                  /* the sampling goes on when the screen is left */
};

#endif
