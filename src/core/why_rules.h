/* The rules of core/why, by unit. Each looks for one kind of cause in the facts. If it finds it, it
 * fills all fields of `out` but `rule`. Private to core. Pure. */
#ifndef CORE_WHY_RULES_H
#define CORE_WHY_RULES_H

#include "why_facts.h"

enum why_answer {
    WHY_UNKNOWN, /* not enough calls, or no data of this kind */
    WHY_NO,
    WHY_YES
};

/* why_time: which tier takes the time. */
enum why_answer why_time_tier(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_time_differs(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_time_repeats(const struct why_facts *f, struct snap_finding *out);
/* why_wait: what requests wait for. */
enum why_answer why_wait_queue(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_wait_lock(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_wait_hangs(const struct why_facts *f, struct snap_finding *out);
/* why_part: parts of the time of calls, if the node reports them. */
enum why_answer why_part_gc(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_part_dirty(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_part_port(const struct why_facts *f, struct snap_finding *out);
/* The row whose calls spend most of their time in the part, weighted by the row's share of all
 * time. */
struct why_part {
    const struct snap_row *row; /* NULL: no row has enough of the part */
    double share, score;
    bool slow;  /* the share is of the slowest 1 % of the calls */
    bool known; /* there are parts of enough calls */
};
struct why_part why_part_most(const struct why_facts *f, enum time_part p);
/* "the calls of db (43 of them were followed)" */
struct why_part_text {
    char s[200];
};
struct why_part_text why_part_calls(const struct why_part *p);
/* why_node: the node, and tracing. */
enum why_answer why_node_run_queue(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_node_dirty_queue(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_node_memory(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_node_gap(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_node_lost(const struct why_facts *f, struct snap_finding *out);
/* why_change: what is different from before, or fails. */
enum why_answer why_change_errors(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_change_frequent(const struct why_facts *f, struct snap_finding *out);
enum why_answer why_change_slower(const struct why_facts *f, struct snap_finding *out);

#endif
