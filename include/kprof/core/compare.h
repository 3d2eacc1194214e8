/* Compares a snapshot with an earlier one, the reference.
 *
 * Invariant: rows are matched by the names of tier and identity, so two runs or two recordings can
 * be compared. Owns the reference. Pure; core thread. */
#ifndef KPROF_CORE_COMPARE_H
#define KPROF_CORE_COMPARE_H

#include <kprof/core/snapshot.h>

struct compare;

/* Takes ownership of the snapshot. name: a description for the screen ("03:04:05, 10s", a file);
 * copied, and cut to fit. */
struct compare *compare_new(struct snapshot *then, const char *name);
void compare_free(struct compare *c); /* NULL is fine */
const struct snapshot *compare_then(const struct compare *c);

/* Returns the row of the reference with the same names as r; NULL: there is none. */
const struct snap_row *compare_find(const struct compare *c, const struct snap_row *r);
/* Sets s->compared and the changes in the rows of s. Only the maker of s calls this, before it
 * returns s. */
void compare_apply(const struct compare *c, struct snapshot *s);

#endif
