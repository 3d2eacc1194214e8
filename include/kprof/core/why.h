/* Findings: what explains the times of a snapshot, as sentences with values.
 *
 * Invariant: pure; the same snapshot gives the same findings. A rule that does not have enough
 * calls, or lacks its data, finds nothing and counts as unknown, so "nothing found" differs from
 * "not known". All values in a sentence are from the snapshot. The table of the rules is in
 * src/core/why.c, their thresholds are in why_*.c. Any thread. */
#ifndef KPROF_CORE_WHY_H
#define KPROF_CORE_WHY_H

#include <kprof/core/snapshot.h>

struct why_rule_text {
    const char *name;   /* "queue"; must not change: exports write it */
    const char *covers; /* what it examines, for "nothing found": "waiting for a busy process" */
};

/* Returns rule i of the table; NULL: there is none. At most 32 rules. */
const struct why_rule_text *why_rule(size_t i);
/* "table", "slow", ...: as exports write it. */
const char *why_proof_name(enum snap_proof p);
/* "calls", "vm", ...: as exports write it. */
const char *why_missing_name(enum snap_missing m);
/* The beginning of a line that lists rules: "Not enough data yet", "Needs an entry (...)" with the
 * key for it, or, in the output of a run without a screen, the option. */
struct why_missing_text {
    char s[80];
};
struct why_missing_text why_missing_text(enum snap_missing m, bool screen);
/* What rule i lacks; MISSING_COUNT: nothing, it has examined the values. */
enum snap_missing why_missing(const struct snap_why *w, size_t i);
/* Fills s->why. who: names of processes, as in snapshot_set_who; NULL: none are known. Only the
 * maker of the snapshot calls this, as the last step. */
void why_add(struct snapshot *s, snapshot_who *who, void *arg);

#endif
