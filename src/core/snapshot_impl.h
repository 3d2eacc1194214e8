/* How a snapshot is made: its arena and its parts. For src/core/snapshot*.c only.
 *
 * Invariant: a part fills its own fields of the snapshot and changes no state of core but the
 * caches made for views (windows, heat, trend). One thread. */
#ifndef KPROF_CORE_SNAPSHOT_IMPL_H
#define KPROF_CORE_SNAPSHOT_IMPL_H

#include <kprof/core/snapshot.h>
#include <kprof/core/view_query.h>
#include <stddef.h>
#include <stdint.h>

struct core;

void *snapshot_take(struct snapshot *s, size_t bytes); /* memory that lives as long as s */
const char *snapshot_text(struct snapshot *s, const char *text); /* a copy in it */
/* The oldest open calls; ident_name by identity index, in the arena. */
void snapshot_add_open(const struct core *c, struct snapshot *s, const char *const *ident_name);
/* The gaps and marks of the window last viewed; -> the time of it that was traced, s. */
double snapshot_add_gaps(const struct core *c, struct snapshot *s, uint64_t wall_ns);
/* When a row's tier was set (ROW_TOTAL: the entry; without one, the tier that was set first). */
uint64_t snapshot_set_ns(const struct core *c, uint16_t tier);
/* Of traced_s, the time of the whole window that was traced, what the tier was there for. */
double snapshot_traced_s(const struct core *c, uint16_t tier, double traced_s);
/* The slow requests, newest first: those that are open, then those that have ended. */
void snapshot_add_slow(const struct core *c, struct snapshot *s, uint64_t wall_ns);
void snapshot_add_heat(struct core *c, struct snapshot *s, const struct view_query *l);
void snapshot_add_slow_traces(const struct core *c, struct snapshot *s, uint64_t wall_ns);

static inline double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

#endif
