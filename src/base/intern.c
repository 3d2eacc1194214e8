#include <kprof/base/intern.h>
#include <kprof/base/must.h>

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    CHUNK_BITS = 10,
    CHUNK_ENTRIES = 1 << CHUNK_BITS,
    BLOCK_BYTES = 32 << 10,
    OWN_BLOCK_BYTES = BLOCK_BYTES / 4, /* longer strings get their own block */
    FIRST_SLOTS = 256,
};

__extension__ typedef unsigned __int128 u128;

struct entry {
    const char *str;
    uint32_t len, hash;
};

struct block {
    struct block *next;
    char bytes[];
};

/* Readers use only `chunks` and `count`. A chunk never moves; an entry is written before `count` is
 * raised over it, and before its id can leave the adder. */
struct intern {
    _Atomic(struct entry *) *chunks;
    _Atomic uint32_t count; /* entries, the empty one of id 0 included */
    _Atomic uint64_t refused;

    uint32_t max_ids;
    size_t max_bytes, bytes; /* of strings with their NUL */
    struct block *blocks;
    char *free_at; /* free part of the newest shared block */
    size_t free_bytes;
    uint64_t *slots; /* hash << 32 | id; 0: free. Linear probing, at most half full */
    size_t mask;
    uint64_t seed[2]; /* secret, because the node chooses the strings and must not be able to
                         produce collisions */
};

static void *block_of(struct intern *t, size_t n)
{
    struct block *b = must(malloc(sizeof *b + n));
    b->next = t->blocks;
    t->blocks = b;
    return b->bytes;
}

static struct entry *entry_of(const struct intern *t, uint32_t id)
{
    struct entry *chunk = atomic_load_explicit(&t->chunks[id >> CHUNK_BITS], memory_order_acquire);
    return &chunk[id & (CHUNK_ENTRIES - 1)];
}

static void append(struct intern *t, struct entry e)
{
    uint32_t id = atomic_load_explicit(&t->count, memory_order_relaxed);
    if ((id & (CHUNK_ENTRIES - 1)) == 0) {
        struct entry *chunk = must(calloc(CHUNK_ENTRIES, sizeof *chunk));
        atomic_store_explicit(&t->chunks[id >> CHUNK_BITS], chunk, memory_order_release);
    }
    *entry_of(t, id) = e;
    atomic_store_explicit(&t->count, id + 1, memory_order_release);
}

struct intern *intern_new(uint32_t max_ids, size_t max_bytes)
{
    assert(max_ids < UINT32_MAX - 1);
    struct intern *t = must(calloc(1, sizeof *t));
    t->max_ids = max_ids;
    t->max_bytes = max_bytes;
    t->chunks = must(calloc((size_t)(max_ids >> CHUNK_BITS) + 1, sizeof *t->chunks));
    t->slots = must(calloc(FIRST_SLOTS, sizeof *t->slots));
    t->mask = FIRST_SLOTS - 1;
    if (getrandom(t->seed, sizeof t->seed, GRND_NONBLOCK) != (ssize_t)sizeof t->seed) {
        t->seed[0] = (uint64_t)time(NULL);
        t->seed[1] = (uint64_t)(uintptr_t)t;
    }
    append(t, (struct entry){.str = ""});
    return t;
}

void intern_free(struct intern *t)
{
    if (!t)
        return;
    for (size_t i = 0; i <= t->max_ids >> CHUNK_BITS; i++)
        free(atomic_load_explicit(&t->chunks[i], memory_order_relaxed));
    for (struct block *b = t->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free((void *)t->chunks);
    free(t->slots);
    free(t);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    u128 p = (u128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t word(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Two lanes of "multiply, fold the halves" over 8-byte words (the idea of wyhash, Wang Yi); the
 * last words overlap the previous ones, and the length distinguishes such strings. */
static uint32_t hash_of(const struct intern *t, const char *p, size_t n)
{
    const uint64_t k0 = UINT64_C(0x9e3779b97f4a7c15), k1 = UINT64_C(0xd1b54a32d192ed03);
    uint64_t a = t->seed[0], b = t->seed[1] ^ n;
    if (n >= 16) {
        size_t i = 0;
        for (; i + 16 < n; i += 16) {
            a = fold(a ^ word(p + i), k0);
            b = fold(b ^ word(p + i + 8), k1);
        }
        a ^= word(p + n - 16);
        b ^= word(p + n - 8);
    } else if (n >= 8) {
        a ^= word(p);
        b ^= word(p + n - 8);
    } else {
        uint64_t w = 0;
        for (size_t i = 0; i < n; i++)
            w = w << 8 | (unsigned char)p[i];
        a ^= w;
    }
    uint64_t h = fold(fold(a, k0) ^ b, k1 ^ t->seed[0]);
    return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds the string, or the free one for it. */
static size_t slot_of(const struct intern *t, uint32_t hash, const void *bytes, size_t n)
{
    size_t i = hash & t->mask;
    for (; t->slots[i] != 0; i = (i + 1) & t->mask) {
        if (t->slots[i] >> 32 != hash)
            continue;
        const struct entry *e = entry_of(t, (uint32_t)t->slots[i]);
        if (e->len == n && memcmp(e->str, bytes, n) == 0)
            break;
    }
    return i;
}

static void grow_slots(struct intern *t)
{
    size_t slots = (t->mask + 1) * 2;
    free(t->slots);
    t->slots = must(calloc(slots, sizeof *t->slots));
    t->mask = slots - 1;
    uint32_t count = intern_count(t);
    for (uint32_t id = 1; id <= count; id++) {
        uint32_t hash = entry_of(t, id)->hash;
        size_t i = hash & t->mask;
        while (t->slots[i] != 0)
            i = (i + 1) & t->mask;
        t->slots[i] = (uint64_t)hash << 32 | id;
    }
}

static const char *keep(struct intern *t, const void *bytes, size_t n)
{
    char *at;
    if (n + 1 > OWN_BLOCK_BYTES) {
        at = block_of(t, n + 1);
    } else {
        if (n + 1 > t->free_bytes) {
            t->free_at = block_of(t, BLOCK_BYTES);
            t->free_bytes = BLOCK_BYTES;
        }
        at = t->free_at;
        t->free_at += n + 1;
        t->free_bytes -= n + 1;
    }
    memcpy(at, bytes, n);
    at[n] = 0;
    t->bytes += n + 1;
    return at;
}

void intern_room(const struct intern *t, uint32_t *ids, size_t *bytes)
{
    *ids = t->max_ids - intern_count(t);
    *bytes = t->max_bytes - t->bytes;
}

uint32_t intern_add(struct intern *t, const void *bytes, size_t n)
{
    return intern_add_leaving(t, bytes, n, 0, 0);
}

uint32_t intern_add_leaving(struct intern *t, const void *bytes, size_t n, uint32_t leave_ids,
                            size_t leave_bytes)
{
    uint32_t ids;
    size_t room;

    if (n == 0)
        return INTERN_NONE;
    uint32_t hash = hash_of(t, bytes, n);
    size_t slot = slot_of(t, hash, bytes, n);
    if (t->slots[slot] != 0)
        return (uint32_t)t->slots[slot];
    uint32_t count = intern_count(t);
    intern_room(t, &ids, &room);
    if (ids <= leave_ids || room <= leave_bytes || n >= room - leave_bytes || n >= UINT32_MAX) {
        atomic_fetch_add_explicit(&t->refused, 1, memory_order_relaxed);
        return INTERN_FULL;
    }
    append(t, (struct entry){.str = keep(t, bytes, n), .len = (uint32_t)n, .hash = hash});
    t->slots[slot] = (uint64_t)hash << 32 | (count + 1);
    if (((size_t)count + 1) * 2 > t->mask)
        grow_slots(t);
    return count + 1;
}

uint32_t intern_find(const struct intern *t, const void *bytes, size_t n)
{
    return n > 0 ? (uint32_t)t->slots[slot_of(t, hash_of(t, bytes, n), bytes, n)] : INTERN_NONE;
}

const char *intern_str(const struct intern *t, uint32_t id)
{
    if (id == INTERN_FULL)
        return "<other>";
    assert(id <= intern_count(t));
    return entry_of(t, id)->str;
}

size_t intern_len(const struct intern *t, uint32_t id)
{
    if (id == INTERN_FULL)
        return strlen("<other>");
    assert(id <= intern_count(t));
    return entry_of(t, id)->len;
}

uint32_t intern_count(const struct intern *t)
{
    return atomic_load_explicit(&t->count, memory_order_acquire) - 1;
}

uint64_t intern_refused(const struct intern *t)
{
    return atomic_load_explicit(&t->refused, memory_order_relaxed);
}
