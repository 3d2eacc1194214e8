/* The sub-second heat map: its visible time range, its cursor, and the marked range.
 *
 * Invariant: the cursor is in the map; a range consists of whole cells. Pure, except for the state;
 * draws nothing. Core thread only. */
#ifndef UI_SUBSECOND_H
#define UI_SUBSECOND_H

#include "flame_state.h"

#include <kprof/ui/keys.h>

/* The map that fits an area of the screen, made if it is not there. NULL: there are no samples, or
 * they have no times. */
const struct sample_map *subsecond_map(struct flame_state *t, struct rect grid, bool halves);
/* The map last made; NULL: none. */
const struct sample_map *subsecond_last(const struct flame_state *t);
uint64_t subsecond_cursor(const struct flame_state *t, const struct sample_map *m);
/* The marked cells, or that of the cursor: [from, to). */
void subsecond_cells(const struct flame_state *t, const struct sample_map *m, uint64_t *from,
                     uint64_t *to);
/* The same as times of samples. False: there is no map. */
bool subsecond_range(const struct flame_state *t, uint64_t *from_ns, uint64_t *to_ns);

/* Moves the cursor or the map. False: it is not a key of the map. *moved false: it is at the end.
 */
bool subsecond_move(struct flame_state *t, enum action act, bool *moved);
void subsecond_place(struct flame_state *t, uint64_t cell);
void subsecond_mark(struct flame_state *t); /* begins a range at the cursor, or forgets it */
/* The cell drawn at a place of the screen; false: none. */
bool subsecond_at(const struct flame_state *t, int row, int col, uint64_t *cell);

/* A time of the samples of the view, as text: "03:04:05.678", or "5.678 s" of the node. */
void subsecond_time_text(const struct stack_view *v, uint64_t time_ns, char *out);

#endif
