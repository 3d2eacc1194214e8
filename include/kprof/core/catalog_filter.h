/* The functions of a catalog that match the typed text, best match first.
 *
 * Invariant: the list contains each function that fuzzy_score matches, once. The order is by score
 * (functions of the node's own code get extra points over those of libraries, and these over those
 * of the platform; functions known to be called get extra points over others), then own before
 * library before platform, called before not called, short before long, then by number. The order
 * therefore depends only on the text and the catalog. A rate that arrives later changes the order
 * only when the text changes next, so functions on the screen keep their places. When the operator
 * types more, the present list is narrowed instead of built again. Owns its memory, borrows the
 * catalog. One thread. */
#ifndef KPROF_CORE_CATALOG_FILTER_H
#define KPROF_CORE_CATALOG_FILTER_H

#include <kprof/core/catalog.h>

struct catalog_filter {
    char text[256];
    uint32_t seen;         /* functions of the catalog compared so far */
    uint64_t *key, *spare; /* score, origin, called, length, number, packed so that integers sort */
    size_t n, room;
};

void catalog_filter_init(struct catalog_filter *s);
void catalog_filter_release(struct catalog_filter *s);
void catalog_filter_forget(struct catalog_filter *s); /* call this when the catalog is replaced */
/* Updates the list after a change of the text or for functions added to the catalog. c NULL: there
 * is no catalog. */
void catalog_filter_update(struct catalog_filter *s, const struct catalog *c, const char *text);
/* Puts the functions known to be called first, most calls first; the others keep their order. It
 * lasts until the list changes; then the caller calls it again. */
void catalog_filter_by_calls(struct catalog_filter *s, const struct catalog *c);
size_t catalog_filter_count(const struct catalog_filter *s);
uint32_t catalog_filter_at(const struct catalog_filter *s, size_t i); /* number of the i-th best */

#endif
