/* The lines of the table: rows of a snapshot filtered, sorted and folded, as a tree.
 *
 * Tree: tiers, their identities under them. Pivot: identities, their tiers under them. `_total`
 * (pivot: all identities together) stays first. Lines point into the snapshot and live no longer
 * than it. One thread. */
#ifndef UI_VIEW_H
#define UI_VIEW_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which groups are folded: all but some, or none but some. */
struct folds {
    bool all;
    uint64_t *key; /* the exceptions */
    size_t n, cap;
    bool by_hand; /* the operator folded something: no more folding by itself */
};
void folds_flip(struct folds *f, uint64_t group);
void folds_flip_all(struct folds *f);
void folds_only(struct folds *f, bool all,
                const uint64_t *but); /* all or none, but one (NULL: no other) */
void folds_release(struct folds *f);

struct view_opts {
    bool pivot, reverse;
    int sort;           /* SORT_ORDER, SORT_NAME, SORT_COLUMN + i */
    const char *filter; /* "": none. While there is one, nothing is folded */
    const struct folds *folds;
};

struct line {
    const struct snap_row *row; /* NULL: a group without figures of its own */
    const char *label;
    uint64_t key, group; /* the row's identity over snapshots; the group it is in */
    bool head, pinned, folded;
    size_t children; /* of a head */
};

struct view {
    struct line *lines;
    size_t n;
    size_t unfolded; /* lines there would be with nothing folded */
    size_t widest;   /* columns of the widest label of all rows, with its indent, folded or not */
};

uint64_t view_row_group(const struct snap_row *r, bool pivot);
void view_build(struct view *v, const struct snapshot *s, const struct view_opts *o);
void view_release(struct view *v);
size_t view_find(const struct view *v, uint64_t key); /* v->n: not there */

#endif
