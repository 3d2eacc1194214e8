/* Reads the output of `perf script` into a profile, as kprof-top, FlameScope and perf write it: a
 * line with status (or command), process, time and event, then a line for each frame, leaf first,
 * then an empty line. Metrics (metric_erlang_NAME: VALUE, DELTA) are read from the first line or
 * from lines of their own; a frame in parentheses is the initial call.
 *
 * The bytes may arrive in pieces of any size and have any content: other lines are counted and left
 * out. Invariant: memory is bounded by PERF_SCRIPT_LINE_MAX and the limits of the profile. Pure,
 * except that it adds to the profile, which the caller owns. One thread. */
#ifndef KPROF_CORE_PERF_SCRIPT_H
#define KPROF_CORE_PERF_SCRIPT_H

#include <kprof/core/stack_profile.h>

#define PERF_SCRIPT_LINE_MAX  (1u << 16) /* bytes; a longer line is bad */
#define PERF_SCRIPT_DEPTH_MAX 1000u      /* frames; outer frames beyond this number are left out */

struct perf_script;

struct perf_script_counts {
    uint64_t samples, bad; /* bad: lines */
    uint64_t deep;         /* samples with more frames than PERF_SCRIPT_DEPTH_MAX */
};

/* True: the text begins like perf script, not like folded stacks. */
bool perf_script_is(const char *bytes, size_t n);

struct perf_script *perf_script_new(struct stack_profile *to);
void perf_script_feed(struct perf_script *f, const char *bytes, size_t n);
/* Takes the last sample, and frees f. */
struct perf_script_counts perf_script_end(struct perf_script *f);

#endif
