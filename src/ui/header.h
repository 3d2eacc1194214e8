/* The lines above most screens: the node, tracing, what was lost, and what is wrong now. Draws
 * only. */
#ifndef UI_HEADER_H
#define UI_HEADER_H

#include "shared.h"

int header_rows(const struct snapshot *s, int rows); /* that it takes of so many */
void header_draw(const struct ui_shared *sh, struct canvas *c, int n_rows,
                 const struct snapshot *s);

#endif
