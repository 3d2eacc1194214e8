/* Made-up parts of the time for the rows and the slow requests of a made-up snapshot.
 *
 * fake_parts_give changes the snapshot; fake_parts_free takes all of it back, and must come before
 * fake_free. The pieces of each call are contiguous from its start to its end. Values depend only
 * on the snapshot. One thread. */
#ifndef KPROF_TESTS_FAKE_PARTS_H
#define KPROF_TESTS_FAKE_PARTS_H

#include <kprof/core/snapshot.h>

struct fake_parts;

struct fake_parts *fake_parts_give(struct snapshot *s);
void fake_parts_free(struct fake_parts *p); /* NULL is fine */

#endif
