#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "real_terms.h"
#include "rng.h"

#include <kprof/base/text.h>
#include <kprof/erl/enc.h>
#include <kprof/erl/term.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct real_term *terms;
static size_t count;

static int set_up(void **state)
{
    (void)state;
    terms = real_terms(&count);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    real_terms_free(terms, count);
    return 0;
}

static void prints_as_erl_does(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 0);
    for (size_t i = 0; i < count; i++) {
        struct etf c;

        buf_clear(&out);
        etf_init(&c, terms[i].bytes + 1, terms[i].n - 1);
        assert_true(term_print(&c, &out, 1 << 20));
        assert_ptr_equal(c.p, c.end);
        assert_string_equal(out.data, terms[i].text);
    }
    buf_release(&out);
}

static bool is_utf8(const char *s, size_t n)
{
    uint32_t cp;

    for (size_t i = 0; i < n;) {
        i += text_next(s + i, n - i, &cp);
        if (cp == UINT32_MAX)
            return false;
    }
    return true;
}

typedef bool (*printer)(struct etf *, struct buf *, size_t);

static void output_is_bounded(void **state)
{
    static const printer printers[] = {term_print, term_identity, term_mfa};
    struct buf whole, out;

    (void)state;
    buf_init(&whole, 0);
    buf_init(&out, 0);
    for (size_t i = 0; i < count; i += (size_t)(8 / rng_rounds(8))) {
        for (size_t k = 0; k < 3; k++) {
            struct etf c;

            buf_clear(&whole);
            etf_init(&c, terms[i].bytes + 1, terms[i].n - 1);
            assert_true(printers[k](&c, &whole, 1 << 20));
            for (size_t max = 0; max < whole.len + 2 && max < 200; max++) {
                buf_clear(&out);
                buf_adds(&out, "before ");
                etf_init(&c, terms[i].bytes + 1, terms[i].n - 1);
                assert_true(printers[k](&c, &out, max));
                assert_ptr_equal(c.p, c.end);
                assert_true(out.len <= 7 + max && strlen(out.data) <= out.len);
                assert_memory_equal(out.data, "before ", 7);
                if (max >= whole.len)
                    assert_memory_equal(out.data + 7, whole.data, whole.len);
                else if (max >= 3)
                    assert_memory_equal(out.data + out.len - 3, "...", 3);
                if (is_utf8(whole.data, whole.len))
                    assert_true(is_utf8(out.data, out.len));
            }
        }
    }
    buf_release(&whole);
    buf_release(&out);
}

static void nothing_fits_an_empty_buf(void **state)
{
    struct etf c;
    struct buf out;

    (void)state;
    buf_init(&out, 0);
    etf_init(&c, terms[0].bytes + 1, terms[0].n - 1);
    assert_true(term_print(&c, &out, 0));
    assert_string_equal(out.data, "");
    buf_release(&out);
}

static void depth_is_bounded(void **state)
{
    const size_t n = 1u << 20;
    static const printer printers[] = {term_print, term_identity, term_mfa};
    uint8_t *p = malloc(n);

    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i + 2 < n; i += 2) {
        p[i] = 104;
        p[i + 1] = 1;
    }
    p[n - 2] = 97;
    p[n - 1] = 1;
    for (size_t k = 0; k < 3; k++) {
        struct etf c;
        struct buf out;

        buf_init(&out, 0);
        etf_init(&c, p, n);
        assert_true(printers[k](&c, &out, 1 << 20));
        assert_ptr_equal(c.p, c.end);
        assert_true(out.len < 1000);
        buf_release(&out);
    }
    free(p);
}

static const char *identity(struct buf *term, struct buf *out)
{
    struct etf c;

    buf_clear(out);
    etf_init(&c, term->data, term->len);
    assert_true(term_identity(&c, out, 1000));
    assert_ptr_equal(c.p, c.end);
    buf_clear(term);
    return out->data;
}

static void identities_are_bare(void **state)
{
    struct buf b, out;

    (void)state;
    buf_init(&b, 0);
    buf_init(&out, 0);
    enc_tuple(&b, 2);
    enc_atom(&b, "get");
    enc_str(&b, "/u");
    assert_string_equal(identity(&b, &out), "get /u");
    enc_atom(&b, "Odd one");
    assert_string_equal(identity(&b, &out), "Odd one");
    enc_tuple(&b, 2);
    enc_str(&b, "GET");
    enc_atom(&b, "Elixir.Shop.ItemPage");
    assert_string_equal(identity(&b, &out), "GET Shop.ItemPage");
    enc_atom(&b, "Elixir.Elixir.A");
    assert_string_equal(identity(&b, &out), "Elixir.Elixir.A");
    enc_atom(&b, "Elixir.");
    assert_string_equal(identity(&b, &out), "Elixir.");
    enc_i64(&b, -5);
    assert_string_equal(identity(&b, &out), "-5");
    buf_add(&b, "\x6b\0\3abc", 6);
    assert_string_equal(identity(&b, &out), "abc");
    enc_tuple(&b, 3);
    enc_tuple(&b, 2);
    enc_atom(&b, "a");
    enc_nil(&b);
    enc_str(&b, "");
    enc_map(&b, 1);
    enc_atom(&b, "k");
    enc_str(&b, "v");
    assert_string_equal(identity(&b, &out), "a [] <<>> #{k => <<\"v\">>}");
    buf_release(&b);
    buf_release(&out);
}

static void template_of(struct buf *b, const char *which)
{
    enc_tuple(b, 2);
    enc_atom(b, which);
}

/* The same text in each encoding that a node may use. */
static void templates_name_any_text(void **state)
{
    static const char text[] = "/item/1781?x=1";
    struct buf b, out;

    (void)state;
    buf_init(&b, 0);
    buf_init(&out, 0);
    template_of(&b, "kprof path");
    enc_str(&b, text);
    assert_string_equal(identity(&b, &out), "/item/*");
    template_of(&b, "kprof path");
    buf_add(&b, "\x6b\0\x0e", 3);
    buf_adds(&b, text);
    assert_string_equal(identity(&b, &out), "/item/*");
    template_of(&b, "kprof path");
    buf_add(&b, "\x6b\0\x07/caf\xe9/1", 10); /* Latin-1 */
    assert_string_equal(identity(&b, &out), "/caf\xc3\xa9/*");
    template_of(&b, "kprof path");
    enc_list(&b, 5);
    for (const char *c = "/\x80/12"; *c; c++)
        enc_u64(&b, (unsigned char)*c == 0x80 ? 0x4f60 : (unsigned char)*c);
    enc_nil(&b);
    assert_string_equal(identity(&b, &out), "/\xe4\xbd\xa0/*");
    template_of(&b, "kprof shape");
    enc_atom(&b, "shard_17");
    assert_string_equal(identity(&b, &out), "shard_#");
    template_of(&b, "kprof shape");
    enc_i64(&b, -1234567);
    assert_string_equal(identity(&b, &out), "-#");
    template_of(&b, "kprof shape");
    enc_str(&b, "");
    assert_string_equal(identity(&b, &out), "<<>>");
    enc_tuple(&b, 2);
    enc_atom(&b, "get");
    template_of(&b, "kprof path");
    enc_str(&b, text);
    assert_string_equal(identity(&b, &out), "get /item/*");
    template_of(&b, "kprof paths"); /* of the node itself */
    enc_str(&b, text);
    assert_string_equal(identity(&b, &out), "kprof paths /item/1781?x=1");
    buf_release(&b);
    buf_release(&out);
}

/* If an element of a list is cut, the next element is still read. */
static void templates_of_long_texts_end(void **state)
{
    struct buf b, out;

    (void)state;
    buf_init(&b, 0);
    buf_init(&out, 0);
    enc_tuple(&b, 2);
    template_of(&b, "kprof path");
    enc_list(&b, 2000);
    for (int i = 0; i < 2000; i++)
        enc_u64(&b, 0x4f60);
    enc_nil(&b);
    enc_atom(&b, "post");
    assert_string_equal(identity(&b, &out), "* post");
    for (int i = 0; i < 50; i++)
        template_of(&b, "kprof shape");
    enc_i64(&b, 12);
    assert_string_equal(identity(&b, &out), "#");
    buf_release(&b);
    buf_release(&out);
}

static bool templated(struct buf *term)
{
    struct etf c;

    etf_init(&c, term->data, term->len);
    bool is = term_has_template(c);
    buf_clear(term);
    return is;
}

static void a_template_is_found(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 0);
    assert_false(templated(&b));
    enc_atom(&b, "kprof path");
    assert_false(templated(&b));
    template_of(&b, "kprof path");
    enc_str(&b, "x");
    assert_true(templated(&b));
    enc_tuple(&b, 3);
    enc_list(&b, 1);
    enc_str(&b, "x");
    enc_nil(&b);
    enc_tuple(&b, 2);
    enc_str(&b, "x");
    template_of(&b, "kprof shape");
    enc_str(&b, "x");
    enc_str(&b, "x");
    assert_true(templated(&b));
    enc_tuple(&b, 2);
    enc_atom(&b, "get");
    enc_str(&b, "kprof path");
    assert_false(templated(&b));
    enc_tuple(&b, 200); /* broken: they are missing */
    assert_false(templated(&b));
    buf_release(&b);
}

static void mfa_term(struct buf *b, const char *m, const char *f, int arity)
{
    buf_clear(b);
    enc_tuple(b, 3);
    enc_atom(b, m);
    enc_atom(b, f);
    enc_i64(b, arity);
}

static void mfas_as_their_language_writes_them(void **state)
{
    static const struct {
        const char *m, *f;
        int arity;
        const char *text;
    } want[] = {
        {"lists", "map", 2, "lists:map/2"},
        {"odd mod", "f", 1, "'odd mod':f/1"},
        {"m", "F", 0, "m:'F'/0"},
        {"m", "-handle/2-fun-0-", 255, "m:'-handle/2-fun-0-'/255"},
        {"Elixir.MyApp.Repo", "get", 2, "MyApp.Repo.get/2"},
        {"Elixir.MyApp.Repo", "get!", 2, "MyApp.Repo.get!/2"},
        {"Elixir.MyApp", "odd name", 1, "MyApp.\"odd name\"/1"},
        {"Elixir.MyApp", "-f/1-fun-0-", 1, "MyApp.\"-f/1-fun-0-\"/1"},
        {"Elixir.Kernel", "+", 2, "Kernel.+/2"},
        {"Elixir.Kernel", "/", 2, "Kernel.//2"},
        {"Elixir.", "f", 1, "'Elixir.':f/1"},
        {"Elixir.lower", "f", 1, "'Elixir.lower':f/1"},
        {"Elixir.A.", "f", 1, "'Elixir.A.':f/1"},
        {"Elixir.Elixir.B", "f", 1, "'Elixir.Elixir.B':f/1"},
        {"Elixir.Elixir", "f", 1, "'Elixir.Elixir':f/1"},
        {"Elixir.Elixirs", "f", 1, "Elixirs.f/1"},
        {"a\nb", "it's", 1, "'a\\nb':'it\\'s'/1"},
    };
    struct buf b, out;

    (void)state;
    buf_init(&b, 0);
    buf_init(&out, 0);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct etf c;
        struct mfa back;
        size_t at;

        mfa_term(&b, want[i].m, want[i].f, want[i].arity);
        buf_clear(&out);
        etf_init(&c, b.data, b.len);
        assert_true(term_mfa(&c, &out, 1000));
        assert_string_equal(out.data, want[i].text);
        assert_ptr_equal(c.p, c.end);
        assert_true(term_parse_mfa(out.data, &back, &at));
        assert_string_equal(back.module, want[i].m);
        assert_string_equal(back.function, want[i].f);
        assert_int_equal(back.arity, want[i].arity);
    }
    buf_clear(&b);
    buf_clear(&out);
    enc_atom(&b, "undefined");
    struct etf c;
    etf_init(&c, b.data, b.len);
    assert_true(term_mfa(&c, &out, 1000));
    assert_string_equal(out.data, "undefined");
    buf_release(&b);
    buf_release(&out);
}

static void people_type_mfas(void **state)
{
    static const struct {
        const char *text, *m, *f;
        int arity;
    } want[] = {
        {"m:f/2", "m", "f", 2},
        {"'odd mod':f/1", "odd mod", "f", 1},
        {"'m':'f'/0", "m", "f", 0},
        {"MyApp.Repo.get/2", "Elixir.MyApp.Repo", "get", 2},
        {"MyApp.Repo.get!/2", "Elixir.MyApp.Repo", "get!", 2},
        {"MyApp.valid?/1", "Elixir.MyApp", "valid?", 1},
        {"MyApp.__struct__/0", "Elixir.MyApp", "__struct__", 0},
        {"MyApp.\"odd name\"/1", "Elixir.MyApp", "odd name", 1},
        {"Elixir.MyApp.Repo.get/2", "Elixir.MyApp.Repo", "get", 2},
        {"Elixir.MyApp:get/2", "Elixir.MyApp", "get", 2},
        {"'Elixir.MyApp':get/2", "Elixir.MyApp", "get", 2},
        {":m.f/2", "m", "f", 2},
        {":\"odd mod\".f/2", "odd mod", "f", 2},
        {":'odd mod'.f/2", "odd mod", "f", 2},
        {"m:'-handle/2-fun-0-'/1", "m", "-handle/2-fun-0-", 1},
        {"m:-handle/2-fun-0-/1", "m", "-handle/2-fun-0-", 1},
        {"MyApp.-handle/2-fun-0-/1", "Elixir.MyApp", "-handle/2-fun-0-", 1},
        {"erlang:+/2", "erlang", "+", 2},
        {"erlang:'/'/2", "erlang", "/", 2},
        {"m_1@x:f@2/255", "m_1@x", "f@2", 255},
        {"m:f/007", "m", "f", 7},
        {"\xc3\xa4rlig:\xc3\xa4/1", "\xc3\xa4rlig", "\xc3\xa4", 1},
        {"'\\x{41}\\102\\n\\'':f/1", "AB\n'", "f", 1},
        {"'':''/1", "", "", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct mfa got;
        size_t at;

        if (!term_parse_mfa(want[i].text, &got, &at))
            fail_msg("%s: error at %zu", want[i].text, at);
        assert_string_equal(got.module, want[i].m);
        assert_string_equal(got.function, want[i].f);
        assert_int_equal(got.arity, want[i].arity);
    }
}

static void errors_have_a_position(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } want[] = {
        {"", 0},
        {"m", 1},
        {"m:", 2},
        {"m:f", 3},
        {"m:f/", 4},
        {"m:f/x", 4},
        {"m:f/256", 6},
        {"m:f/2 ", 5},
        {"m:F/2", 2},
        {"m f/2", 1},
        {"m.f/2", 1},
        {"MyApp/2", 5},
        {"MyApp.", 6},
        {"MyApp:f/1", 5},
        {"'m:f/2", 6},
        {"m:'f/2", 6},
        {"m:'f'2", 5},
        {"1m:f/2", 0},
        {"m:f g/2", 3},
        {"m:f/-1", 4},
        {":m:f/2", 2},
        {"m:/2", 2},
        {"'a\\000':f/1", 3},
        {"m:f\xff/1", 3},
        {"'\\x{d800}':f/1", 2},
        {"_m:f/1", 0},
    };
    char text[400];
    struct mfa got;
    size_t at;

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        if (term_parse_mfa(want[i].text, &got, &at))
            fail_msg("%s passes", want[i].text);
        if (at != want[i].at)
            fail_msg("%s: error at %zu, not %zu", want[i].text, at, want[i].at);
    }
    memset(text, 'a', sizeof text);
    memcpy(text + 255, ":f/1", 5);
    assert_true(term_parse_mfa(text, &got, &at));
    memset(text + 255, 'a', 4);
    memcpy(text + 256, ":f/1", 5);
    assert_false(term_parse_mfa(text, &got, &at));
    assert_int_equal(at, 255);
}

/* For any names, the output of term_mfa is read back as the same function. */
static void odd_names_come_back(void **state)
{
    static const char *const pieces[] = {
        "a",    "B",        "Elixir.", ".",  "'",    "\"",       "\\",
        "/",    "-",        " ",       "\n", "\x01", "\xc3\xa4", "\xf0\x9f\x98\x80",
        "\x7f", "\xc2\x85", "?",       "!",  ":",    "#{",       "2",
        "_"};
    const size_t n = sizeof pieces / sizeof *pieces;
    unsigned seed = (unsigned)time(NULL);
    struct buf b, out;

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    buf_init(&b, 0);
    buf_init(&out, 0);
    for (int round = 0; round < 50000; round++) {
        char name[2][64] = {"", ""};
        struct mfa back;
        struct etf c;
        size_t at;

        for (int k = 0; k < 2; k++)
            for (int left = rand() % 8; left > 0; left--)
                strcat(name[k], pieces[(size_t)rand() % n]);
        mfa_term(&b, name[0], name[1], rand() % 256);
        buf_clear(&out);
        etf_init(&c, b.data, b.len);
        assert_true(term_mfa(&c, &out, 1000));
        if (!term_parse_mfa(out.data, &back, &at) || strcmp(back.module, name[0]) != 0 ||
            strcmp(back.function, name[1]) != 0)
            fail_msg("%s: at %zu: '%s' '%s'", out.data, at, back.module, back.function);
    }
    buf_release(&b);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_as_erl_does),
        cmocka_unit_test(output_is_bounded),
        cmocka_unit_test(nothing_fits_an_empty_buf),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(identities_are_bare),
        cmocka_unit_test(templates_name_any_text),
        cmocka_unit_test(templates_of_long_texts_end),
        cmocka_unit_test(a_template_is_found),
        cmocka_unit_test(mfas_as_their_language_writes_them),
        cmocka_unit_test(people_type_mfas),
        cmocka_unit_test(errors_have_a_position),
        cmocka_unit_test(odd_names_come_back),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
