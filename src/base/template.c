#include <kprof/base/template.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DIGIT = 1, UPPER = 2, LOWER = 4, HEX = 8, MARK = 16, STAR = 32 };
enum { UUID_BYTES = 36, HEX_LEAST = 8, RANDOM_LEAST = 16, SCHEME_MOST = 16 };

/* A segment consists of parts (letters, digits, all bytes without a class) between separators. '%'
 * has no class: it and the bytes that it quotes belong to a part. */
#define D DIGIT | HEX
#define V UPPER | HEX
#define U UPPER
#define H LOWER | HEX
#define L LOWER
#define M MARK
#define S STAR
static const uint8_t class_of[256] = {
    /* clang-format off */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 0x00 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 0x10 */
    M, M, M, M, M, 0, M, M, M, M, S, M, M, M, M, M, /* 0x20 */
    D, D, D, D, D, D, D, D, D, D, M, M, M, M, M, M, /* 0x30 */
    M, V, V, V, V, V, V, U, U, U, U, U, U, U, U, U, /* 0x40 */
    U, U, U, U, U, U, U, U, U, U, U, M, M, M, M, M, /* 0x50 */
    M, H, H, H, H, H, H, L, L, L, L, L, L, L, L, L, /* 0x60 */
    L, L, L, L, L, L, L, L, L, L, L, M, M, M, M, 0, /* 0x70 */
    /* clang-format on */
};
#undef D
#undef V
#undef U
#undef H
#undef L
#undef M
#undef S

static uint8_t class_at(const char *s)
{
    return class_of[(unsigned char)*s];
}

static bool is_uuid(const char *s)
{
    for (size_t i = 0; i < UUID_BYTES; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s[i] != '-' : !(class_at(s + i) & HEX))
            return false;
    }
    return true;
}

/* A transition that is rare inside words: an upper-case letter after a lower-case one, a letter
 * after a digit. */
static bool is_knot(uint8_t before, uint8_t now)
{
    return ((before & LOWER) && (now & UPPER)) || ((before & DIGIT) && (now & (UPPER | LOWER)));
}

/* A segment that looks random as a whole (such as base64 in URLs, with separators). CamelCase has
 * one such transition in every five or six characters, random letters and digits have one in every
 * three or four. */
static bool is_random(const char *s, size_t n)
{
    size_t knots = 0;
    uint8_t before = 0, any = 0;

    if (n < RANDOM_LEAST)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint8_t now = class_at(s + i);
        if (!now || (now & STAR) || ((now & MARK) && !strchr("-_=~+", s[i])))
            return false;
        knots += is_knot(before, now);
        any |= now;
        before = now;
    }
    return (any & DIGIT) ? knots >= 2 && knots * 8 >= n : knots * 4 >= n;
}

/* A date with a time: "02T10", "20240102T101112Z". */
static bool is_time(const char *s, size_t n)
{
    if (!(class_at(s) & DIGIT))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(class_at(s + i) & DIGIT) && s[i] != 'T' && s[i] != 'Z')
            return false;
    return true;
}

/* True: this part (not empty) is an id, which differs from request to request. */
static bool is_id(const char *s, size_t n)
{
    uint8_t any = 0, all = 0xff;
    bool plain = true;

    for (size_t i = 0; i < n; i++) {
        uint8_t now = class_at(s + i);
        any |= now;
        all &= now;
        plain = plain && now && now != STAR;
    }
    if (all & (DIGIT | STAR))
        return true;
    if (!(any & DIGIT))
        return (all & HEX) && n >= HEX_LEAST;
    return ((all & HEX) && n >= HEX_LEAST) || (plain && n >= RANDOM_LEAST) || is_time(s, n);
}

struct out {
    char *to;
    size_t n;
};

static void put(struct out *o, const char *s, size_t n)
{
    memcpy(o->to + o->n, s, n);
    o->n += n;
}

/* Ids with only separators between them are one id, and so is a segment whose parts are all ids. */
static void put_parts(struct out *o, const char *s, size_t n)
{
    size_t start = o->n, after_id = 0, literals = 0, ids = 0;

    for (size_t i = 0; i < n;) {
        size_t e = i;
        while (e < n && (class_at(s + e) & MARK))
            e++;
        if (e > i) {
            put(o, s + i, e - i);
            i = e;
            continue;
        }
        while (e < n && !(class_at(s + e) & MARK))
            e++;
        if (!is_id(s + i, e - i)) {
            put(o, s + i, e - i);
            literals++;
            after_id = 0;
        } else {
            if (after_id)
                o->n = after_id;
            else
                put(o, "*", 1);
            after_id = o->n;
            ids++;
        }
        i = e;
    }
    if (ids && !literals) {
        o->n = start;
        put(o, "*", 1);
    }
}

static void put_segment(struct out *o, const char *s, size_t n)
{
    uint8_t any = 0;

    for (size_t i = 0; i < n && i <= TEMPLATE_WORD; i++)
        any |= class_at(s + i);
    if (!(any & (DIGIT | STAR)) && n < HEX_LEAST)
        put(o, s, n);
    else if (n > TEMPLATE_WORD || (n == UUID_BYTES && is_uuid(s)) || is_random(s, n))
        put(o, "*", 1);
    else
        put_parts(o, s, n);
}

/* Bytes up to the first of two characters, or all. */
static size_t until(const char *s, size_t n, char a, char b)
{
    size_t i = 0;

    while (i < n && s[i] != a && s[i] != b)
        i++;
    return i;
}

/* Bytes of "http://", 0: none. */
static size_t scheme(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && i < SCHEME_MOST &&
           ((class_at(s + i) & (UPPER | LOWER)) ||
            (i > 0 && ((class_at(s + i) & DIGIT) || s[i] == '+' || s[i] == '-' || s[i] == '.'))))
        i++;
    return i > 0 && n - i >= 3 && memcmp(s + i, "://", 3) == 0 ? i + 3 : 0;
}

/* The user and the password are left out of a name. Returns the bytes read. */
static size_t put_host(struct out *o, const char *s, size_t n, bool cut)
{
    size_t from = scheme(s, n), end, at;

    if (!from)
        return 0;
    put(o, s, from);
    end = from + until(s + from, n - from, '/', '/');
    for (at = end; at > from && s[at - 1] != '@'; at--)
        ;
    if (end - at > TEMPLATE_WORD || (cut && end == n))
        put(o, "*", 1);
    else
        put(o, s + at, end - at);
    return end;
}

size_t template_path(const char *text, size_t n, char out[TEMPLATE_BYTES])
{
    struct out o = {out, 0};
    bool cut = n >= TEMPLATE_READS;
    size_t read = cut ? TEMPLATE_READS : n, end = until(text, read, '?', '#');

    cut = cut && end == read;
    size_t at = put_host(&o, text, end, cut);
    if (at == 0 && end == 0)
        put(&o, "/", 1);
    if (at < end && text[at] == '/') {
        put(&o, "/", 1);
        at++;
    }
    for (int segment = 0; at < end; segment++) {
        size_t len = until(text + at, end - at, '/', '/');
        if (segment == TEMPLATE_SEGMENTS) {
            put(&o, "...", 3);
            break;
        }
        if (cut && at + len == end)
            put(&o, "*", 1);
        else
            put_segment(&o, text + at, len);
        at += len;
        if (at < end) {
            put(&o, "/", 1);
            at++;
        }
    }
    return o.n;
}

/* ---- shapes ---- */

static bool in_word(const char *s)
{
    return (class_at(s) & (DIGIT | UPPER | LOWER)) || *s == '#' || (unsigned char)*s >= 0x80;
}

static void put_digits(struct out *o, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(class_at(s + i) & DIGIT) && s[i] != '#')
            o->to[o->n++] = s[i];
        else if (i == 0 || (!(class_at(s + i - 1) & DIGIT) && s[i - 1] != '#'))
            o->to[o->n++] = '#';
    }
}

static void put_word(struct out *o, const char *s, size_t n)
{
    if (n > TEMPLATE_WORD || (!memchr(s, '#', n) && is_id(s, n)))
        put(o, "#", 1);
    else
        put_digits(o, s, n);
}

/* The end of the word at s, which may be a UUID. */
static size_t word_end(const char *s, size_t n, bool cut)
{
    size_t e = 0;

    if (n >= UUID_BYTES && (n > UUID_BYTES ? !in_word(s + UUID_BYTES) : !cut) && is_uuid(s))
        return UUID_BYTES;
    while (e < n && in_word(s + e))
        e++;
    return e;
}

size_t template_shape(const char *text, size_t n, char out[TEMPLATE_BYTES])
{
    struct out o = {out, 0};
    bool cut = n >= TEMPLATE_READS;
    size_t end = cut ? TEMPLATE_READS : n;

    for (size_t at = 0; at < end;) {
        size_t len = word_end(text + at, end - at, cut);
        if (cut && len && at + len == end) /* the text may continue after the cut */
            break;
        if (len == UUID_BYTES && text[at + 8] == '-')
            put(&o, "#", 1);
        else if (len)
            put_word(&o, text + at, len);
        else
            put(&o, text + at, len = 1);
        at += len;
    }
    if (cut) {
        while (o.n > 0 && out[o.n - 1] == '.')
            o.n--;
        put(&o, "...", 3);
    }
    return o.n;
}
