#include "etf_tag.h"
#include "term_impl.h"

#include <kprof/erl/scan.h>

#include <kprof/base/text.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELIXIR "Elixir."

#define BIG_MAX_BYTES 512 /* for larger numbers the size is printed, not the digits */

void pen_init(struct pen *p, struct buf *out, size_t max_bytes)
{
    *p = (struct pen){.out = out, .start = out->len, .max = max_bytes};
}

void pen_add(struct pen *p, const char *s, size_t n)
{
    size_t room = p->max - (p->out->len - p->start), before = p->out->len;

    if (p->full || n == 0)
        return;
    if (n > room) {
        n = room;
        p->full = true;
    }
    buf_add(p->out, s, n);
    if (p->out->len < before + n) /* the maximum size of the buffer */
        p->full = true;
}

void pen_adds(struct pen *p, const char *s)
{
    pen_add(p, s, strlen(s));
}

void pen_addf(struct pen *p, const char *fmt, ...)
{
    char text[128];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pen_adds(p, text);
}

void pen_cp(struct pen *p, uint32_t cp)
{
    char utf8[4];

    pen_add(p, utf8, scan_utf8(cp, utf8));
}

void pen_done(struct pen *p)
{
    size_t dots = p->max < 3 ? p->max : 3, end = p->start + p->max - dots;

    if (!p->full)
        return;
    if (end > p->out->len)
        end = p->out->len > p->start + dots ? p->out->len - dots : p->start;
    for (int i = 0; i < 3 && end > p->start; i++) { /* not inside a character */
        if (((unsigned char)p->out->data[end] & 0xc0) != 0x80)
            break;
        end--;
    }
    if (end < p->out->len) { /* the data of an empty buf must not be written */
        p->out->len = end;
        p->out->data[end] = 0;
    }
    buf_add(p->out, "...", dots);
}

bool leaf_printable(uint32_t cp)
{
    if (cp < 0x20)
        return (cp >= 8 && cp <= 13) || cp == 27; /* \b \t \n \v \f \r \e */
    return cp <= 0x7e || (cp >= 0xa0 && cp < 0xd800) || (cp > 0xdfff && cp < 0xfffe) ||
           (cp > 0xffff && cp <= 0x10ffff);
}

static size_t next(const char *s, size_t n, bool latin1, uint32_t *cp)
{
    if (latin1) {
        *cp = (unsigned char)*s;
        return 1;
    }
    return text_next(s, n, cp);
}

void leaf_escaped(struct pen *p, uint32_t cp, char quote)
{
    static const char letters[] = "btnvfr"; /* from 8 on */

    if (cp == (unsigned char)quote || cp == '\\') {
        char pair[2] = {'\\', (char)cp};
        pen_add(p, pair, 2);
    } else if (cp >= 8 && cp <= 13) {
        char pair[2] = {'\\', letters[cp - 8]};
        pen_add(p, pair, 2);
    } else if (cp == 27) {
        pen_adds(p, "\\e");
    } else if (cp == 127) {
        pen_adds(p, "\\d");
    } else if (cp < 32 || (cp > 127 && cp < 160)) {
        pen_addf(p, "\\%03o", (unsigned)cp);
    } else {
        pen_cp(p, cp);
    }
}

void leaf_quoted(struct pen *p, const char *s, size_t n, bool latin1, char quote)
{
    uint32_t cp;

    pen_add(p, &quote, 1);
    while (n > 0 && !p->full) {
        size_t used = next(s, n, latin1, &cp);

        if (cp == UINT32_MAX)
            pen_addf(p, "\\%03o", (unsigned)(unsigned char)*s);
        else
            leaf_escaped(p, cp, quote);
        s += used;
        n -= used;
    }
    pen_add(p, &quote, 1);
}

void leaf_text(struct pen *p, const char *s, size_t n, bool latin1)
{
    if (!latin1) {
        pen_add(p, s, n);
        return;
    }
    for (size_t i = 0; i < n && !p->full; i++)
        pen_cp(p, (unsigned char)s[i]);
}

bool leaf_tag_is_latin1(int tag)
{
    return tag == T_ATOM || tag == T_SMALL_ATOM;
}

static bool is_reserved(const char *s, size_t n)
{
    static const char *const words[] = {
        "after", "and",  "andalso", "band",   "begin",   "bnot", "bor", "bsl",  "bsr",
        "bxor",  "case", "catch",   "cond",   "div",     "end",  "fun", "if",   "let",
        "not",   "of",   "or",      "orelse", "receive", "rem",  "try", "when", "xor"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], s, n) == 0)
            return true;
    return false;
}

bool leaf_atom_is_bare(const char *s, size_t n, bool latin1)
{
    bool first = true;
    uint32_t cp;

    if (n == 0 || is_reserved(s, n))
        return false;
    while (n > 0) {
        size_t used = next(s, n, latin1, &cp);
        bool lower = (cp >= 'a' && cp <= 'z') || (cp >= 0xdf && cp <= 0xff && cp != 0xf7);
        bool rest = (cp >= 'A' && cp <= 'Z') || (cp >= '0' && cp <= '9') || cp == '_' ||
                    cp == '@' || (cp >= 0xc0 && cp <= 0xde && cp != 0xd7);

        if (!lower && (first || !rest))
            return false;
        first = false;
        s += used;
        n -= used;
    }
    return true;
}

bool leaf_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t leaf_alias(const char *s, size_t n)
{
    size_t i = 0, end = 0;

    while (i < n && s[i] >= 'A' && s[i] <= 'Z') {
        while (i < n && leaf_is_word(s[i]))
            i++;
        end = i;
        if (i >= n || s[i] != '.')
            break;
        i++;
    }
    return end;
}

size_t leaf_elixir_prefix(const char *s, size_t n)
{
    size_t prefix = strlen(ELIXIR);
    bool elixir = n > prefix && memcmp(s, ELIXIR, prefix) == 0 &&
                  leaf_alias(s + prefix, n - prefix) == n - prefix;

    /* 'Elixir.Elixir.A' cut to Elixir.A would be read as another module. */
    if (elixir && n >= 2 * prefix - 1 && memcmp(s + prefix, ELIXIR, prefix - 1) == 0 &&
        (n == 2 * prefix - 1 || s[2 * prefix - 1] == '.'))
        elixir = false;
    return elixir ? prefix : 0;
}

void leaf_atom(struct pen *p, struct etf *c)
{
    bool latin1 = leaf_tag_is_latin1(etf_peek(c));
    const char *s;
    size_t n;

    if (!etf_atom(c, &s, &n))
        return;
    if (leaf_atom_is_bare(s, n, latin1))
        leaf_text(p, s, n, latin1);
    else
        leaf_quoted(p, s, n, latin1, '\'');
}

void leaf_integer(struct pen *p, struct etf *c)
{
    int64_t v;

    if (etf_i64(c, &v))
        pen_addf(p, "%lld", (long long)v);
}

/* Shortest digits that read back as d, and the decimal exponent: 0.DIGITS * 10^exponent. */
static int shortest(double d, char digits[20], int *exponent)
{
    char text[40];
    int n = 0;

    for (int precision = 0; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, d);
        if (strtod(text, NULL) == d) /* reads with the same locale */
            break;
    }
    for (const char *s = text; *s != 0 && *s != 'e'; s++)
        if (*s >= '0' && *s <= '9' && n < 19)
            digits[n++] = *s;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = 0;
    *exponent = atoi(strchr(text, 'e') + 1) + 1;
    return n;
}

static void scientific(struct pen *p, const char *digits, int n, int exponent)
{
    pen_addf(p, "%c.%se%d", digits[0], n == 1 ? "0" : digits + 1, exponent);
}

/* The rule of io_lib_format to choose between 1200.0 and 1.2e3: the shorter one, without zeros that
 * suggest digits beyond 2^53. */
void leaf_float(struct pen *p, struct etf *c)
{
    static const char zeros[] = "0000000000000000000000";
    char digits[20], exponent_text[16];
    struct etf in = *c;
    double d;
    int point;

    if (!etf_skip(c))
        return;
    if (!etf_double(&in, &d)) { /* a bit pattern that no Erlang float has */
        pen_adds(p, "#Float<bad>");
        return;
    }
    if (signbit(d))
        pen_adds(p, "-");
    d = fabs(d);
    if (d == 0) {
        pen_adds(p, "0.0");
        return;
    }
    int n = shortest(d, digits, &point);
    int cost =
        snprintf(exponent_text, sizeof exponent_text, "%d", point - 1) + 1 + (n == 1 ? 2 : 1);
    if (point > 0 && point < n)
        pen_addf(p, "%.*s.%s", point, digits, digits + point);
    else if (point == 0 || (point < 0 && 2 - point <= cost))
        pen_addf(p, "0.%.*s%s", -point, zeros, digits);
    else if (point >= n && point - n + 2 <= cost && d < 9007199254740992.0)
        pen_addf(p, "%s%.*s.0", digits, point - n, zeros);
    else
        scientific(p, digits, n, point - 1);
}

/* Little-endian base 256 to decimal, nine digits a step. */
static void decimal(struct pen *p, const uint8_t *b, size_t n)
{
    uint32_t limb[BIG_MAX_BYTES / 4 + 1] = {0}, part[BIG_MAX_BYTES];
    size_t limbs = (n + 3) / 4, parts = 0;

    for (size_t i = 0; i < n; i++)
        limb[i / 4] |= (uint32_t)b[i] << (8 * (i % 4));
    do {
        uint64_t rest = 0;

        for (size_t i = limbs; i > 0; i--) {
            rest = rest << 32 | limb[i - 1];
            limb[i - 1] = (uint32_t)(rest / 1000000000u);
            rest %= 1000000000u;
        }
        part[parts++] = (uint32_t)rest;
        while (limbs > 0 && limb[limbs - 1] == 0)
            limbs--;
    } while (limbs > 0);
    pen_addf(p, "%u", part[--parts]);
    while (parts > 0)
        pen_addf(p, "%09u", part[--parts]);
}

void leaf_big(struct pen *p, struct etf *c)
{
    const uint8_t *b = c->p;
    bool small = *b == T_SMALL_BIG;

    if (!etf_skip(c))
        return;
    size_t head = small ? 3 : 6, n = (size_t)(c->p - b) - head;
    if (n > BIG_MAX_BYTES) {
        pen_addf(p, "#Big<%zu bytes>", n);
        return;
    }
    if (b[head - 1] != 0)
        pen_adds(p, "-");
    decimal(p, b + head, n);
}

/* UTF-8 that a string literal could contain; *wide if a character is not ASCII. */
static bool printable_utf8(const uint8_t *b, size_t n, bool *wide)
{
    uint32_t cp;

    *wide = false;
    for (size_t i = 0; i < n;) {
        i += text_next((const char *)b + i, n - i, &cp);
        if (cp == UINT32_MAX || !leaf_printable(cp))
            return false;
        *wide |= cp > 127;
    }
    return true;
}

static void byte_list(struct pen *p, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n && !p->full; i++)
        pen_addf(p, i == 0 ? "%u" : ",%u", b[i]);
}

void leaf_binary(struct pen *p, struct etf *c)
{
    const uint8_t *b;
    size_t n, seen;
    bool wide;

    if (!etf_binary(c, &b, &n))
        return;
    /* The part that is cut need not be read; a character may lie across the cut. */
    seen = n > p->max + 4 ? p->max + 4 : n;
    while (seen < n && seen > 0 && (b[seen] & 0xc0) == 0x80)
        seen--;
    pen_adds(p, "<<");
    if (seen > 0 && printable_utf8(b, seen, &wide)) {
        leaf_quoted(p, (const char *)b, seen, false, '"');
        if (wide)
            pen_adds(p, "/utf8");
    } else {
        byte_list(p, b, n);
    }
    pen_adds(p, ">>");
}

void leaf_bits(struct pen *p, struct etf *c)
{
    const uint8_t *b = c->p;

    if (!etf_skip(c))
        return;
    size_t n = (size_t)(c->p - b) - 6;
    unsigned bits = b[5];
    pen_adds(p, "<<");
    if (n > 0 && bits >= 1 && bits <= 7) {
        byte_list(p, b + 6, n - 1);
        pen_addf(p, n > 1 ? ",%u:%u" : "%u:%u", (unsigned)b[6 + n - 1] >> (8 - bits), bits);
    } else {
        byte_list(p, b + 6, n);
    }
    pen_adds(p, ">>");
}

void leaf_pid(struct pen *p, struct etf *c)
{
    uint64_t pid;

    if (etf_pid(c, &pid))
        pen_addf(p, "<0.%u.%u>", (unsigned)pid, (unsigned)(pid >> 32));
}

static uint64_t big_endian(const uint8_t *b, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | b[i];
    return v;
}

void leaf_port(struct pen *p, struct etf *c)
{
    int tag = etf_peek(c);
    size_t creation = tag == T_PORT ? 1 : 4, id = tag == T_V4_PORT ? 8 : 4;

    if (etf_skip(c))
        pen_addf(p, "#Port<0.%llu>", (unsigned long long)big_endian(c->p - creation - id, id));
}

void leaf_reference(struct pen *p, struct etf *c)
{
    int tag = etf_peek(c);
    const uint8_t *start = c->p, *words;
    size_t n = 1;

    if (!etf_skip(c))
        return;
    if (tag == T_REFERENCE) { /* here the word is before the creation */
        words = c->p - 5;
    } else {
        n = (size_t)big_endian(start + 1, 2);
        words = c->p - 4 * n;
    }
    pen_adds(p, "#Ref<0");
    for (size_t i = n; i > 0 && !p->full; i--)
        pen_addf(p, ".%u", (unsigned)big_endian(words + 4 * (i - 1), 4));
    pen_adds(p, ">");
}

void leaf_fun(struct pen *p, struct etf *c)
{
    const uint8_t *start = c->p;
    struct etf in;
    int64_t index, uniq;

    if (!etf_skip(c))
        return;
    etf_init(&in, start + 30, (size_t)(c->p - start) - 30); /* module, old index, old uniq, ... */
    pen_adds(p, "#Fun<");
    leaf_atom(p, &in);
    if (etf_i64(&in, &index) && etf_i64(&in, &uniq))
        pen_addf(p, ".%lld.%lld", (long long)index, (long long)uniq);
    pen_adds(p, ">");
}

void leaf_export(struct pen *p, struct etf *c)
{
    struct etf in = *c;
    uint64_t arity;

    if (!etf_skip(c))
        return;
    in.p++;
    pen_adds(p, "fun ");
    leaf_atom(p, &in);
    pen_adds(p, ":");
    leaf_atom(p, &in);
    if (etf_u64(&in, &arity))
        pen_addf(p, "/%llu", (unsigned long long)arity);
}
