/* A part of the canvas. */
#ifndef UI_RECT_H
#define UI_RECT_H

struct rect {
    int row, col, rows, cols;
};

#endif
