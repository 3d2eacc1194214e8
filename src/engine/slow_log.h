/* The file of --slow-log: slow requests when they have ended, one JSON object per line.
 *
 * Invariant: only whole lines are written, always at the end of the file. The first failure ends
 * the slow log with one sentence; everything else continues. A new file is 0600. Lines are appended
 * to an existing file only if it is a slow log or empty, so no other file is overwritten or mixed.
 * Core thread only. */
#ifndef KPROF_ENGINE_SLOW_LOG_H
#define KPROF_ENGINE_SLOW_LOG_H

#include <kprof/base/err.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>

struct slow_log;

struct slow_log *slow_log_open(const char *path, struct err *e); /* NULL: err */
/* missed: number of slow requests before w that were not added. */
void slow_log_add(struct slow_log *l, const struct snapshot *s, const struct snap_slow *w,
                  const char *node, uint64_t missed);
void slow_log_flush(struct slow_log *l);
/* Returns the sentence of the failure once; NULL: no failure, or the sentence was already
 * returned. */
const char *slow_log_trouble(struct slow_log *l);
void slow_log_close(struct slow_log *l); /* NULL is allowed; flushes */

#endif
