/* A growable byte buffer with a ceiling.
 *
 * Invariant: data[len] == 0 always (data is never NULL after init); len <= max.
 * What does not fit under max is dropped and `truncated` is set; out of memory aborts.
 * Owned by one thread at a time. */
#ifndef KPROF_BASE_BUF_H
#define KPROF_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t len, cap, max; /* bytes */
    bool truncated;
};

void buf_init(struct buf *b, size_t max_bytes); /* max_bytes 0: 64 MiB */
void buf_release(struct buf *b);                /* frees; b is as after init(…, same max) */
void buf_clear(struct buf *b);                  /* len = 0, keeps the memory */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addch(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A copy of s, for free(). Out of memory aborts. */
char *buf_dup(const char *s);

#endif
