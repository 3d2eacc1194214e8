#include <kprof/base/map.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };

void map_init(struct map *m, size_t max_entries)
{
    assert(max_entries < SIZE_MAX / 32);
    *m = (struct map){.max = max_entries};
}

void map_release(struct map *m)
{
    free(m->keys);
    free(m->vals);
    map_init(m, m->max);
}

void map_clear(struct map *m)
{
    if (m->vals)
        memset(m->vals, 0xff, (m->mask + 1) * sizeof *m->vals);
    m->used = 0;
}

/* Keys are counters, pids and labels: close together and similar in the low bits. Multiplying by an
 * odd number near 2^64/phi spreads them (Knuth, vol. 3, 6.4), the shifts bring the high bits down.
 * */
static size_t home(const struct map *m, uint64_t key)
{
    key = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(key ^ key >> 32) & m->mask;
}

/* The slot of key, or the free slot for it. There is always a free one. */
static size_t slot_of(const struct map *m, uint64_t key)
{
    size_t i = home(m, key);
    while (m->vals[i] != MAP_EMPTY && m->keys[i] != key)
        i = (i + 1) & m->mask;
    return i;
}

static void grow(struct map *m)
{
    struct map old = *m;
    size_t slots = old.vals ? (old.mask + 1) * 2 : FIRST_SLOTS;
    m->keys = malloc(slots * sizeof *m->keys);
    m->vals = malloc(slots * sizeof *m->vals);
    if (!m->keys || !m->vals)
        abort();
    memset(m->vals, 0xff, slots * sizeof *m->vals);
    m->mask = slots - 1;
    for (size_t i = 0; old.vals && i <= old.mask; i++) {
        if (old.vals[i] == MAP_EMPTY)
            continue;
        size_t to = slot_of(m, old.keys[i]);
        m->keys[to] = old.keys[i];
        m->vals[to] = old.vals[i];
    }
    free(old.keys);
    free(old.vals);
}

uint32_t map_get(const struct map *m, uint64_t key)
{
    return m->used > 0 ? m->vals[slot_of(m, key)] : MAP_EMPTY;
}

bool map_put(struct map *m, uint64_t key, uint32_t val)
{
    assert(val != MAP_EMPTY);
    size_t i = 0;
    if (m->vals) {
        i = slot_of(m, key);
        if (m->vals[i] != MAP_EMPTY) {
            m->vals[i] = val;
            return true;
        }
    }
    if (m->used >= m->max)
        return false;
    if (!m->vals || (m->used + 1) * 4 > (m->mask + 1) * 3) {
        grow(m);
        i = slot_of(m, key);
    }
    m->keys[i] = key;
    m->vals[i] = val;
    m->used++;
    return true;
}

bool map_del(struct map *m, uint64_t key)
{
    if (m->used == 0)
        return false;
    size_t hole = slot_of(m, key);
    if (m->vals[hole] == MAP_EMPTY)
        return false;
    /* Entries after the hole move back into it unless that would put them before their home slot
     * (Knuth, vol. 3, 6.4, algorithm R). */
    for (size_t i = (hole + 1) & m->mask; m->vals[i] != MAP_EMPTY; i = (i + 1) & m->mask) {
        size_t from_home = (i - home(m, m->keys[i])) & m->mask;
        if (from_home >= ((i - hole) & m->mask)) {
            m->keys[hole] = m->keys[i];
            m->vals[hole] = m->vals[i];
            hole = i;
        }
    }
    m->vals[hole] = MAP_EMPTY;
    m->used--;
    return true;
}
