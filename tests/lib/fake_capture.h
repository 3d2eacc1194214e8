/* A made-up capture for tests of the argument picker: always the same 20 calls of my_web:handle/2,
 * with tuples, maps, binaries, a list and a process. The caller frees the set, or passes it to the
 * ui. One thread. */
#ifndef KPROF_TESTS_FAKE_CAPTURE_H
#define KPROF_TESTS_FAKE_CAPTURE_H

#include <kprof/base/value_tree.h>

struct capture fake_capture(void);
/* Hostile texts, deep terms and large terms. */
struct capture fake_capture_hostile(void);

#endif
