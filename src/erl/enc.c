#include <kprof/erl/enc.h>

#include <assert.h>
#include <string.h>

static void put8(struct buf *b, unsigned v)
{
    buf_addch(b, (char)(v & 0xff));
}

static void put32(struct buf *b, uint32_t v)
{
    unsigned char p[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
                          (unsigned char)(v >> 8), (unsigned char)v};

    buf_add(b, p, sizeof p);
}

void enc_version(struct buf *b)
{
    put8(b, 131);
}

void enc_tuple(struct buf *b, uint32_t arity)
{
    if (arity <= 255) {
        put8(b, 104);
        put8(b, arity);
    } else {
        put8(b, 105);
        put32(b, arity);
    }
}

void enc_list(struct buf *b, uint32_t n)
{
    assert(n > 0);
    put8(b, 108);
    put32(b, n);
}

void enc_nil(struct buf *b)
{
    put8(b, 106);
}

void enc_map(struct buf *b, uint32_t pairs)
{
    put8(b, 116);
    put32(b, pairs);
}

void enc_atom(struct buf *b, const char *utf8)
{
    size_t n = strlen(utf8);

    assert(n <= 255 * 4);
    if (n <= 255) {
        put8(b, 119);
    } else {
        put8(b, 118);
        put8(b, (unsigned)(n >> 8));
    }
    put8(b, (unsigned)n);
    buf_add(b, utf8, n);
}

static void big(struct buf *b, uint64_t magnitude, bool negative)
{
    unsigned char digit[8];
    unsigned n = 0;

    for (; magnitude != 0; magnitude >>= 8)
        digit[n++] = (unsigned char)magnitude;
    put8(b, 110);
    put8(b, n);
    put8(b, negative);
    buf_add(b, digit, n);
}

void enc_fun(struct buf *b, const char *mod, const char *fun, uint8_t arity)
{
    put8(b, 113);
    enc_atom(b, mod);
    enc_atom(b, fun);
    put8(b, 97);
    put8(b, arity);
}

void enc_i64(struct buf *b, int64_t v)
{
    if (v >= 0 && v <= 255) {
        put8(b, 97);
        put8(b, (unsigned)v);
    } else if (v >= INT32_MIN && v <= INT32_MAX) {
        put8(b, 98);
        put32(b, (uint32_t)v);
    } else {
        big(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
    }
}

void enc_u64(struct buf *b, uint64_t v)
{
    if (v <= INT32_MAX)
        enc_i64(b, (int64_t)v);
    else
        big(b, v, false);
}

void enc_binary(struct buf *b, const void *p, size_t n)
{
    assert(n <= UINT32_MAX);
    put8(b, 109);
    put32(b, (uint32_t)n);
    buf_add(b, p, n);
}

void enc_str(struct buf *b, const char *s)
{
    enc_binary(b, s, strlen(s));
}
