#include "record_ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct record_ring {
    uint8_t *bytes;
    size_t max, first, used; /* first: position of the oldest byte */
    char kind;               /* of the frames that `left` takes */
    record_ring_left *left;
    void *left_arg;
    uint8_t *leaves; /* the oldest frame, in one piece */
    size_t leaves_cap;
};

struct record_ring *record_ring_new(size_t max_bytes, char kind, record_ring_left *left, void *arg)
{
    struct record_ring *r = calloc(1, sizeof *r);

    if (!r || !(r->bytes = malloc(max_bytes)))
        abort();
    r->max = max_bytes;
    r->kind = kind;
    r->left = left;
    r->left_arg = arg;
    return r;
}

void record_ring_free(struct record_ring *r)
{
    if (!r)
        return;
    free(r->bytes);
    free(r->leaves);
    free(r);
}

static void put(struct record_ring *r, const void *bytes, size_t n)
{
    size_t at = (r->first + r->used) % r->max, straight = n < r->max - at ? n : r->max - at;

    if (n == 0)
        return;
    memcpy(r->bytes + at, bytes, straight);
    memcpy(r->bytes, (const uint8_t *)bytes + straight, n - straight);
    r->used += n;
}

/* offset: from the oldest byte */
static void get(const struct record_ring *r, size_t offset, uint8_t *to, size_t n)
{
    size_t at = (r->first + offset) % r->max, straight = n < r->max - at ? n : r->max - at;

    memcpy(to, r->bytes + at, straight);
    memcpy(to + straight, r->bytes, n - straight);
}

/* Bytes of the frame at this offset. */
static size_t frame_bytes(const struct record_ring *r, size_t offset)
{
    uint8_t h[RECORD_FRAME_BYTES];
    size_t n = 0;

    get(r, offset, h, sizeof h);
    for (size_t i = RECORD_FRAME_BYTES - 4; i < RECORD_FRAME_BYTES; i++)
        n = n << 8 | h[i];
    assert(n <= r->used - offset - RECORD_FRAME_BYTES);
    return n + RECORD_FRAME_BYTES;
}

static void drop_oldest(struct record_ring *r)
{
    size_t at = 0, n;

    if (r->left && (char)r->bytes[r->first] == r->kind) {
        n = record_ring_walk(r, &at, &r->leaves, &r->leaves_cap);
        r->left(r->left_arg, r->leaves, n);
    } else {
        n = frame_bytes(r, 0);
    }
    r->first = (r->first + n) % r->max;
    r->used -= n;
}

void record_ring_clear(struct record_ring *r)
{
    while (r->used > 0)
        drop_oldest(r);
}

void record_ring_add(struct record_ring *r, const uint8_t *head, const void *bytes, size_t n)
{
    size_t need = RECORD_FRAME_BYTES + n;

    if (need > r->max)
        return;
    while (r->max - r->used < need)
        drop_oldest(r);
    put(r, head, RECORD_FRAME_BYTES);
    put(r, bytes, n);
}

size_t record_ring_walk(const struct record_ring *r, size_t *at, uint8_t **out, size_t *cap)
{
    if (*at >= r->used)
        return 0;
    size_t n = frame_bytes(r, *at);
    if (n > *cap) {
        free(*out);
        *out = malloc(n);
        if (!*out)
            abort();
        *cap = n;
    }
    get(r, *at, *out, n);
    *at += n;
    return n;
}
