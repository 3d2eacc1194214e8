/* FNV-1a, 64 bits (Fowler, Noll, Vo): short keys from bytes. Collisions are easy to produce, so
 * callers must detect or tolerate them. Pure; any thread. */
#ifndef KPROF_BASE_FNV_H
#define KPROF_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

/* Returns the hash of the bytes hashed so far (h, at first FNV_START) followed by n more bytes. */
static inline uint64_t fnv_add(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

#endif
