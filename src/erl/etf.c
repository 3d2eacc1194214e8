#include <kprof/erl/etf.h>

#include "etf_tag.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEW_FUN_MIN_BYTES 29u /* size, arity, uniq, index, count of free variables */

static inline uint32_t be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline size_t left(const struct etf *c)
{
    return (size_t)(c->end - c->p);
}

static bool fail(struct etf *c)
{
    c->bad = true;
    return false;
}

/* The tag is present, with n bytes after it. */
static inline bool has(const struct etf *c, size_t n)
{
    return !c->bad && left(c) > n;
}

void etf_init(struct etf *c, const void *bytes, size_t n)
{
    c->p = bytes ? bytes : (const void *)""; /* no bytes: avoids arithmetic on a null pointer */
    c->end = c->p + n;
    c->bad = false;
}

int etf_peek(const struct etf *c)
{
    return !c->bad && c->p < c->end ? *c->p : -1;
}

bool etf_version(struct etf *c)
{
    if (etf_peek(c) != T_VERSION)
        return fail(c);
    c->p++;
    return true;
}

bool etf_tuple(struct etf *c, uint32_t *arity)
{
    uint32_t n;
    size_t head;

    if (has(c, 1) && *c->p == T_SMALL_TUPLE) {
        n = c->p[1];
        head = 2;
    } else if (has(c, 4) && *c->p == T_LARGE_TUPLE) {
        n = be32(c->p + 1);
        head = 5;
    } else {
        return fail(c);
    }
    if (n > left(c) - head)
        return fail(c);
    c->p += head;
    *arity = n;
    return true;
}

bool etf_list(struct etf *c, uint32_t *n)
{
    if (etf_peek(c) == T_NIL) {
        c->p++;
        *n = 0;
        return true;
    }
    if (!has(c, 4) || *c->p != T_LIST)
        return fail(c);

    uint32_t count = be32(c->p + 1);
    /* An empty LIST_EXT would have a tail where NIL has none, and no VM writes it. */
    if (count == 0 || (uint64_t)count + 1 > left(c) - 5)
        return fail(c);
    c->p += 5;
    *n = count;
    return true;
}

bool etf_nil(struct etf *c)
{
    if (etf_peek(c) != T_NIL)
        return fail(c);
    c->p++;
    return true;
}

bool etf_map(struct etf *c, uint32_t *pairs)
{
    if (!has(c, 4) || *c->p != T_MAP)
        return fail(c);

    uint32_t n = be32(c->p + 1);
    if (2 * (uint64_t)n > left(c) - 5)
        return fail(c);
    c->p += 5;
    *pairs = n;
    return true;
}

/* The text of an atom; the cursor does not move. */
static inline bool atom_at(const struct etf *c, const uint8_t **s, size_t *n)
{
    size_t head;

    if (!has(c, 1))
        return false;
    switch (*c->p) {
    case T_SMALL_ATOM:
    case T_SMALL_ATOM_UTF8:
        *n = c->p[1];
        head = 2;
        break;
    case T_ATOM:
    case T_ATOM_UTF8:
        if (!has(c, 2))
            return false;
        *n = be16(c->p + 1);
        head = 3;
        break;
    default:
        return false;
    }
    if (*n > left(c) - head)
        return false;
    *s = c->p + head;
    return true;
}

bool etf_atom(struct etf *c, const char **s, size_t *n)
{
    const uint8_t *text;

    if (!atom_at(c, &text, n))
        return fail(c);
    *s = (const char *)text;
    c->p = text + *n;
    return true;
}

bool etf_is_atom(struct etf *c, const char *name)
{
    const uint8_t *text;
    size_t n;

    if (!atom_at(c, &text, &n) || strlen(name) != n || memcmp(name, text, n) != 0)
        return false;
    c->p = text + n;
    return true;
}

/* Magnitude and sign of an integer of up to 64 bits; the cursor moves only on success. */
static inline bool integer(struct etf *c, uint64_t *magnitude, bool *negative)
{
    uint64_t m = 0;
    size_t n;

    if (!has(c, 1))
        return false;
    switch (*c->p) {
    case T_SMALL_INTEGER:
        *magnitude = c->p[1];
        *negative = false;
        c->p += 2;
        return true;
    case T_INTEGER:
        if (!has(c, 4))
            return false;
        m = be32(c->p + 1);
        *negative = m >> 31 != 0;
        *magnitude = *negative ? (UINT64_C(1) << 32) - m : m;
        c->p += 5;
        return true;
    case T_SMALL_BIG:
        n = c->p[1];
        if (n > 8 || !has(c, 2 + n) || c->p[2] > 1)
            return false;
        for (size_t i = 0; i < n; i++)
            m |= (uint64_t)c->p[3 + i] << (8 * i);
        *magnitude = m;
        *negative = c->p[2] != 0 && m != 0;
        c->p += 3 + n;
        return true;
    default:
        return false;
    }
}

bool etf_u64(struct etf *c, uint64_t *v)
{
    bool negative;

    if (!integer(c, v, &negative) || negative)
        return fail(c);
    return true;
}

bool etf_i64(struct etf *c, int64_t *v)
{
    uint64_t m;
    bool negative;

    if (!integer(c, &m, &negative))
        return fail(c);
    if (m > (uint64_t)INT64_MAX + negative)
        return fail(c);
    if (!negative)
        *v = (int64_t)m;
    else
        *v = m == 0 ? 0 : -(int64_t)(m - 1) - 1;
    return true;
}

/* FLOAT_EXT is "%.20e" text in 31 bytes. Parsed without strtod, which follows the locale. */
static bool text_double(const uint8_t *s, size_t n, double *v)
{
    size_t i = 0;
    long double m = 0;
    int exponent = 0, written = 0;
    bool negative = false, exponent_negative = false, point = false, digits = false;

    if (i < n && (s[i] == '-' || s[i] == '+'))
        negative = s[i++] == '-';
    for (; i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && !point)); i++) {
        if (s[i] == '.') {
            point = true;
            continue;
        }
        m = m * 10 + (s[i] - '0');
        digits = true;
        exponent -= point;
    }
    if (!digits)
        return false;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        if (++i < n && (s[i] == '-' || s[i] == '+'))
            exponent_negative = s[i++] == '-';
        for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
            written = written < 10000 ? written * 10 + (s[i] - '0') : written;
    }
    if (i < n && s[i] != 0)
        return false;
    exponent += exponent_negative ? -written : written;
    m *= powl(10.0L, exponent);
    *v = (double)(negative ? -m : m);
    return isfinite(*v);
}

static bool big_double(const uint8_t *digits, size_t n, bool negative, double *v)
{
    double d = 0;

    for (size_t i = n; i > 0 && isfinite(d); i--)
        d = d * 256 + digits[i - 1];
    *v = negative ? -d : d;
    return isfinite(d);
}

bool etf_double(struct etf *c, double *v)
{
    uint64_t bits = 0;
    size_t n;
    bool negative;

    switch (etf_peek(c)) {
    case T_NEW_FLOAT:
        if (!has(c, 8))
            return fail(c);
        bits = (uint64_t)be32(c->p + 1) << 32 | be32(c->p + 5);
        memcpy(v, &bits, sizeof *v);
        if (!isfinite(*v)) /* no Erlang term has such a value */
            return fail(c);
        c->p += 9;
        return true;
    case T_FLOAT:
        if (!has(c, 31) || !text_double(c->p + 1, 31, v))
            return fail(c);
        c->p += 32;
        return true;
    case T_SMALL_BIG:
        if (!has(c, 2) || !has(c, 2 + (size_t)c->p[1]))
            return fail(c);
        n = c->p[1];
        if (!big_double(c->p + 3, n, c->p[2] != 0, v))
            return fail(c);
        c->p += 3 + n;
        return true;
    default:
        if (!integer(c, &bits, &negative))
            return fail(c);
        *v = negative ? -(double)bits : (double)bits;
        return true;
    }
}

bool etf_binary(struct etf *c, const uint8_t **b, size_t *n)
{
    if (!has(c, 4) || *c->p != T_BINARY)
        return fail(c);

    size_t len = be32(c->p + 1);
    if (len > left(c) - 5)
        return fail(c);
    *b = c->p + 5;
    *n = len;
    c->p += 5 + len;
    return true;
}

bool etf_string(struct etf *c, const uint8_t **b, size_t *n)
{
    size_t len;

    switch (etf_peek(c)) {
    case T_NIL:
        *b = c->p++;
        *n = 0;
        return true;
    case T_STRING:
        if (!has(c, 2))
            return fail(c);
        len = be16(c->p + 1);
        if (len > left(c) - 3)
            return fail(c);
        *b = c->p + 3;
        *n = len;
        c->p += 3 + len;
        return true;
    default:
        return etf_binary(c, b, n);
    }
}

void etf_text(struct etf *c, char *out, size_t cap)
{
    const uint8_t *b;
    size_t n;

    out[0] = 0;
    if (!etf_string(c, &b, &n))
        return;
    n = n < cap - 1 ? n : cap - 1;
    memcpy(out, b, n);
    out[n] = 0;
}

bool etf_pid(struct etf *c, uint64_t *pid)
{
    const char *node;
    size_t n, creation;

    switch (etf_peek(c)) {
    case T_PID:
        creation = 1;
        break;
    case T_NEW_PID:
        creation = 4;
        break;
    default:
        return fail(c);
    }
    c->p++;
    if (!etf_atom(c, &node, &n) || left(c) < 8 + creation)
        return fail(c);
    *pid = (uint64_t)be32(c->p + 4) << 32 | be32(c->p);
    c->p += 8 + creation;
    return true;
}

/* An atom (the node), then n bytes. */
static bool skip_node_and(struct etf *c, size_t n)
{
    const char *node;
    size_t node_n;

    if (!etf_atom(c, &node, &node_n) || left(c) < n)
        return fail(c);
    c->p += n;
    return true;
}

static bool skip_bytes(struct etf *c, uint64_t n)
{
    if (n > left(c))
        return fail(c);
    c->p += n;
    return true;
}

/* References since R6: count of words, node, creation, words. */
static bool skip_reference(struct etf *c, size_t creation)
{
    if (left(c) < 2)
        return fail(c);

    size_t words = be16(c->p);
    c->p += 2;
    return skip_node_and(c, creation + 4 * words);
}

/* Skips a term that has its length in it; the tag has been read. */
static bool skip_leaf(struct etf *c, uint8_t tag)
{
    switch (tag) {
    case T_NEW_FLOAT:
        return skip_bytes(c, 8);
    case T_FLOAT:
        return skip_bytes(c, 31);
    case T_SMALL_INTEGER:
        return skip_bytes(c, 1);
    case T_INTEGER:
        return skip_bytes(c, 4);
    case T_NIL:
        return true;
    case T_PORT:
        return skip_node_and(c, 5);
    case T_NEW_PORT:
        return skip_node_and(c, 8);
    case T_V4_PORT:
        return skip_node_and(c, 12);
    case T_REFERENCE:
        return skip_node_and(c, 5);
    case T_NEW_REFERENCE:
        return skip_reference(c, 1);
    case T_NEWER_REFERENCE:
        return skip_reference(c, 4);
    case T_PID:
        return skip_node_and(c, 9);
    case T_NEW_PID:
        return skip_node_and(c, 12);
    case T_SMALL_ATOM:
    case T_SMALL_ATOM_UTF8:
        return left(c) >= 1 ? skip_bytes(c, 1 + (uint64_t)c->p[0]) : fail(c);
    case T_ATOM:
    case T_ATOM_UTF8:
    case T_STRING:
        return left(c) >= 2 ? skip_bytes(c, 2 + (uint64_t)be16(c->p)) : fail(c);
    case T_BINARY:
        return left(c) >= 4 ? skip_bytes(c, 4 + (uint64_t)be32(c->p)) : fail(c);
    case T_BIT_BINARY:
        return left(c) >= 4 ? skip_bytes(c, 5 + (uint64_t)be32(c->p)) : fail(c);
    case T_SMALL_BIG:
        return left(c) >= 1 ? skip_bytes(c, 2 + (uint64_t)c->p[0]) : fail(c);
    case T_LARGE_BIG:
        return left(c) >= 4 ? skip_bytes(c, 5 + (uint64_t)be32(c->p)) : fail(c);
    case T_NEW_FUN: /* the size includes itself */
        if (left(c) < NEW_FUN_MIN_BYTES || be32(c->p) < NEW_FUN_MIN_BYTES)
            return fail(c);
        return skip_bytes(c, be32(c->p));
    default: /* LOCAL_EXT, compressed terms, atom cache references: kprof-top does not accept them
              */
        return fail(c);
    }
}

bool etf_skip(struct etf *c)
{
    uint64_t todo = 1; /* terms still to come; without recursion, so depth needs no limit */
    uint32_t n;

    while (todo > 0) {
        if (todo > left(c)) /* each term has at least one byte */
            return fail(c);
        todo--;
        switch (etf_peek(c)) {
        case T_SMALL_TUPLE:
        case T_LARGE_TUPLE:
            if (!etf_tuple(c, &n))
                return false;
            todo += n;
            break;
        case T_LIST:
            if (!etf_list(c, &n))
                return false;
            todo += (uint64_t)n + 1;
            break;
        case T_MAP:
            if (!etf_map(c, &n))
                return false;
            todo += 2 * (uint64_t)n;
            break;
        case T_EXPORT: /* module, function, arity */
            c->p++;
            todo += 3;
            break;
        case -1:
            return fail(c);
        default:
            c->p++;
            if (!skip_leaf(c, c->p[-1]))
                return false;
        }
    }
    return true;
}
