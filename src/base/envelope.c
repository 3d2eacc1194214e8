#include <kprof/base/envelope.h>

#include <assert.h>

/* True: b is on or below the straight line from a to c. */
static bool below(const struct envelope_point *a, const struct envelope_point *b,
                  const struct envelope_point *c)
{
    return (b->y - a->y) * (c->x - a->x) <= (c->y - a->y) * (b->x - a->x);
}

/* Upper hull by Andrew's monotone chain; -> its points, as indices. */
static size_t hull_above(const struct envelope_point *p, size_t n, size_t *hull)
{
    size_t h = 0;

    for (size_t i = 0; i < n; i++) {
        while (h > 1 && below(&p[hull[h - 2]], &p[hull[h - 1]], &p[i]))
            h--;
        hull[h++] = i;
    }
    return h;
}

bool envelope_above(const struct envelope_point *p, size_t n, struct envelope_line *out)
{
    size_t hull[ENVELOPE_MAX], at = 1;
    double mean_y = 0;

    assert(n <= ENVELOPE_MAX);
    if (n < 2)
        return false;
    out->mean_x = 0;
    for (size_t i = 0; i < n; i++) {
        assert(i == 0 || p[i].x > p[i - 1].x);
        out->mean_x += p[i].x / (double)n;
        mean_y += p[i].y / (double)n;
    }
    size_t h = hull_above(p, n, hull);
    while (at + 1 < h && p[hull[at]].x < out->mean_x)
        at++;
    const struct envelope_point *from = &p[hull[at - 1]], *to = &p[hull[at]];
    out->slope = (to->y - from->y) / (to->x - from->x);
    out->at_mean = from->y + out->slope * (out->mean_x - from->x);
    out->distance = out->at_mean - mean_y;
    return true;
}
