/* Pages of the catalog that the agent sends: valid, invalid, cut anywhere; and a function is shown
 * as it can be typed. */
#include <kprof/erl/enc.h>
#include <kprof/trace/code_query.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

struct got {
    struct buf text;
    char module[4096];
};

static void on_module(void *arg, const char *shown, const char *app, enum code_query_origin origin,
                      const char *behaviours)
{
    struct got *g = arg;
    snprintf(g->module, sizeof g->module, "%s", shown);
    static const char *const word[] = {"", " platform", " library"};
    buf_addf(&g->text, "[%s%s%s%s]", app, word[origin], behaviours[0] ? ": " : "", behaviours);
}

static void on_function(void *arg, const char *shown, unsigned arity, bool exported)
{
    struct got *g = arg;
    buf_addf(&g->text, " %s%s/%u%s", g->module, shown, arity, exported ? "" : "-");
}

static void function(struct buf *b, const char *f, unsigned arity, unsigned exported)
{
    enc_tuple(b, 3);
    enc_atom(b, f);
    enc_u64(b, arity);
    enc_u64(b, exported);
}

static void page(struct buf *b, const char *next)
{
    enc_tuple(b, 5);
    enc_atom(b, "catalog");
    enc_u64(b, 3);
    enc_u64(b, 640);
    enc_str(b, next);
    enc_list(b, 3);
    enc_tuple(b, 5);
    enc_atom(b, "lists");
    enc_str(b, "stdlib");
    enc_u64(b, 1);
    enc_str(b, "");
    enc_list(b, 2);
    function(b, "map", 2, 1);
    function(b, "fold odd", 3, 0);
    enc_nil(b);
    enc_tuple(b, 5);
    enc_atom(b, "Elixir.MyApp.Repo");
    enc_str(b, "my_app");
    enc_u64(b, 0);
    enc_str(b, "Elixir.Plug gen_server");
    enc_list(b, 1);
    function(b, "get!", 2, 1);
    enc_nil(b);
    enc_tuple(b, 5);
    enc_atom(b, "empty");
    enc_str(b, "");
    enc_u64(b, 2);
    enc_str(b, "");
    enc_nil(b);
    enc_nil(b);
}

static bool read_page(const void *bytes, size_t n, struct got *g, struct code_query_page *p)
{
    struct code_query_sink sink = {g, on_module, on_function};
    buf_init(&g->text, 0);
    return code_query_read(bytes, n, &sink, p);
}

static void a_page_is_read(void **state)
{
    (void)state;
    struct code_query_page p;
    struct got g;
    struct buf b;
    buf_init(&b, 0);
    page(&b, "lists");
    assert_true(read_page(b.data, b.len, &g, &p));
    assert_string_equal(g.text.data, "[stdlib platform] lists:map/2 lists:'fold odd'/3-"
                                     "[my_app: Elixir.Plug gen_server] MyApp.Repo.get!/2"
                                     "[ library]");
    assert_int_equal(p.at, 3);
    assert_int_equal(p.of, 640);
    assert_string_equal(p.next, "lists");
    buf_release(&g.text);
    buf_release(&b);
}

static void a_cut_or_changed_page_is_survived(void **state)
{
    (void)state;
    struct code_query_page p;
    struct got g;
    struct buf b;
    buf_init(&b, 0);
    page(&b, "");
    for (size_t n = 0; n + 1 < b.len;
         n++) { /* the last byte is the end of the list, which is not needed */
        void *cut =
            malloc(n ? n : 1); /* a separate block: the sanitizer detects a read past the end */
        memcpy(cut, b.data, n);
        assert_false(read_page(cut, n, &g, &p));
        buf_release(&g.text);
        free(cut);
    }
    for (size_t i = 0; i < b.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            b.data[i] = (char)(b.data[i] ^ 1 << bit);
            read_page(b.data, b.len, &g, &p);
            buf_release(&g.text);
            b.data[i] = (char)(b.data[i] ^ 1 << bit);
        }
    }
    buf_release(&b);
}

static void what_is_shown_can_be_typed(void **state)
{
    (void)state;
    static const char *const atoms[] = {"lists",
                                        "Elixir.MyApp.Repo",
                                        "Elixir.Odd-one",
                                        "odd mod",
                                        "it's",
                                        "Elixir.Elixir.A",
                                        "a.b",
                                        "Elixir",
                                        "get!",
                                        "\xc3\xa4rger",
                                        "back\\slash",
                                        "new\nline",
                                        "+",
                                        "__info__",
                                        "quote\"d"};
    size_t n = sizeof atoms / sizeof *atoms;
    for (size_t i = 0; i < n * n; i++) {
        struct buf b, shown;
        struct mfa mfa;
        struct etf c;
        bool elixir;
        size_t at;
        buf_init(&b, 0);
        buf_init(&shown, 0);
        enc_atom(&b, atoms[i / n]);
        enc_atom(&b, atoms[i % n]);
        etf_init(&c, b.data, b.len);
        assert_true(term_module(&c, &shown, &elixir));
        assert_true(term_function(&c, &shown, elixir));
        buf_adds(&shown, "/2");
        if (!term_parse_mfa(shown.data, &mfa, &at))
            fail_msg("%s: not read at byte %zu", shown.data, at);
        assert_string_equal(mfa.module, atoms[i / n]);
        assert_string_equal(mfa.function, atoms[i % n]);
        buf_release(&shown);
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_read),
        cmocka_unit_test(a_cut_or_changed_page_is_survived),
        cmocka_unit_test(what_is_shown_can_be_typed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
