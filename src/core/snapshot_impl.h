/* How a snapshot is made: its arena and its parts. Only src/core/snapshot*.c use it.
 *
 * Invariant: each part fills its own fields of the snapshot. It changes no state of core except the
 * caches for views (windows, heat, trend). One thread. */
#ifndef KPROF_CORE_SNAPSHOT_IMPL_H
#define KPROF_CORE_SNAPSHOT_IMPL_H

#include <kprof/core/snapshot.h>
#include <kprof/core/view_query.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct hist;

void *snapshot_take(struct snapshot *s, size_t bytes); /* memory that lives as long as s */
const char *snapshot_text(struct snapshot *s, const char *text); /* a copy in the arena of s */
/* Adds the oldest open calls. ident_name: by identity index, in the arena. */
void snapshot_add_open(const struct core *c, struct snapshot *s, const char *const *ident_name);
/* Adds the gaps and marks of the window last viewed. Returns for how many seconds of the window
 * calls were traced. */
double snapshot_add_gaps(const struct core *c, struct snapshot *s, uint64_t wall_ns);
/* Returns why the row of a tier, which has its values, is empty; NULL: it is not, or the reason is
 * not known. */
const char *snapshot_note(const struct core *c, struct snapshot *s, const struct view_query *l,
                          const struct snap_row *r);
/* Returns when the tier of a row was set (ROW_TOTAL: the entry; without an entry, the tier that was
 * set first). */
uint64_t snapshot_set_ns(const struct core *c, uint16_t tier);
/* Returns the part of traced_s in which the tier was set. traced_s: the traced time of the whole
 * window. */
double snapshot_traced_s(const struct core *c, uint16_t tier, double traced_s);
/* The places of a request, most frequent first. Returns their number; *polls: all polls. */
size_t snapshot_places(const struct core *c, struct snapshot *s, uint64_t label,
                       const struct snap_place **out, uint32_t *polls);
/* Adds the slow requests, newest first: those that are open, then those that have ended. */
void snapshot_add_slow(const struct core *c, struct snapshot *s, uint64_t wall_ns);
struct figures;
void snapshot_fill_waits(struct snap_row *r, const struct figures *f); /* f: times in mailboxes */
void snapshot_fill_busiest(const struct core *c, struct snap_row *r, uint16_t tier);
void snapshot_add_heat(struct core *c, struct snapshot *s, const struct view_query *l);
void snapshot_add_slow_traces(const struct core *c, struct snapshot *s, uint64_t wall_ns);

/* Adds all VM events that are stored. */
void snapshot_add_vm_events(const struct core *c, struct snapshot *s, uint64_t wall_ns);
void snapshot_name_vm_events(struct snapshot *s, snapshot_who *who, void *arg);

static inline double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

#endif
