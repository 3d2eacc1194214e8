/* Now against then: a snapshot that was kept as a mark, and what has changed since.
 *
 * Invariant: rows are matched by the names of tier and identity, so two runs or two recordings may
 * be compared. Owns the mark. Pure; core thread. */
#ifndef KPROF_CORE_COMPARE_H
#define KPROF_CORE_COMPARE_H

#include <kprof/core/snapshot.h>

struct compare;

/* Takes the snapshot over. name: what it is, for people ("03:04:05, 10s", a file); copied, cut. */
struct compare *compare_new(struct snapshot *then, const char *name);
void compare_free(struct compare *c); /* NULL is fine */
const struct snapshot *compare_then(const struct compare *c);

/* The row of the mark with r's names; NULL: there is none. */
const struct snap_row *compare_find(const struct compare *c, const struct snap_row *r);
/* Fills in s->compared and the rows' changes; for whoever made s, before it is handed on. */
void compare_apply(const struct compare *c, struct snapshot *s);

#endif
