/* The line that lies above all points and as close to them as possible. It estimates the drift of a
 * clock from readings that delays can shift in one direction only.
 *
 * Invariant: no point lies above the line (except for rounding), and no other line above all points
 * has a smaller sum of distances. The line is the edge of the upper convex hull over the mean of x.
 * This is the linear program of Moon, Skelly, Towsley, "Estimation and removal of clock skew from
 * network delay measurements" (INFOCOM 1999), solved with a hull as in Zhang, Liu, Xia, "Clock
 * synchronization algorithms for network measurements" (INFOCOM 2002). Pure; any thread; allocates
 * nothing; O(n). */
#ifndef KPROF_BASE_ENVELOPE_H
#define KPROF_BASE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#define ENVELOPE_MAX 512 /* points */

struct envelope_point {
    double x, y;
};

struct envelope_line {
    double slope;
    double mean_x, at_mean; /* the line goes through this point */
    double distance;        /* mean distance of the points below the line */
};

/* x must grow from point to point; n is at most ENVELOPE_MAX. Returns false when there are fewer
 * than two points. */
bool envelope_above(const struct envelope_point *p, size_t n, struct envelope_line *out);

#endif
