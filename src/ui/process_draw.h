/* Draws the process table. Core thread only. */
#ifndef UI_PROCESS_DRAW_H
#define UI_PROCESS_DRAW_H

#include "process_state.h"
#include "rect.h"

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>

/* order[0..n): the rows that are shown. s: for the open calls of the process below; may be NULL. */
void process_draw(struct process_state *t, struct canvas *c, struct rect a,
                  const struct snapshot *s, const uint16_t *order, size_t n);
/* Draws the reason why there is no table. */
void process_draw_none(const struct process_state *t, struct canvas *c, struct rect a);

#endif
