/* Reads folded stacks into a profile: a line for each stack, frames from the root separated by
 * semicolons, then a blank and a count. eflame's files are read, too: a process in front, no count.
 *
 * The bytes may come in pieces of any size and may be anything: what is no such line is counted and
 * left out. Invariant: memory is bounded by FOLDED_LINE_MAX and the limits of the profile. Pure but
 * for the profile, which the caller owns. One thread. */
#ifndef KPROF_CORE_FOLDED_H
#define KPROF_CORE_FOLDED_H

#include <kprof/core/stack_profile.h>

#define FOLDED_LINE_MAX  (1u << 20) /* bytes; a longer line is bad */
#define FOLDED_DEPTH_MAX 1000u      /* frames; deeper ones are left out, the line still counts */

struct folded;

struct folded_counts {
    uint64_t lines; /* that were taken */
    uint64_t bad;   /* that are no stack with a count */
    uint64_t deep;  /* that were taken, but are deeper than FOLDED_DEPTH_MAX */
};

struct folded *folded_new(struct stack_profile *to);
void folded_feed(struct folded *f, const char *bytes, size_t n);
/* Takes the last line, if it has no end, and frees f. */
struct folded_counts folded_end(struct folded *f);

#endif
