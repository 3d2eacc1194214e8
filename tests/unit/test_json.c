#include "rng.h"

#include <kprof/base/json.h>

#include <locale.h>
#include <math.h>
#include <string.h>
#include <wchar.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

/* ---- a reader for RFC 8259, only for these checks ---- */

struct reader {
    const char *p, *end;
    struct buf *strings; /* decoded strings, one per line; NULL: not needed */
};

static bool value(struct reader *r, int depth);

static bool eat(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    return true;
}

static size_t digits(struct reader *r)
{
    size_t n = 0;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
        n++;
    return n;
}

static bool number(struct reader *r)
{
    eat(r, "-");
    const char *whole = r->p;
    size_t n = digits(r);
    if (n == 0 || (n > 1 && *whole == '0'))
        return false;
    return !eat(r, ".") || digits(r) > 0; /* this writer never writes exponents */
}

static bool escape(struct reader *r)
{
    static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    if (r->p == r->end)
        return false;
    char c = *r->p++;
    const char *at = c ? strchr(plain, c) : NULL;
    if (at) {
        if (r->strings)
            buf_addch(r->strings, means[at - plain]);
        return true;
    }
    if (c != 'u' || r->end - r->p < 4)
        return false;
    for (int i = 0; i < 4; i++, r->p++)
        if (!strchr("0123456789abcdefABCDEF", *r->p) || !*r->p)
            return false;
    if (r->strings)
        buf_addf(r->strings, "<%.4s>", r->p - 4);
    return true;
}

static bool string(struct reader *r)
{
    if (!eat(r, "\""))
        return false;
    while (r->p < r->end && *r->p != '"') {
        if ((unsigned char)*r->p < 0x20)
            return false;
        if (eat(r, "\\")) {
            if (!escape(r))
                return false;
            continue;
        }
        if (r->strings)
            buf_addch(r->strings, *r->p);
        r->p++;
    }
    if (r->strings)
        buf_addch(r->strings, '\n');
    return eat(r, "\"");
}

static bool members(struct reader *r, int depth, bool obj, const char *close)
{
    if (eat(r, close))
        return true;
    do {
        if (obj && (!string(r) || !eat(r, ":")))
            return false;
        if (!value(r, depth + 1))
            return false;
    } while (eat(r, ","));
    return eat(r, close);
}

static bool value(struct reader *r, int depth)
{
    if (r->p == r->end || depth > 20)
        return false;
    if (eat(r, "{"))
        return members(r, depth, true, "}");
    if (eat(r, "["))
        return members(r, depth, false, "]");
    if (*r->p == '"')
        return string(r);
    return eat(r, "true") || eat(r, "false") || eat(r, "null") || number(r);
}

/* Valid UTF-8, roughly: checks only the number of continuation bytes (test_text has the strict
 * check). */
static bool utf8(const char *s, size_t n)
{
    wchar_t wide;
    mbstate_t st;
    memset(&st, 0, sizeof st);
    for (size_t i = 0; i < n;) {
        size_t used = mbrtowc(&wide, s + i, n - i, &st);
        if (used == 0 || used > n - i)
            return false;
        i += used;
    }
    return true;
}

static void is_valid(const struct buf *b, struct buf *strings)
{
    struct reader r = {.p = b->data, .end = b->data + b->len, .strings = strings};
    if (!value(&r, 0) || r.p != r.end)
        fail_msg("not JSON at %zu: %s", (size_t)(r.p - b->data), b->data);
    for (size_t i = 0; i < b->len; i++)
        assert_true((unsigned char)b->data[i] >= 0x20 && b->data[i] != 0x7f);
    assert_true(utf8(b->data, b->len));
}

/* ---- tests ---- */

static void writes_every_kind(void **state)
{
    (void)state;
    struct buf b;
    struct json j;
    buf_init(&b, 0);
    json_init(&j, &b);
    json_obj(&j);
    json_key(&j, "a");
    json_arr(&j);
    json_u64(&j, UINT64_MAX);
    json_f(&j, -1.25, 3);
    json_f(&j, 2, 0);
    json_f(&j, NAN, 1);
    json_f(&j, -INFINITY, 1);
    json_bool(&j, true);
    json_bool(&j, false);
    json_str(&j, NULL);
    json_strn(&j, "xyz", 2);
    json_arr(&j);
    json_arr_end(&j);
    json_obj(&j);
    json_obj_end(&j);
    json_arr_end(&j);
    json_key(&j, "b");
    json_null(&j);
    json_key(&j, "");
    json_obj(&j);
    json_key(&j, "c");
    json_str(&j, "");
    json_obj_end(&j);
    json_obj_end(&j);
    assert_string_equal(
        b.data, "{\"a\":[18446744073709551615,-1.250,2,null,null,true,false,null,\"xy\",[],{}"
                "],\"b\":null,\"\":{\"c\":\"\"}}");
    is_valid(&b, NULL);
    buf_release(&b);
}

static void escapes(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        size_t n;
        const char *want;
    } rows[] = {
        {"\"\\/", 3, "\"\\\"\\\\/\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
        {"\xc2\x9b", 2, "\"\\u009b\""},
        {"\xe2\x80\xa8\xe2\x80\xae", 6, "\"\\u2028\\u202e\""},
        {"\xf3\xa0\x81\x81", 4, "\"\\udb40\\udc41\""},
        {"\xf4\x8f\xbf\xbf", 4, "\"\\udbff\\udfff\""},
        {"caf\xc3\xa9 \xf0\x9f\x98\x80", 10, "\"caf\xc3\xa9 \xf0\x9f\x98\x80\""},
        {"a\xff\xc3", 3, "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b;
        struct json j;
        buf_init(&b, 0);
        json_init(&j, &b);
        json_strn(&j, rows[i].s, rows[i].n);
        assert_string_equal(b.data, rows[i].want);
        is_valid(&b, NULL);
        buf_release(&b);
    }
}

static void random_value(struct json *j, int depth)
{
    char s[24];
    size_t n = rng() % sizeof s;
    uint64_t kind = rng() % (depth < 14 ? 7 : 4);
    for (size_t i = 0; i < n; i++)
        s[i] = (char)rng();
    switch (kind) {
    case 0:
        json_u64(j, rng());
        break;
    case 1: {
        double d;
        uint64_t bits = rng(); /* every double: tiny, huge, NaN */
        memcpy(&d, &bits, sizeof d);
        json_f(j, d, (int)(rng() % 18));
        break;
    }
    case 2:
        json_strn(j, s, n);
        break;
    case 3:
        json_bool(j, rng() % 2);
        break;
    default:
        (kind == 4 ? json_arr : json_obj)(j);
        for (uint64_t i = rng() % 4; i > 0; i--) {
            if (kind != 4)
                json_key(j, "k\"");
            random_value(j, depth + 1);
        }
        (kind == 4 ? json_arr_end : json_obj_end)(j);
    }
}

static void whatever_is_written_is_valid(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct buf b;
        struct json j;
        buf_init(&b, 0);
        json_init(&j, &b);
        random_value(&j, 0);
        assert_int_equal(j.depth, 0);
        is_valid(&b, NULL);
        buf_release(&b);
    }
}

static void strings_come_back(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct buf b, in, out;
        struct json j;
        buf_init(&b, 0);
        buf_init(&in, 0);
        buf_init(&out, 0);
        json_init(&j, &b);
        json_arr(&j);
        for (uint64_t i = rng() % 5; i > 0; i--) {
            char s[30];
            size_t n = rng() % sizeof s;
            for (size_t k = 0; k < n; k++)
                s[k] = "ab\"\\\n/ \t\b\f\r{}[],:"[rng() % 17];
            json_strn(&j, s, n);
            buf_add(&in, s, n);
            buf_addch(&in, '\n');
        }
        json_arr_end(&j);
        is_valid(&b, &out);
        assert_int_equal(out.len, in.len);
        assert_memory_equal(out.data, in.data, in.len);
        buf_release(&in);
        buf_release(&out);
        buf_release(&b);
    }
}

/* In a locale with a decimal comma, the output still has a point. */
static void the_point_is_not_the_locales(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "ps_AF.UTF-8"};
    size_t tried = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_NUMERIC, names[i]))
            continue;
        tried++;
        struct buf b;
        struct json j;
        buf_init(&b, 0);
        json_init(&j, &b);
        json_f(&j, -1234.5, 2);
        setlocale(LC_NUMERIC, "C");
        assert_string_equal(b.data, "-1234.50");
        buf_release(&b);
    }
    if (tried == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_every_kind),
        cmocka_unit_test(escapes),
        cmocka_unit_test(whatever_is_written_is_valid),
        cmocka_unit_test(strings_come_back),
        cmocka_unit_test(the_point_is_not_the_locales),
    };
    setlocale(LC_CTYPE, "C.UTF-8"); /* for mbrtowc */
    rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
