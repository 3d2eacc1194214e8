/* Reads folded stacks into a profile: a line for each stack, frames from the root separated by
 * semicolons, then a blank and a count. Also reads files of eflame: a process first, no count.
 *
 * Bytes may arrive in pieces of any size and have any content: other lines are counted and left
 * out. Invariant: FOLDED_LINE_MAX and the limits of the profile bound the memory. Pure, except that
 * it adds to the profile, which the caller owns. One thread. */
#ifndef KPROF_CORE_FOLDED_H
#define KPROF_CORE_FOLDED_H

#include <kprof/core/stack_profile.h>

#define FOLDED_LINE_MAX  (1u << 20) /* bytes; longer lines are bad */
#define FOLDED_DEPTH_MAX 1000u      /* frames; deeper frames are left out, but the line counts */

struct folded;

struct folded_counts {
    uint64_t lines; /* lines that were added */
    uint64_t bad;   /* lines that are not a stack with a count */
    uint64_t deep;  /* added, but deeper than FOLDED_DEPTH_MAX */
};

struct folded *folded_new(struct stack_profile *to);
void folded_feed(struct folded *f, const char *bytes, size_t n);
/* Adds the last line, if it has no newline, and frees f. */
struct folded_counts folded_end(struct folded *f);

#endif
