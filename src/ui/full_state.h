/* The state of the screens of a full trace: its progress, and the call tree with the timeline and
 * the flame graph of it.
 *
 * Invariant: the state owns tree and profile; the flame graph has a view of the profile. Core
 * thread only. */
#ifndef UI_FULL_STATE_H
#define UI_FULL_STATE_H

#include "flame_state.h"
#include "full_tree.h"
#include "scroll.h"

#include <kprof/core/full_trace.h>

/* The timeline: a part of the traced time, and the process whose calls are shown. */
struct full_line {
    uint64_t from_ns, to_ns; /* in sight; to 0: all */
    uint64_t cursor_ns;
    bool has_cursor; /* false: it is at the beginning */
    uint64_t pid;    /* 0: the first process */
    size_t top;      /* depth of the first row of calls */
    size_t first;    /* of the processes in sight */
    int cols;        /* of the last draw: of the axis */
};

struct full_state {
    struct full_now now;           /* the newest trace */
    struct full_now of;            /* the trace of the result */
    struct stack_profile *profile; /* NULL: there is no result */
    struct call_tree *call_tree;
    struct full_tree tree;
    uint32_t selected; /* the node; 0: always the first line */
    struct scroll at;
    char find[64]; /* "": no search */
    struct full_line line;
    struct flame_state flame;
};

void full_state_release(struct full_state *t);
/* Takes over a result. */
void full_state_set(struct full_state *t, struct call_tree *tree, struct stack_profile *profile);
/* Hides or shows waits and garbage collections, everywhere: all, without waits, without
 * collections, without both, all ... */
void full_state_hide_next(struct full_state *t);
const char *full_state_hidden(const struct full_state *t); /* "", "waits hidden" ... */
bool full_state_waits(const struct full_state *t);         /* a trace is under way on the node */

/* The selected node; it sets at.sel. 0: there are no lines. */
uint32_t full_state_node(struct full_state *t);
void full_state_select_line(struct full_state *t, size_t line);
void full_state_select(struct full_state *t, uint32_t node); /* unfolds what is above */
/* Selects the first function that contains the text, as it is typed; "": ends the search. */
void full_state_find(struct full_state *t, const char *text);

#endif
