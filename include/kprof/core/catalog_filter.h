/* The functions of a catalog that match what is typed, best first.
 *
 * Invariant: what is there is what fuzzy_score matches, every function once; the order is by score
 * (the node's own code has a start over libraries, these over the platform's; what is known to be
 * called over what is not), then own before library before platform, called before not, short
 * before long, then by number, so it depends on nothing but text and catalog. Rates that come in
 * later count from the next key on: what is in sight stays where it is. Typing more narrows
 * what is there instead of beginning anew. Owns its memory, borrows the catalog. One thread. */
#ifndef KPROF_CORE_CATALOG_FILTER_H
#define KPROF_CORE_CATALOG_FILTER_H

#include <kprof/core/catalog.h>

struct catalog_filter {
    char text[256];
    uint32_t seen;         /* functions of the catalog that were compared */
    uint64_t *key, *spare; /* score, origin, called, length, number, packed so that they sort */
    size_t n, room;
};

void catalog_filter_init(struct catalog_filter *s);
void catalog_filter_release(struct catalog_filter *s);
void catalog_filter_forget(struct catalog_filter *s); /* the catalog is another one */
/* Looks at what is new: another text, more functions. c NULL: none. */
void catalog_filter_update(struct catalog_filter *s, const struct catalog *c, const char *text);
size_t catalog_filter_count(const struct catalog_filter *s);
uint32_t catalog_filter_at(const struct catalog_filter *s, size_t i); /* number of the i-th best */

#endif
