/* A capture of calls made up for tests of what points at them: always the same 20 calls of
 * my_web:handle/2, with a request as tuple, map, binaries, a list and a process. The caller frees
 * the set (or gives it to the ui). One thread. */
#ifndef KPROF_TESTS_FAKE_CAPTURE_H
#define KPROF_TESTS_FAKE_CAPTURE_H

#include <kprof/base/value_tree.h>

struct capture fake_capture(void);
/* Hostile texts, deep and wide. */
struct capture fake_capture_hostile(void);

#endif
