#include "rng.h"

#include <kprof/base/err.h>
#include <kprof/base/likeness.h>
#include <kprof/base/text.h>

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

/* Strict UTF-8 by table 3-7 of the Unicode standard, independent of text_next: length of the
 * well-formed sequence at p; 0: none. */
static size_t well_formed(const unsigned char *p, size_t n)
{
    static const struct {
        unsigned char low[4], high[4];
        size_t len;
    } rows[] = {
        {{0x00}, {0x7f}, 1},
        {{0xc2, 0x80}, {0xdf, 0xbf}, 2},
        {{0xe0, 0xa0, 0x80}, {0xe0, 0xbf, 0xbf}, 3},
        {{0xe1, 0x80, 0x80}, {0xec, 0xbf, 0xbf}, 3},
        {{0xed, 0x80, 0x80}, {0xed, 0x9f, 0xbf}, 3},
        {{0xee, 0x80, 0x80}, {0xef, 0xbf, 0xbf}, 3},
        {{0xf0, 0x90, 0x80, 0x80}, {0xf0, 0xbf, 0xbf, 0xbf}, 4},
        {{0xf1, 0x80, 0x80, 0x80}, {0xf3, 0xbf, 0xbf, 0xbf}, 4},
        {{0xf4, 0x80, 0x80, 0x80}, {0xf4, 0x8f, 0xbf, 0xbf}, 4},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        size_t i = 0;
        while (i < rows[r].len && i < n && p[i] >= rows[r].low[i] && p[i] <= rows[r].high[i])
            i++;
        if (i == rows[r].len)
            return i;
    }
    return 0;
}

static bool forbidden(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x61c || cp == 0x200e || cp == 0x200f ||
           (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) ||
           (cp >= 0xfdd0 && cp <= 0xfdef) || (cp & 0xfffe) == 0xfffe;
}

/* Fails unless s is valid UTF-8 and contains only drawable characters; returns its columns. */
static size_t is_safe(const char *s, size_t n, bool ascii)
{
    size_t cols = 0, marks = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = well_formed((const unsigned char *)s + i, n - i);
        assert_true(len > 0);
        assert_int_equal(text_next(s + i, n - i, &cp), len);
        assert_false(forbidden(cp));
        assert_true(!ascii || (cp >= 0x20 && cp < 0x7f));
        int width = text_cp_width(cp);
        assert_in_range(width, 0, 2);
        marks = width == 0 ? marks + 1 : 0;
        assert_true(marks <= 4);
        cols += (size_t)width;
        i += len;
    }
    return cols;
}

static void decodes_strictly(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < 0x1000000;
         v += v < 0x10000 ? 1 : 7) { /* 3 bytes, then a valid fourth */
        unsigned char p[4] = {(unsigned char)(v >> 16), (unsigned char)(v >> 8), (unsigned char)v,
                              0x80};
        if (v < 0x10000) { /* all pairs of first bytes */
            p[0] = (unsigned char)(v >> 8);
            p[1] = (unsigned char)v;
            p[2] = 0xbf;
        }
        for (size_t n = 1; n <= 4; n++) {
            uint32_t cp;
            size_t used = text_next((const char *)p, n, &cp);
            size_t want = well_formed(p, n);
            if (used != (want ? want : 1) || (cp == UINT32_MAX) != (want == 0))
                fail_msg("%06x, %zu bytes: used %zu, not %zu", (unsigned)v, n, used, want);
        }
    }
}

static void decodes_to_the_code_point(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        uint32_t cp;
    } rows[] = {
        {"A", 'A'},
        {"\x7f", 0x7f},
        {"\xc2\x80", 0x80},
        {"\xdf\xbf", 0x7ff},
        {"\xe0\xa0\x80", 0x800},
        {"\xe2\x82\xac", 0x20ac},
        {"\xef\xbf\xbf", 0xffff},
        {"\xf0\x90\x80\x80", 0x10000},
        {"\xf0\x9f\x98\x80", 0x1f600},
        {"\xf4\x8f\xbf\xbf", 0x10ffff},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t cp;
        assert_int_equal(text_next(rows[i].s, strlen(rows[i].s), &cp), strlen(rows[i].s));
        assert_int_equal(cp, rows[i].cp);
    }
}

static void widths(void **state)
{
    (void)state;
    static const struct {
        uint32_t cp;
        int width;
    } rows[] = {
        {' ', 1},         {'~', 1},     {0, -1},       {0x1b, -1},     {0x7f, -1},
        {0x80, -1},       {0x9b, -1},   {0x9f, -1},    {0xa0, 1},      {0xe9, 1},
        {0x2ff, 1},       {0x300, 0},   {0x36f, 0},    {0x370, 1},     {0x416, 1},
        {0x5d0, 1},       {0x61c, -1},  {0x10ff, 1},   {0x1100, 2},    {0x1160, 0},
        {0x200b, 0},      {0x200d, 0},  {0x200e, -1},  {0x200f, -1},   {0x2026, 1},
        {0x2028, -1},     {0x2029, -1}, {0x202a, -1},  {0x202e, -1},   {0x2066, -1},
        {0x2069, -1},     {0x2500, 1},  {0x2588, 1},   {0x3000, 2},    {0x3042, 2},
        {0x4e2d, 2},      {0xac00, 2},  {0xd800, -1},  {0xdfff, -1},   {0xe000, 1},
        {0xfdd0, -1},     {0xfe0f, 0},  {0xfeff, 0},   {0xff01, 2},    {0xff61, 1},
        {0xfffd, 1},      {0xfffe, -1}, {0xffff, -1},  {0x1f600, 2},   {0x1fffe, -1},
        {0x20000, 2},     {0x3fffd, 2}, {0x50000, -1}, {0xe0001, -1},  {0xe0041, -1},
        {0xe0100, 0},     {0xf0000, 1}, {0x10fffd, 1}, {0x10ffff, -1}, {0x110000, -1},
        {UINT32_MAX, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_cp_width(rows[i].cp) != rows[i].width)
            fail_msg("U+%04X: %d, not %d", (unsigned)rows[i].cp, text_cp_width(rows[i].cp),
                     rows[i].width);
}

static void every_code_point_is_drawable_or_not(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        assert_in_range(text_cp_width(cp) + 1, 0, 3);
        if (forbidden(cp) || (cp >= 0xd800 && cp <= 0xdfff))
            assert_int_equal(text_cp_width(cp), -1);
    }
}

static void safe_is(const char *s, size_t max_cols, bool ascii, const char *want, size_t cols)
{
    struct buf b;
    buf_init(&b, 0);
    assert_int_equal(text_safe(&b, s, strlen(s), max_cols, ascii), cols);
    assert_string_equal(b.data, want);
    buf_release(&b);
}

static void makes_safe(void **state)
{
    (void)state;
    safe_is("plain", 0, false, "plain", 5);
    safe_is("\x1b[31mred", 0, true, "?[31mred", 8);
    safe_is("\x1b[31mred", 0, false, "\xef\xbf\xbd[31mred", 8);
    safe_is("a\tb\nc\r\x7f", 0, true, "a?b?c??", 7);
    safe_is("\xc2\x9b"
            "31m",
            0, true, "?31m", 4);
    safe_is("\xff\xc0\x80x", 0, false, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx", 4);
    safe_is("\xe2\x80\xae"
            "abc",
            0, false,
            "\xef\xbf\xbd"
            "abc",
            4);
    safe_is("caf\xc3\xa9", 0, true, "caf?", 4);
    safe_is("e\xcc\x81", 0, false, "e\xcc\x81", 1);
    safe_is("\xcc\x81", 0, false, "\xef\xbf\xbd",
            1); /* a combining mark without a base character */
    safe_is("\xe4\xb8\xad\xe6\x96\x87", 0, false, "\xe4\xb8\xad\xe6\x96\x87", 4);
}

static void cuts(void **state)
{
    (void)state;
    safe_is("abcdef", 6, true, "abcdef", 6);
    safe_is("abcdefg", 6, true, "abcd..", 6);
    safe_is("abcdefg", 6, false, "abcde\xe2\x80\xa6", 6);
    safe_is("abcdefg", 2, true, "..", 2);
    safe_is("abcdefg", 1, true, ".", 1);
    safe_is("abcdefg", 1, false, "\xe2\x80\xa6", 1);
    safe_is("\xe4\xb8\xad\xe6\x96\x87", 3, false, "\xe4\xb8\xad\xe2\x80\xa6", 3);
    safe_is("\xe4\xb8\xad\xe6\x96\x87", 2, false, "\xe2\x80\xa6", 1); /* no half characters */
    safe_is("abe\xcc\x81", 3, false, "abe\xcc\x81", 3);
    safe_is("ae\xcc\x81xy", 3, false, "ae\xcc\x81\xe2\x80\xa6", 3);
}

static void middle_is(const char *s, size_t max_cols, bool ascii, const char *want, size_t cols)
{
    struct buf b;
    buf_init(&b, 0);
    assert_int_equal(text_middle(&b, s, strlen(s), max_cols, ascii), cols);
    assert_string_equal(b.data, want);
    buf_release(&b);
}

static void cuts_in_the_middle(void **state)
{
    (void)state;
    middle_is("abcdefgh", 8, false, "abcdefgh", 8);
    middle_is("abcdefghi", 8, false, "abcd\xe2\x80\xa6ghi", 8);
    middle_is("abcdefghi", 8, true, "abc..ghi", 8);
    middle_is("abcdefghi", 7, true, "abc..hi", 7);
    middle_is("abcdefghi", 3, false, "a\xe2\x80\xa6i", 3);
    middle_is("abcdefghi", 3, true, "a..", 3); /* no room for both ends */
    middle_is("abcdefghi", 2, false, "a\xe2\x80\xa6", 2);
    middle_is("GET /v1/shops/7/orders/1", 16, false, "GET /v1/\xe2\x80\xa6rders/1", 16);
    middle_is("GET /v1/shops/7/orders/2", 16, false, "GET /v1/\xe2\x80\xa6rders/2", 16);
    /* cut by columns: a wide character is never divided, so a column at either end may be free */
    middle_is("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", 7, false,
              "\xe4\xb8\xad\xe2\x80\xa6\xe6\x96\x87", 5);
    middle_is("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", 5, false,
              "\xe4\xb8\xad\xe2\x80\xa6\xe6\x96\x87", 5);
    /* a combining mark stays with its base character, on either side */
    middle_is("e\xcc\x81xyzae\xcc\x81", 3, false,
              "e\xcc\x81\xe2\x80\xa6"
              "e\xcc\x81",
              3);
    middle_is("abcde\xcc\x81z", 3, false, "a\xe2\x80\xa6z", 3);
    middle_is("\x1b[31mred\x1b[0m", 6, true, "?[..0m", 6);
}

/* Bytes that are likely to give broken and hostile text. */
static size_t random_text(char *s, size_t cap)
{
    static const char *const nasty[] = {
        "\x1b[2J",      "\xc2\x9b",         "\xe2\x80\xae",     "\xe2\x81\xa6", "\xe2\x80\xa8",
        "\xed\xa0\x80", "\xef\xbf\xbf",     "\xcc\x81",         "\xe4\xb8\xad", "\xf0\x9f\x98\x80",
        "\xc0\xaf",     "\xf4\x90\x80\x80", "\xf3\xa0\x81\x81", "abc",          "\xe2\x80\x8d",
    };
    size_t n = 0, want = rng() % (cap - 8);
    while (n < want) {
        uint64_t r = rng();
        if (r % 3 == 0) {
            const char *piece = nasty[(r >> 8) % (sizeof nasty / sizeof *nasty)];
            size_t len = 1 + (size_t)(r >> 40) % strlen(piece); /* whole or cut */
            memcpy(s + n, piece, len);
            n += len;
        } else {
            s[n++] = (char)(r >> 16);
        }
    }
    return n;
}

static void whatever_comes_in_is_safe(void **state)
{
    (void)state;
    for (int round = 0; round < 30000; round++) {
        char s[120];
        size_t n = random_text(s, sizeof s);
        bool ascii = rng() % 2;
        size_t max_cols = rng() % 40;
        char *exact = malloc(n + 1); /* so that the sanitizer detects a read past the end */
        assert_non_null(exact);
        memcpy(exact + 1, s, n);
        struct buf b;
        buf_init(&b, rng() % 4 ? 0 : 1 + rng() % 60);
        size_t cols = (rng() % 2 ? text_safe : text_middle)(&b, exact + 1, n, max_cols, ascii);
        assert_int_equal(is_safe(b.data, b.len, ascii), cols);
        assert_true(max_cols == 0 || cols <= max_cols);
        if (max_cols == 0 && !ascii && !b.truncated)
            assert_int_equal(cols, text_width(exact + 1, n));
        struct buf once;
        buf_init(&once, 0);
        text_safe(&once, b.data, b.len, 0, ascii); /* safe text stays unchanged */
        assert_int_equal(once.len, b.len);
        assert_memory_equal(once.data, b.data, b.len);
        buf_release(&once);
        buf_release(&b);
        free(exact);
    }
}

static void contains(void **state)
{
    (void)state;
    assert_true(text_contains("", ""));
    assert_true(text_contains("abc", ""));
    assert_false(text_contains("", "a"));
    assert_true(text_contains("Hello World", "o w"));
    assert_true(text_contains("aab", "AB"));
    assert_true(text_contains("xyz", "Z"));
    assert_false(text_contains("xyz", "zz"));
    assert_false(text_contains("[", "{")); /* 0x20 apart, but not letters */
}

/* ---- likeness ---- */

static unsigned distance(const char *a, const char *b)
{
    return likeness_distance(a, strlen(a), b, strlen(b));
}

static void random_name(char *out, size_t cap)
{
    size_t n = rng_below(cap);

    for (size_t i = 0; i < n; i++)
        out[i] = "abAB_1"[rng_below(6)];
    out[n] = 0;
}

/* It is a metric, and one change of a name costs at most 1. */
static void likeness(void **state)
{
    char a[70], b[70], c[70];

    (void)state;
    assert_int_equal(distance("shop", "SHOP"), 0);
    assert_int_equal(distance("shop", ""), 4);
    assert_int_equal(distance("shpo", "shop"), 2);
    assert_int_equal(distance("kitten", "sitting"), 3);
    for (int i = 0; i < 3000; i++) {
        random_name(a, sizeof a);
        random_name(b, sizeof b);
        random_name(c, sizeof c);
        assert_int_equal(distance(a, a), 0);
        assert_int_equal(distance(a, b), distance(b, a));
        assert_true(distance(a, c) <= distance(a, b) + distance(b, c));
        assert_true(distance(a, b) <= 64);
        memcpy(c, a, sizeof c);
        if (a[0] != 0)
            c[rng_below(strlen(a))] = 'z';
        assert_true(distance(a, c) <= 1);
    }
}

/* An error text is printed on the terminal, and may contain what a node sent. */
static void errors_have_no_controls(void **state)
{
    struct err e = {{0}};
    (void)state;
    err_set(&e, "why: %s",
            "\033]52;c;x\a \xc2\x9b"
            "31m \x7f a\tb\nc \xc3\xa9");
    assert_string_equal(e.text, "why: ?]52;c;x? ??31m ? a\tb\nc \xc3\xa9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_no_controls),
        cmocka_unit_test(decodes_strictly),
        cmocka_unit_test(decodes_to_the_code_point),
        cmocka_unit_test(widths),
        cmocka_unit_test(every_code_point_is_drawable_or_not),
        cmocka_unit_test(makes_safe),
        cmocka_unit_test(cuts),
        cmocka_unit_test(cuts_in_the_middle),
        cmocka_unit_test(whatever_comes_in_is_safe),
        cmocka_unit_test(contains),
        cmocka_unit_test(likeness),
    };
    rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
