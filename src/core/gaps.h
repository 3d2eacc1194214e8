/* Gaps: times in which nothing was traced, each with its reason. Also marks: the times at which a
 * traced module was loaded again. Private to core.
 *
 * Invariant: gaps are in order of time and do not overlap; only the newest may be open. The
 * GAPS_MAX newest gaps and the MARKS_MAX newest marks are stored. The time before the node first
 * reports that it traces is not a gap, so attaching makes no gap. Times are those of the node; this
 * unit reads no clock. One thread. */
#ifndef KPROF_CORE_GAPS_H
#define KPROF_CORE_GAPS_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GAPS_MAX  1024
#define MARKS_MAX 64
/* If two reports of the node are further apart than this, it did not run, or could not send,
 * between them. */
#define GAPS_SILENCE_NS UINT64_C(3000000000)

struct gap {
    uint64_t from_ns, to_ns; /* to_ns UINT64_MAX: the gap has not ended */
    enum gap_reason reason;
};

struct gaps {
    struct gap gap[GAPS_MAX]; /* ring */
    size_t n;                 /* number of gaps so far; the newest is n - 1, modulo GAPS_MAX */
    size_t least;             /* older ones were dropped */
    bool begun;               /* the node has reported tracing once */
    uint64_t begun_ns;        /* time of that report */
    uint64_t report_ns;       /* time of the last report of the node */
    struct {
        uint64_t at_ns;
        uint32_t text; /* interned */
    } mark[MARKS_MAX];
    size_t marks; /* number of marks so far */
};

void gaps_init(struct gaps *g);
/* The node reports that from ts_ns on nothing is traced, for this reason; GAP_NONE: it traces.
 * called_ns: the newest call seen. Calls show that the node ran, so a late report alone makes no
 * gap. */
void gaps_report(struct gaps *g, uint64_t ts_ns, enum gap_reason reason, uint64_t called_ns);
/* kprof-top itself detected GAP_LOST or GAP_SILENT since at_ns. GAP_LOST ends an open gap that the
 * node reported, because the agent that reported it has gone, but not GAP_OFF, which the operator
 * chose. A gap with GAP_SILENT is
 * removed if the next report of the node shows that only the report was late. */
void gaps_begin(struct gaps *g, uint64_t at_ns, enum gap_reason reason);
/* At the end of a run: removes the open gap, if it is GAP_OFF or GAP_LOST and began at since_ns or
 * later, and returns when it began. 0: there is none. */
uint64_t gaps_forget(struct gaps *g, uint64_t since_ns);
void gaps_zero(struct gaps *g, uint64_t now_ns); /* removes all gaps and marks before now_ns */

/* Returns how much of [from_ns, to_ns) was not traced. *most (may be NULL): the reason of most of
 * it, GAP_NONE when there is none. */
uint64_t gaps_ns(const struct gaps *g, uint64_t from_ns, uint64_t to_ns, enum gap_reason *most);
/* Returns the i-th newest gap; NULL: there are no more. */
const struct gap *gaps_newest(const struct gaps *g, size_t i);

void gaps_mark(struct gaps *g, uint64_t at_ns, uint32_t text);

#endif
