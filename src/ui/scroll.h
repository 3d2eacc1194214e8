/* A list with one selected line, which scroll_fit keeps in sight. Pure; depends on no screen. */
#ifndef UI_SCROLL_H
#define UI_SCROLL_H

#include <kprof/ui/keys.h>
#include <stdbool.h>
#include <stddef.h>

struct scroll {
    size_t sel, top;
    size_t page; /* lines of the last draw */
    int row;     /* row of the canvas on which the first line was drawn; 0: not known */
};

bool scroll_key(struct scroll *a, enum action act, size_t n); /* false: not a movement */
void scroll_fit(struct scroll *a, size_t n,
                size_t page); /* sel and top into range; page remembered */
/* Returns the line that was drawn at a row of the canvas; SIZE_MAX: none. A list never has row
 * 0. */
size_t scroll_line_at(const struct scroll *a, int row);

#endif
