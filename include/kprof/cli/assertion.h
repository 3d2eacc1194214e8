/* A condition, for example `db.p99<20ms`: --assert checks it on the summary, --trigger while the
 * node runs.
 *
 * Invariant: plain data, no pointers; pure. The form is TIER[/IDENTITY].FIELD OP VALUE. OP is < <=
 * > >=. FIELD is a field of the exports (count, est_count, late, rate, errors, min, mean, sd, p25
 * ... p999, max, self, share, oldest_open). `node.FIELD` is a value of the node: run_queue,
 * memory (bytes, or 500M, 2G) or processes. `queue(NAME)` is the length of the message queue of the
 * process with this registered name; only for --trigger. A time needs a unit (20ms, 1500us); a
 * share is a fraction (0.01) or a percentage. If VALUE is a percentage with a sign (+10%), it is
 * relative to the same row of a baseline. Any thread. */
#ifndef KPROF_CLI_ASSERTION_H
#define KPROF_CLI_ASSERTION_H

#include <kprof/base/err.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>

#define ASSERTION_BYTES 256

enum assertion_node { /* a value of the node */
                      ASSERTION_NO_NODE,
                      ASSERTION_RUN_QUEUE,
                      ASSERTION_MEMORY,
                      ASSERTION_PROCESSES,
                      ASSERTION_QUEUE /* of a process */
};

struct assertion {
    char text[ASSERTION_BYTES];
    enum assertion_node node;  /* ASSERTION_NO_NODE: a value of a row */
    char row[ASSERTION_BYTES]; /* TIER or TIER/IDENTITY; of a queue: the name, without quotes */
    unsigned field;            /* index in the table of export/field */
    bool less, or_equal, relative;
    double value; /* in the unit of the field; relative: factor for the value of the baseline */
};

/* opt: "assert" or "trigger", for the error message. 0, or -1 with err. */
int assertion_parse(const char *opt, const char *text, struct assertion *out, struct err *e);
/* Reports whether the condition is about this tier, or an identity of it. */
bool assertion_of_tier(const struct assertion *a, const char *tier);
/* True: the condition holds. False: why gets a sentence with the reason. A row without calls has no
 * times, so no condition on its times holds. base: snapshot of the baseline, or NULL: none (a
 * relative condition then does not hold). */
bool assertion_holds(const struct assertion *a, const struct snapshot *s,
                     const struct snapshot *base, char *why, size_t cap);

#endif
