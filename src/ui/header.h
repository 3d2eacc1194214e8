/* The lines above most screens: the node, and tracing; below them problems, if there are any. Draws
 * only. */
#ifndef UI_HEADER_H
#define UI_HEADER_H

#include "shared.h"

/* number of header rows on a screen of `rows` rows */
int header_rows(const struct snapshot *s, int rows);
void header_draw(const struct ui_shared *sh, struct canvas *c, int n_rows,
                 const struct snapshot *s);

#endif
