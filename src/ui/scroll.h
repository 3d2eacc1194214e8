/* A list of which one line is selected; keeps that line in sight. Pure; knows no screen. */
#ifndef UI_SCROLL_H
#define UI_SCROLL_H

#include <kprof/ui/keys.h>
#include <stdbool.h>
#include <stddef.h>

struct scroll {
    size_t sel, top;
    size_t page; /* lines shown by the last picture */
    int row;     /* of the canvas, where its first line was drawn; 0: not said */
};

bool scroll_key(struct scroll *a, enum action act, size_t n); /* false: not a movement */
void scroll_fit(struct scroll *a, size_t n,
                size_t page); /* sel and top into range; page remembered */
/* The line that was drawn at a row of the canvas: SIZE_MAX: none. row 0 is never a list's. */
size_t scroll_line_at(const struct scroll *a, int row);

#endif
