/* A hash map from 64-bit keys to 32-bit values with open addressing and deletion.
 *
 * Invariant: at most max entries; the load stays under 3/4 (the map doubles its size up to max).
 * Key 0 is allowed. Deletion moves entries back, so there are no tombstones. One thread. */
#ifndef KPROF_BASE_MAP_H
#define KPROF_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
    uint64_t *keys;
    uint32_t *vals; /* MAP_EMPTY: free slot */
    size_t mask, used, max;
};

#define MAP_EMPTY UINT32_MAX

void map_init(struct map *m, size_t max_entries);
void map_release(struct map *m);
void map_clear(struct map *m);
uint32_t map_get(const struct map *m, uint64_t key);     /* MAP_EMPTY if absent */
bool map_put(struct map *m, uint64_t key, uint32_t val); /* false: full, nothing changed */
bool map_del(struct map *m, uint64_t key);

#endif
