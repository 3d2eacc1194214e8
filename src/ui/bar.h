/* The key bar: the keys that are valid now, as many as fit. Draws only. */
#ifndef UI_BAR_H
#define UI_BAR_H

#include <kprof/ui/canvas.h>

void bar_draw(struct canvas *c, int row, unsigned context, const char *extra);
/* The key whose entry is drawn at col of a bar without extra, `cols` wide; 0: none. */
int bar_key_at(int cols, unsigned context, int col);

#endif
