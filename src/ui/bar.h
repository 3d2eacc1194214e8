/* The key bar: the keys that are valid now, as many as fit. Draws only. */
#ifndef UI_BAR_H
#define UI_BAR_H

#include <kprof/ui/canvas.h>
#include <kprof/ui/keys.h>

#define BAR_FIRST 3

struct bar {
    unsigned context;             /* whose keys it shows */
    enum action first[BAR_FIRST]; /* what is needed most now, up to ACT_NONE: right after help and
                                     quit */
};

void bar_draw(struct canvas *c, int row, const struct bar *b);
/* The key whose entry is drawn at col of a bar `cols` wide; 0: none. */
int bar_key_at(int cols, const struct bar *b, int col);

#endif
