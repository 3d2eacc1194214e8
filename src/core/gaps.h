/* Gaps: the time in which nothing was traced, with why; and marks: moments worth a line in the
 * history (a traced module was loaded again). Inside of core.
 *
 * Invariant: gaps are in order of time and do not overlap; the newest may go on. The GAPS_MAX
 * newest are kept, and the MARKS_MAX newest marks. The attaching itself is no gap: nothing is one
 * before the target has said for the first time that it traces. Times are the target's; reads no
 * clock. One thread. */
#ifndef KPROF_CORE_GAPS_H
#define KPROF_CORE_GAPS_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GAPS_MAX  1024
#define MARKS_MAX 64
/* Two words of the target this far apart: it did not run, or could not speak, between them. */
#define GAPS_SILENCE_NS UINT64_C(3000000000)

struct gap {
    uint64_t from_ns, to_ns; /* to_ns UINT64_MAX: it goes on */
    enum gap_reason reason;
};

struct gaps {
    struct gap gap[GAPS_MAX]; /* ring */
    size_t n;                 /* ever begun; the newest is n - 1, modulo GAPS_MAX */
    size_t least;             /* older ones are forgotten */
    bool begun;               /* it has traced once, */
    uint64_t begun_ns;        /* from then on */
    uint64_t word_ns;         /* the target's last word */
    struct {
        uint64_t at_ns;
        uint32_t text; /* interned */
    } mark[MARKS_MAX];
    size_t marks; /* ever set */
};

void gaps_init(struct gaps *g);
/* The target's own word: from ts_ns on nothing is traced for this reason; GAP_NONE: it traces.
 * called_ns: the newest call seen, so that a late word alone is no silence. */
void gaps_word(struct gaps *g, uint64_t ts_ns, enum gap_reason reason, uint64_t called_ns);
/* Our own finding: GAP_LOST or GAP_SILENT since at_ns. A silence that the next word shows to have
 * been none is taken back. */
void gaps_begin(struct gaps *g, uint64_t at_ns, enum gap_reason reason);
/* The end of a run: GAP_OFF or GAP_LOST that goes on and began then or later is taken back. */
void gaps_forget(struct gaps *g, uint64_t since_ns);
void gaps_zero(struct gaps *g, uint64_t now_ns); /* what was before is forgotten */

/* How much of [from_ns, to_ns) is gap; *most (may be NULL): the reason of most of it, GAP_NONE when
 * there is none. */
uint64_t gaps_ns(const struct gaps *g, uint64_t from_ns, uint64_t to_ns, enum gap_reason *most);
/* The i-th newest; NULL: no more. */
const struct gap *gaps_newest(const struct gaps *g, size_t i);

void gaps_mark(struct gaps *g, uint64_t at_ns, uint32_t text);

#endif
