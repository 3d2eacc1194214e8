/* Names by path(...) and shape(...): results for given texts, and properties for any text. */
#include "rng.h"

#include <kprof/base/template.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

typedef size_t (*template_fn)(const char *, size_t, char *);

struct example {
    const char *text, *name;
};

static void names_are(template_fn how, const struct example *e, size_t n)
{
    char out[TEMPLATE_BYTES + 1];

    for (size_t i = 0; i < n; i++) {
        out[how(e[i].text, strlen(e[i].text), out)] = 0;
        if (strcmp(out, e[i].name) != 0)
            fail_msg("%s: %s, expected %s", e[i].text, out, e[i].name);
    }
}

static void paths_have_a_shape(void **state)
{
    static const struct example e[] = {
        {"/api/item/1781", "/api/item/*"},
        {"/api/item/1165", "/api/item/*"},
        {"/api/item/-5", "/api/item/*"},
        {"/api/item/3.14", "/api/item/*"},
        {"api/1/item", "api/*/item"},
        {"/", "/"},
        {"", "/"},
        {"?a=b", "/"},
        {"/a/", "/a/"},
        {"//a", "//a"},
        {"/search?q=erlang&page=2", "/search"},
        {"/doc#part/2", "/doc"},
        {"/u/8b1e7a52-9f3c-4d21-a6b0-3f2d1c4e5a69", "/u/*"},
        {"/u/8B1E7A52-9F3C-4D21-A6B0-3F2D1C4E5A69/x", "/u/*/x"},
        {"/commit/d315373", "/commit/d315373"}, /* seven digits */
        {"/commit/d3153731", "/commit/*"},
        {"/commit/deadbeef", "/commit/*"},
        {"/commit/DEADBEEF12", "/commit/*"},
        {"/day/2026-11-23", "/day/*"},
        {"/day/2026-11-23T00:46:12Z", "/day/*"},
        {"/day/20261123T004612Z", "/day/*"},
        {"/day/2026/11/23", "/day/*/*/*"},
        {"/file/1781.json", "/file/*.json"},
        {"/file/item-1781", "/file/item-*"},
        {"/file/report-2026-11-23.pdf", "/file/report-*.pdf"},
        {"/v1/users", "/v1/users"},
        {"/oauth2/token", "/oauth2/token"},
        {"/a/.well-known/x_y", "/a/.well-known/x_y"},
        {"/a/configuration-of-the-long-name", "/a/configuration-of-the-long-name"},
        {"/a/getUserAccountDetails", "/a/getUserAccountDetails"},
        {"/a/internationalization", "/a/internationalization"},
        {"/a/what-is-new-in-http2-and-otp27", "/a/what-is-new-in-http2-and-otp27"},
        {"/f/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/f/*"},               /* ULID */
        {"/f/507f1f77bcf86cd799439011", "/f/*"},                 /* ObjectId */
        {"/f/V1StGXR8_Z5jdHi6B-myT", "/f/*"},                    /* nanoid */
        {"/f/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0", "/f/*"}, /* a token */
        {"/f/0ujtsYcgvSTl8PAuAdqWYSMnLOv", "/f/*"},              /* KSUID */
        {"/f/img_507f1f77bcf86cd799439011.png", "/f/img_*.png"},
        {"/caf\xc3\xa9/1", "/caf\xc3\xa9/*"},
        {"/1/2/3/4/5/6/7/8", "/*/*/*/*/*/*/*/*"},
        {"/a/b/c/d/e/f/g/h/i/j", "/a/b/c/d/e/f/g/h/..."},
        {"a/b/c/d/e/f/g/h/i", "a/b/c/d/e/f/g/h/..."},
        {"http://shop.example:8080/item/7?x", "http://shop.example:8080/item/*"},
        {"https://me:secret@shop.example/item/7", "https://shop.example/item/*"},
        {"http://shop.example", "http://shop.example"},
        {"*", "*"},
    };

    (void)state;
    names_are(template_path, e, sizeof e / sizeof *e);
}

static void texts_have_a_shape(void **state)
{
    static const struct example e[] = {
        {"", ""},
        {"create", "create"},
        {"item 1781", "item #"},
        {"item-1781-7", "item-#-#"},
        {"user42", "user#"},
        {"x1y22z333", "x#y#z#"},
        {"job 8b1e7a52-9f3c-4d21-a6b0-3f2d1c4e5a69 done", "job # done"},
        {"8b1e7a52-9f3c-4d21-a6b0-3f2d1c4e5a690", "#-#f#c-#d#-a#b#-#"},
        {"commit deadbeef", "commit #"},
        {"room_507f1f77bcf86cd799439011", "room_#"},
        {"q.2026-11-23T00:46:12Z", "q.#-#-#:#:#"},
        {"select * from t where id = 12", "select * from t where id = #"},
        {"#1", "#"},
        {"caf\xc3\xa9 7", "caf\xc3\xa9 #"},
    };

    (void)state;
    names_are(template_shape, e, sizeof e / sizeof *e);
}

static void long_texts_are_cut(void **state)
{
    char text[4000], out[TEMPLATE_BYTES + 1];

    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text, "/long/", 6);
    out[template_path(text, sizeof text, out)] = 0;
    assert_string_equal(out, "/long/*");
    out[template_path(text, 6 + TEMPLATE_WORD + 1, out)] = 0;
    assert_string_equal(out, "/long/*");
    assert_int_equal(template_path(text, 6 + TEMPLATE_WORD, out), 6 + TEMPLATE_WORD);
    text[20] = '?'; /* the text after it is ignored */
    assert_int_equal(template_path(text, sizeof text, out), 20);
    memcpy(text, "a text of 12 words ", 19);
    text[20] = 'x';
    out[template_shape(text, sizeof text, out)] = 0;
    assert_string_equal(out, "a text of # words ...");
}

/* ---- properties ---- */

/* Texts of typical parts, and of random bytes. */
static size_t any_text(char *text, size_t cap)
{
    static const char *const parts[] = {"/",
                                        "//",
                                        "-",
                                        "_",
                                        ".",
                                        "...",
                                        "*",
                                        "#",
                                        "?",
                                        "@",
                                        "%2F",
                                        "http://",
                                        "1781",
                                        "2026-11-23",
                                        "T",
                                        "Z",
                                        "api",
                                        "deadbeef",
                                        "abcdef",
                                        "8b1e7a52-9f3c-4d21-a6b0-3f2d1c4e5a69",
                                        "abcdefab-abcd-abcd-abcd-abcdefabcdef",
                                        "V1StGXR8_Z5jdHi6B-myT",
                                        "getUser",
                                        "\xc3\xa9",
                                        "\x1b[31m",
                                        "xyzxyzxyz"};
    size_t n = 0, want = (size_t)rng_below(rng_below(8) ? 60 : cap - 40);

    while (n < want) {
        const char *part = parts[rng_below(sizeof parts / sizeof *parts)];
        if (rng_below(3)) {
            memcpy(text + n, part, strlen(part));
            n += strlen(part);
        } else {
            text[n++] = (char)(rng_below(4) ? ' ' + rng_below(95) : rng_below(256));
        }
    }
    return n;
}

static void counts(const char *s, size_t n, unsigned of[256])
{
    memset(of, 0, 256 * sizeof *of);
    for (size_t i = 0; i < n; i++)
        of[(unsigned char)s[i]]++;
}

/* In a separate block, so that a sanitizer detects a read past the end. */
static char *copy(const char *s, size_t n)
{
    char *p = malloc(n ? n : 1);

    assert_non_null(p);
    memcpy(p, s, n);
    return p;
}

static void holds(template_fn how, const char *text, size_t n)
{
    char *in = copy(text, n), *once = malloc(TEMPLATE_BYTES), *twice = malloc(TEMPLATE_BYTES);
    unsigned before[256], after[256];

    assert_true(once && twice);
    size_t len = how(in, n, once);
    char *name = copy(once, len);
    assert_true(len <= n + 3 && len <= TEMPLATE_BYTES);
    assert_int_equal(how(name, len, twice), len);
    assert_memory_equal(once, twice, len);
    counts(in, n, before);
    counts(once, len, after);
    for (int b = 0; b < 256; b++)
        assert_true(after[b] <= before[b] || memchr("*#./", b, 4));
    free(in);
    free(name);
    free(once);
    free(twice);
}

static void names_stay_as_they_are(void **state)
{
    char text[600];

    (void)state;
    for (int i = 0; i < rng_rounds(200000); i++) {
        size_t n = any_text(text, sizeof text);
        holds(template_path, text, n);
        holds(template_shape, text, n);
    }
}

static char letter_of(const char *alphabet)
{
    return alphabet[rng_below(strlen(alphabet))];
}

/* A million ids of one kind give one name, with very few exceptions. */
static void ids_are_few_names(void **state)
{
    static const struct {
        const char *alphabet;
        size_t n;
        int most; /* the first thousand that stay unchanged */
    } kinds[] = {
        {"0123456789", 5, 0},
        {"0123456789abcdef", 8, 0},
        {"0123456789ABCDEF", 32, 0},
        {"0123456789abcdefghijklmnopqrstuvwxyz", 20, 10},
        {"0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26, 5},
        {"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 22, 50},
        {"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", 21, 150},
    };
    char text[64], out[TEMPLATE_BYTES];

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int kept = 0;
        for (int i = 0; i < 1000; i++) {
            memcpy(text, "/a/", 3);
            for (size_t j = 0; j < kinds[k].n; j++)
                text[3 + j] = letter_of(kinds[k].alphabet);
            size_t len = template_path(text, 3 + kinds[k].n, out);
            kept += len != 4 || memcmp(out, "/a/*", 4) != 0;
        }
        if (kept > kinds[k].most)
            fail_msg("%s, %zu long: %d of 1000 are not *", kinds[k].alphabet, kinds[k].n, kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_have_a_shape),     cmocka_unit_test(texts_have_a_shape),
        cmocka_unit_test(long_texts_are_cut),     cmocka_unit_test(ids_are_few_names),
        cmocka_unit_test(names_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
