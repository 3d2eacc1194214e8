#include "spark.h"

#include <math.h>

#define CELLS  64
#define LEVELS 8

/* The value of a cell, from the values [from, to); NAN: none is known. */
static double cell(const float *v, size_t from, size_t to, enum spark_by by)
{
    double sum = 0, top = 0;
    size_t known = 0;
    for (size_t i = from; i < to; i++) {
        if (!isfinite(v[i])) {
            continue;
        }
        double x = v[i] > 0 ? (double)v[i] : 0;
        sum += x;
        top = x > top ? x : top;
        known++;
    }
    return !known ? (double)NAN : by == SPARK_MAX ? top : sum / (double)known;
}

void spark_draw(struct canvas *c, int row, int col, int cols, enum style st, const float *v,
                size_t n, enum spark_by by)
{
    static const char *const block[LEVELS] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                                              "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                                              "\xe2\x96\x87", "\xe2\x96\x88"};
    static const char *const plain[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    double cells[CELLS], top = 0;
    size_t m = cols > 0 ? (size_t)cols : 0;
    m = m > CELLS ? CELLS : m;
    m = m > n ? n : m;
    for (size_t i = 0; i < m; i++) {
        cells[i] = cell(v, i * n / m, (i + 1) * n / m, by);
        top = cells[i] > top ? cells[i] : top;
    }
    for (size_t i = 0; i < m; i++) {
        if (isnan(cells[i])) {
            continue;
        }
        int level = top > 0 ? (int)(cells[i] / top * (LEVELS - 1) + 0.5) : 0;
        canvas_text(c, row, col + (int)i, 1, st, c->ascii ? plain[level] : block[level]);
    }
}
