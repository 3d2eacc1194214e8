/* The functions of a catalog that match what is typed, best first.
 *
 * Invariant: what is there is what fuzzy_score matches, every function once; the order is by score
 * (the application's own code has a start over the platform's), then own before platform, short
 * before long, then by number, so it depends on nothing but text and catalog. Typing more narrows
 * what is there instead of beginning anew. Owns its memory, borrows the catalog. One thread. */
#ifndef KPROF_CORE_SIFT_H
#define KPROF_CORE_SIFT_H

#include <kprof/core/catalog.h>

struct sift {
    char text[256];
    uint32_t seen;         /* functions of the catalog that were looked at */
    uint64_t *key, *spare; /* score, platform, length and number, packed so that they sort */
    size_t n, room;
};

void sift_init(struct sift *s);
void sift_release(struct sift *s);
void sift_forget(struct sift *s); /* the catalog is another one */
/* Looks at what is new: another text, more functions. c NULL: none. */
void sift_update(struct sift *s, const struct catalog *c, const char *text);
size_t sift_count(const struct sift *s);
uint32_t sift_at(const struct sift *s, size_t i); /* number of the i-th best */

#endif
