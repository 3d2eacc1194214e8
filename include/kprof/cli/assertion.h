/* --assert: a claim about the last table, as `db.p99<20ms`, and whether it holds.
 *
 * Invariant: plain data, no pointers; pure. TIER[/IDENTITY].FIGURE OP VALUE: OP is < <= > >=; a
 * figure is a column of the exports (count, est_count, late, rate, errors, min, mean, sd, p25 ...
 * p999, max, self, share, oldest_open); a time wants its unit (20ms, 1500us), share is of 1 or in
 * per cent. A percentage with a sign in the place of VALUE (+10%) is against the same row of a
 * baseline. Any thread. */
#ifndef KPROF_CLI_ASSERTION_H
#define KPROF_CLI_ASSERTION_H

#include <kprof/base/err.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>

#define ASSERTION_BYTES 256

struct assertion {
    char text[ASSERTION_BYTES];
    char row[ASSERTION_BYTES]; /* TIER or TIER/IDENTITY */
    unsigned field;            /* of export/field's table */
    bool less, or_equal, relative;
    double value; /* in the field's own unit; relative: the factor on the baseline's figure */
};

int assertion_parse(const char *text, struct assertion *out, struct err *e); /* 0, or -1 with err */
/* Does it hold? Not: why says so in a sentence. A row without calls has no times: no claim about
 * them holds. base: the baseline's snapshot, NULL: none (then a relative claim does not hold). */
bool assertion_holds(const struct assertion *a, const struct snapshot *s,
                     const struct snapshot *base, char *why, size_t cap);

#endif
