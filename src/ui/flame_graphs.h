/* The graphs of the flame graph screen, made from its views. They contain the samples that pass the
 * filter, of a time range or of some requests, and can be compared with other samples.
 *
 * Invariant: the graphs fit view, query and comparison of the state; whoever changes one of these
 * calls flame_graphs_rebuild. The state owns what it is given here. Draws nothing. Core thread
 * only. */
#ifndef UI_FLAME_GRAPHS_H
#define UI_FLAME_GRAPHS_H

#include "flame_state.h"

void flame_graphs_release(struct flame_state *t);
/* keep: only the samples are new: zoom and selection stay. */
void flame_graphs_rebuild(struct flame_state *t, bool keep);
/* Takes over a view, newer than the last one or the first. */
void flame_graphs_set(struct flame_state *t, struct stack_view *v);
/* Takes over the view to compare with; NULL: none. */
void flame_graphs_set_base(struct flame_state *t, struct stack_view *v);
/* Freezes the screen: newer views wait. Again: shows the newest view. */
void flame_graphs_freeze(struct flame_state *t);
void flame_graphs_search(struct flame_state *t, const char *pattern, bool exact);

/* Shows only the samples of a range of time, [from, to); to 0: of all times. */
void flame_graphs_range(struct flame_state *t, uint64_t from_ns, uint64_t to_ns);
/* Compares with the samples of a range of time; to 0: no longer. */
void flame_graphs_base_range(struct flame_state *t, uint64_t from_ns, uint64_t to_ns);
/* Shows only samples inside requests; false: all again, also after flame_graphs_requests. */
void flame_graphs_inside(struct flame_state *t, bool inside);
/* Shows only the samples inside these requests, and takes them over: malloc'ed, ascending. what:
 * for the title; copied. */
void flame_graphs_requests(struct flame_state *t, const struct view_cells *cells,
                           uint64_t *requests, size_t n, const char *what);
/* Sets other requests of the same cells; does not change the graphs. */
void flame_graphs_more_requests(struct flame_state *t, uint64_t *requests, size_t n);
/* All samples again: any time, inside requests or not. */
void flame_graphs_all(struct flame_state *t);
bool flame_graphs_filtered(const struct flame_state *t); /* by time or requests */
/* Compares, or ends it. False: there is nothing to compare with. */
bool flame_graphs_compare(struct flame_state *t);

#endif
