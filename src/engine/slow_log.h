/* The file of --slow-log: slow requests as they come, one JSON object a line.
 *
 * Invariant: only whole lines are written, always at the end; the first failure ends it with one
 * sentence and everything else goes on. A new file is 0600; an existing one is added to only if it
 * is a slow log or empty: nothing of anybody's is overwritten or mixed. Core thread only. */
#ifndef KPROF_ENGINE_SLOW_LOG_H
#define KPROF_ENGINE_SLOW_LOG_H

#include <kprof/base/err.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>

struct slow_log;

struct slow_log *slow_log_open(const char *path, struct err *e); /* NULL: err */
/* Calls `missed` before it did not get here. */
void slow_log_add(struct slow_log *l, const struct snap_slow *w, const char *node, uint64_t missed);
void slow_log_flush(struct slow_log *l);
/* The sentence of its failure, given once; NULL: all is well, or it was given. */
const char *slow_log_trouble(struct slow_log *l);
void slow_log_close(struct slow_log *l); /* NULL is fine; flushes */

#endif
