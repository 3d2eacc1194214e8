/* Config files: valid content, and the position in error messages. */
#include <cli/config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct config parse(const char *text)
{
    struct config c;
    struct err e = {{0}};
    if (config_parse(text, strlen(text), "f.config", &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static void item_is(const struct config *c, size_t i, const char *key, enum config_kind kind,
                    const char *text)
{
    assert_true(i < c->n);
    assert_string_equal(c->item[i].key, key);
    assert_int_equal(c->item[i].kind, kind);
    assert_string_equal(c->item[i].text, text);
}

static void values(void **state)
{
    (void)state;
    struct config c = parse("% a comment\n"
                            "{entry, http}. {slow, \"20\" \"ms\"}.\n"
                            "{sample, 'odd \\'atom\\''}.\n"
                            "{max_rate, 20000}.  {delay, 2.5}. {name, <<\"caf\\x{e9}\"/utf8>>}.\n"
                            "{no_color, true}.");
    assert_int_equal(c.n, 7);
    item_is(&c, 0, "entry", CONFIG_WORD, "http");
    item_is(&c, 1, "slow", CONFIG_WORD, "20ms");
    item_is(&c, 2, "sample", CONFIG_WORD, "odd 'atom'");
    item_is(&c, 3, "max_rate", CONFIG_WORD, "20000");
    item_is(&c, 4, "delay", CONFIG_WORD, "2.5");
    item_is(&c, 5, "name", CONFIG_WORD, "caf\xc3\xa9");
    item_is(&c, 6, "no_color", CONFIG_WORD, "true");
    assert_int_equal(c.item[2].line, 3);
    assert_int_equal(c.item[2].col, 10);
    config_release(&c);
}

static void tiers(void **state)
{
    (void)state;
    struct config c =
        parse("{tier_config, [{db, {my_db, query, 2}}, {\"web\", \"MyApp.Web.call/2\"},\n"
              "  {x, {'Elixir.My.Mod', 'get!', 1}}]}. {tier_config, []}.");
    assert_int_equal(c.n, 3);
    item_is(&c, 0, "tier", CONFIG_TIER, "my_db:query/2");
    assert_string_equal(c.item[0].name, "db");
    item_is(&c, 1, "tier", CONFIG_TIER, "MyApp.Web.call/2");
    assert_string_equal(c.item[1].name, "web");
    item_is(&c, 2, "tier", CONFIG_TIER, "'Elixir.My.Mod':'get!'/1");
    assert_int_equal(c.item[2].line, 2);
    config_release(&c);
}

static void one_list(void **state)
{
    (void)state;
    struct config c = parse("\xef\xbb\xbf[{tier_config, [{a, {m, f, 0}}]}, {entry, a},].");
    assert_int_equal(c.n, 2);
    item_is(&c, 1, "entry", CONFIG_WORD, "a");
    config_release(&c);
}

/* The text of a fun is copied unchanged up to its own `end`, even if it contains others. */
static void funs(void **state)
{
    (void)state;
    static const char *const good[] = {
        "fun ({m,f,[A]}) -> A; (_) -> undefined end",
        "fun({m,f,[S]}) -> case S rem 5 of 0 -> fast; _ -> other end; (_) -> undefined end",
        "fun F(X) when X =:= 'end' -> begin F(1) end end",
        "fun (_) -> \"end\" % end\n end",
        "fun (_) -> G = fun (Y) -> Y end, H = fun m:f/1, I = fun g/0, try G(H) catch _ -> I end "
        "end",
        "fun (_) -> $e, $\", if true -> $\\\" end end",
        "fun (X) -> R = fun N(Z) -> receive N -> Z end end, R(X) end",
        "fun (_) -> #{a => <<\"end\">>} end",
        "fun ({m,f,[_]}) -> maybe end",
        "fun ({m,f,[maybe,{a,maybe}]}) -> [maybe]; (maybe) -> [maybe|maybe] end",
        "fun ({m,f,[A]}) when A =:= maybe; A == a -> #{maybe => maybe} end",
        "fun ({m,f,[A]}) -> case A of maybe -> maybe; maybe when true -> b end end",
        "fun ({m,f,[A]}) -> maybe A, {ok, A} else _ -> b end end",
        "fun ({m,f,[A]}) -> maybe {ok, A}, maybe [A], A end end end",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[512];
        snprintf(text, sizeof text, "{identity_f, %s}.\n{entry, x}.", good[i]);
        struct config c = parse(text);
        assert_int_equal(c.n, 2);
        item_is(&c, 0, "identity_f", CONFIG_FUN, good[i]);
        config_release(&c);
    }
}

struct mistake {
    const char *text, *at, *about;
};

static void mistakes(void **state)
{
    (void)state;
    static const struct mistake all[] = {
        {"{entry, a}", "f.config:1:11:", "dot"},
        {"{entry, a}.\n {slow 20}.", "f.config:2:8:", "comma"},
        {"entry.", "f.config:1:1:", "{Key, Value}"},
        {"{Entry, a}.", "f.config:1:2:", "key"},
        {"{entry, \"abc}.", "f.config:1:9:", "has no end"},
        {"{entry, 'abc}.", "f.config:1:9:", "has no end"},
        {"{entry, [a]}.", "f.config:1:9:", "expected an atom"},
        {"{tier_config, {a,b}}.", "f.config:1:15:", "list"},
        {"{tier_config, [{a, {m, f}}]}.", "f.config:1:25:", "{Module, Function, Arity}"},
        {"{tier_config, [{a, {m, F, 1}}]}.", "f.config:1:24:", "{Module, Function, Arity}"},
        {"{tier_config, [{a, {m, f, 1}} {b, {m, f, 2}}]}.", "f.config:1:31:", "comma or ]"},
        {"{identity_f,\n fun (_) -> case x of y -> z end}.", "f.config:2:2:", "no `end`"},
        {"{identity_f, fun m:f/1}.", "f.config:1:18:", "clauses"},
        {"{identity_f, fun ({?MODULE,f,_}) -> x end}.", "f.config:1:20:", "macro"},
        {"{entry, \"a\\0\"}.", "f.config:1:9:", "NUL"},
        {"{entry, \"a\\x{zz}\"}.", "f.config:1:9:", "escape"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct config c;
        struct err e = {{0}};
        assert_int_equal(config_parse(all[i].text, strlen(all[i].text), "f.config", &c, &e), -1);
        if (strncmp(e.text, all[i].at, strlen(all[i].at)) != 0 || !strstr(e.text, all[i].about))
            fail_msg("%s\nsaid: %s\nwanted: %s %s", all[i].text, e.text, all[i].at, all[i].about);
        assert_null(c.item);
        config_release(&c);
    }
}

static void bounds(void **state)
{
    (void)state;
    struct config c;
    struct err e = {{0}};
    size_t n = CONFIG_BYTES_MAX + 1;
    char *big = malloc(n);
    assert_non_null(big);
    memset(big, ' ', n);
    assert_int_equal(config_parse(big, n, "f", &c, &e), -1);
    assert_non_null(strstr(e.text, "256 KiB"));

    size_t at = 0;
    for (int i = 0; i <= CONFIG_ITEMS_MAX; i++)
        at += (size_t)sprintf(big + at, "{a,b}.\n");
    assert_int_equal(config_parse(big, at, "f", &c, &e), -1);
    assert_non_null(strstr(e.text, "f:257:4: too many"));

    memset(big, 'x', n);
    memcpy(big, "{entry,", 7);
    memcpy(big + 20000, "}. ", 3);
    assert_int_equal(config_parse(big, 20003, "f", &c, &e), -1);
    assert_non_null(strstr(e.text, "longer than 16 KiB"));
    free(big);

    assert_int_equal(config_load("/nonexistent/kprof.config", &c, &e), -1);
    assert_non_null(strstr(e.text, "No such file"));
    config_release(&c);
}

/* Every prefix of a valid file, and every single byte changed: no crash, no read past the end. */
static void survives(void **state)
{
    (void)state;
    static const char good[] =
        "[{tier_config,[{d,{m,'f x',2}},{\"w\",\"A.b/1\"}]},{identity_f,fun({m,f,[A]})->"
        "case A of 1->\"x\\x41\";_->$' end end},{slow,<<\"2s\"/utf8>>}].";
    size_t n = sizeof good - 1;
    static const char poison[] = "\0\"'\\{}[].$%<>\xff";
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof poison; k++) {
            struct config c;
            struct err e;
            char *copy = malloc(n); /* exact size, so that asan detects a read past the end */
            assert_non_null(copy);
            memcpy(copy, good, n);
            if (k + 1 < sizeof poison)
                copy[i] = poison[k];
            config_parse(copy, k + 1 < sizeof poison ? n : i, "f", &c, &e);
            config_release(&c);
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),   cmocka_unit_test(tiers),    cmocka_unit_test(one_list),
        cmocka_unit_test(funs),     cmocka_unit_test(mistakes), cmocka_unit_test(bounds),
        cmocka_unit_test(survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
