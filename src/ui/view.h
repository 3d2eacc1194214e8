/* The lines of the table: rows of a snapshot filtered, sorted and folded, as a tree.
 *
 * A tree has tiers with their identities under them. A pivot has identities with their tiers under
 * them. `_total` (pivot: all identities together) stays first. Lines point into the snapshot, which
 * must outlive them. One thread. */
#ifndef UI_VIEW_H
#define UI_VIEW_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folded groups: all except some, or only some. */
struct folds {
    bool all;
    uint64_t *key; /* the exceptions */
    size_t n, cap;
    bool by_hand; /* the operator has folded something: no more automatic folding */
};
void folds_flip(struct folds *f, uint64_t group);
void folds_flip_all(struct folds *f);
void folds_only(struct folds *f, bool all,
                const uint64_t *but); /* folds all or none, except *but (NULL: no exception) */
void folds_release(struct folds *f);

struct view_opts {
    bool pivot, reverse;
    int sort;           /* SORT_ORDER, SORT_NAME, SORT_COLUMN + i */
    const char *filter; /* "": none. While there is a filter, nothing is folded */
    const struct folds *folds;
};

struct line {
    const struct snap_row *row; /* NULL: a group without values of its own */
    const char *label;
    uint64_t key, group; /* key: the same row in all snapshots; group: the row's group */
    bool head, pinned, folded;
    size_t children; /* number of children of a head */
};

struct view {
    struct line *lines;
    size_t n;
    size_t unfolded; /* number of lines if nothing were folded */
    size_t widest;   /* columns of the widest label of all rows, with its indent, folded or not */
};

uint64_t view_row_key(const struct snap_row *r); /* as in struct line */
uint64_t view_row_group(const struct snap_row *r, bool pivot);
void view_build(struct view *v, const struct snapshot *s, const struct view_opts *o);
void view_release(struct view *v);
size_t view_find(const struct view *v, uint64_t key); /* v->n: not found */

#endif
