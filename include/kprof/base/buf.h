/* A growable byte buffer with a maximum size.
 *
 * Invariant: data[len] == 0 always (data is never NULL after buf_init); len <= max. Bytes that do
 * not fit under max are dropped and `truncated` is set. When memory runs out, the process aborts.
 * One thread at a time owns a buffer. */
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
void buf_release(struct buf *b); /* frees the memory; b can be used again, with the same max */
void buf_clear(struct buf *b);   /* sets len to 0 and keeps the memory */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addch(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns a copy of s, which the caller frees with free(). Aborts when memory runs out. */
char *buf_dup(const char *s);

#endif
