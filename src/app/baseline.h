/* A recording as a baseline: its whole run as one snapshot.
 *
 * Blocks while the file is read (at full speed). The caller frees the snapshot. Main thread. */
#ifndef KPROF_APP_BASELINE_H
#define KPROF_APP_BASELINE_H

#include <kprof/base/err.h>
#include <kprof/core/snapshot.h>

struct snapshot *baseline_load(const char *path, struct err *e); /* NULL: err */

#endif
