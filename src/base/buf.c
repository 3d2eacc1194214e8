#include <kprof/base/buf.h>

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 64 };

#define DEFAULT_MAX ((size_t)64 << 20)

/* data points to this before the first byte. It is never written, because cap is 0 then. */
static const char nothing[1] = "";

void buf_init(struct buf *b, size_t max_bytes)
{
    if (max_bytes == 0)
        max_bytes = DEFAULT_MAX;
    assert(max_bytes < SIZE_MAX / 2);
    *b = (struct buf){.data = (char *)nothing, .max = max_bytes};
}

void buf_release(struct buf *b)
{
    if (b->cap > 0)
        free(b->data);
    buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->truncated = false;
    if (b->cap > 0)
        b->data[0] = 0;
}

/* Makes room for n more bytes and the NUL; returns how many of the n may be written. */
static size_t make_room(struct buf *b, size_t n)
{
    if (n > b->max - b->len) {
        n = b->max - b->len;
        b->truncated = true;
    }
    size_t need = b->len + n + 1;
    if (need <= b->cap)
        return n;
    size_t cap = b->cap > 0 ? b->cap : FIRST_BYTES;
    while (cap < need)
        cap *= 2;
    if (cap > b->max + 1)
        cap = b->max + 1;
    char *data = realloc(b->cap > 0 ? b->data : NULL, cap);
    if (!data)
        abort();
    data[b->len] = 0;
    b->data = data;
    b->cap = cap;
    return n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    n = make_room(b, n);
    memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = 0;
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addch(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

__attribute__((format(printf, 2, 0))) static void add_formatted(struct buf *b, const char *fmt,
                                                                va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t spare = b->cap > 0 ? b->cap - b->len : 0;
    int wanted = vsnprintf(b->cap > 0 ? b->data + b->len : NULL, spare, fmt, ap);
    if (wanted < 0) { /* a wide character the locale cannot write, or more than 2 GB */
        b->truncated = true;
        if (b->cap > 0)
            b->data[b->len] = 0;
        goto out;
    }
    size_t n = (size_t)wanted;
    if (n >= spare) {
        n = make_room(b, n);
        vsnprintf(b->data + b->len, n + 1, fmt, again);
    }
    b->len += n;
out:
    va_end(again);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_formatted(b, fmt, ap);
    va_end(ap);
}

char *buf_dup(const char *s)
{
    char *copy = strdup(s);
    if (!copy)
        abort();
    return copy;
}
