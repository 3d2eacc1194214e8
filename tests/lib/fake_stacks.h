/* A made-up profile for tests: known shares, all metrics, names with characters that formats must
 * escape. */
#ifndef KPROF_TESTS_FAKE_STACKS_H
#define KPROF_TESTS_FAKE_STACKS_H

#include <kprof/core/stack_profile.h>

/* f/1 uses CPU and is called by g/1 and h/1 at 2:1; one process holds many binaries, one has a
 * growing message queue, one recurses and waits inside requests. 300 samples with weight 1, 10 ms
 * apart in each process. hostile: names with <, &, quotes, unicode, control characters, invalid
 * bytes. */
struct stack_profile *fake_stacks(bool hostile);

#endif
