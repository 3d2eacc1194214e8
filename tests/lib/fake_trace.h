/* A made-up full trace for tests: a request in two processes, with a wait, a garbage collection, an
 * exception, recursion. */
#ifndef KPROF_TESTS_FAKE_TRACE_H
#define KPROF_TESTS_FAKE_TRACE_H

#include <kprof/core/call_tree.h>

/* many: also hundreds of functions, deep calls, and more processes. hostile: names with control
 * characters and invalid bytes. The caller frees tree, then profile. */
struct call_tree *fake_trace(bool many, bool hostile, struct stack_profile **profile);

#endif
