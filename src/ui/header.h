/* The lines above most screens: the node, and tracing; below them problems, if there are any. Above
 * a screen that needs the whole space: one line if the node is not verified, else none. Draws
 * only. Core thread only. */
#ifndef UI_HEADER_H
#define UI_HEADER_H

#include "shared.h"

/* number of header rows on a screen of `rows` rows; whole: the screen needs the whole space */
int header_rows(const struct snapshot *s, int rows, bool whole);
void header_draw(const struct ui_shared *sh, struct canvas *c, int n_rows, bool whole,
                 const struct snapshot *s);

#endif
