/* Wrapping rules in path(...) and shape(...): which one fits, the new names, which part is wrapped.
 */
#include <engine/rule_template.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 100 };

struct made {
    char text[MOST][80];
    const char *name[MOST];
    uint64_t calls[MOST];
    struct rule_template_names names;
};

/* format has one %u: 1, 2, ... */
static void make(struct made *m, size_t n, const char *const *formats, size_t n_formats)
{
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(formats[i % n_formats], '#');
        size_t before = at ? (size_t)(at - formats[i % n_formats]) : 0;
        if (at)
            snprintf(m->text[i], sizeof m->text[i], "%.*s%zu%s", (int)before,
                     formats[i % n_formats], 100 + i, at + 1);
        else
            snprintf(m->text[i], sizeof m->text[i], "%s%.*s", formats[i % n_formats], (int)i,
                     "ghijklmnopqrstuvwxyzghijklmnopqrstuvwxyz");
        m->name[i] = m->text[i];
        m->calls[i] = i + 1;
    }
    m->names = (struct rule_template_names){m->name, m->calls, n};
}

static void what_fits(void **state)
{
    (void)state;
    static const char *const paths[] = {"/item/#", "/user/#"};
    static const char *const with_method[] = {"GET /item/#", "POST /item/#?x=1"};
    static const char *const urls[] = {"https://shop/item/#"};
    static const char *const keys[] = {"order:#", "user_#"};
    static const char *const words[] = {"word"};
    static const struct {
        const char *const *formats;
        size_t n;
        enum rule_how how;
    } all[] = {{paths, 2, RULE_BY_PATH},
               {with_method, 2, RULE_BY_PATH},
               {urls, 1, RULE_BY_PATH},
               {keys, 2, RULE_BY_SHAPE},
               {words, 1, RULE_AS_IS}};
    struct made m;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        make(&m, 30, all[i].formats, all[i].n);
        if (rule_template_fit(&m.names) != all[i].how)
            fail_msg("%s: %d", m.name[0], rule_template_fit(&m.names));
    }
    m.names.n = 0;
    assert_int_equal(rule_template_fit(&m.names), RULE_AS_IS);
}

static void the_preview_counts(void **state)
{
    (void)state;
    static const char *const paths[] = {"/a/#", "/b/#", "/c/#", "/d/#", "/e/#"};
    struct made m;
    struct buf out;
    make(&m, 10, paths, 5); /* calls 1..10 */
    buf_init(&out, 0);
    assert_int_equal(rule_template_preview(&m.names, RULE_BY_PATH, &out), 5);
    assert_string_equal(out.data, "/e/* 15, /d/* 13, /c/* 11 and 2 more");
    buf_release(&out);
}

static void what_is_wrapped(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *path;
    } all[] = {
        {"m:f/1 arg(1)", "m:f/1 path(arg(1))"},
        {"m:f/1 arg(1); m:g/2 element(2, arg(2))",
         "m:f/1 path(arg(1)); m:g/2 path(element(2, arg(2)))"},
        {"MyApp.Repo.get/2 map_get(:path, arg(1))",
         "MyApp.Repo.get/2 path(map_get(:path, arg(1)))"},
        {"m:f/1 prefix(20, arg(1))", "m:f/1 path(prefix(20, arg(1)))"},
        {"m:f/1 shape(arg(1))", "m:f/1 path(arg(1))"},
        /* the names show that the second element varies */
        {"m:f/1 {map_get(method, arg(1)), map_get(path, arg(1))}",
         "m:f/1 {map_get(method, arg(1)), path(map_get(path, arg(1)))}"},
        {"m:f/1 {get, arg(1)}", "m:f/1 {get, path(arg(1))}"},
        /* if the size differs: all parts except constants and process names */
        {"m:f/1 {get, name(arg(1)), <<\"x, y\">>, element(1, {a, b})}",
         "m:f/1 {get, name(arg(1)), <<\"x, y\">>, path(element(1, {a, b}))}"},
        {"fun ({m, f, [X]}) -> X; ({m, g, [_, {a, Y}]}) when Y > 1; Y < 0 -> {get, Y}; "
         "(_) -> undefined end",
         "fun ({m, f, [X]}) -> path(X); ({m, g, [_, {a, Y}]}) when Y > 1; Y < 0 -> {get, path(Y)}; "
         "(_) -> undefined end"},
        {"fun({m, f, [#{send := X, 'end' := \"; -> end\"}]}) -> X end.",
         "fun({m, f, [#{send := X, 'end' := \"; -> end\"}]}) -> path(X) end"},
        {"fun ({m, f, [$;, $', X]}) -> element(1, X) end",
         "fun ({m, f, [$;, $', X]}) -> path(element(1, X)) end"},
        {"'a;b':'f/1 x'/2 arg(1)", "'a;b':'f/1 x'/2 path(arg(1))"},
        {"  m:f/1\n   arg(1)  ", "m:f/1\n   path(arg(1))"},
        /* unchanged, or not possible */
        {"m:f/1 path(arg(1))", NULL},
        {"m:f/1 name(arg(1))", NULL},
        {"fun (_) -> undefined end", NULL},
        {"m:f/1 arg(1) % text", NULL},
        {"", NULL},
    };
    static const char *const names[] = {"GET /item/#"};
    struct made m;
    make(&m, 30, names, 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct buf out;
        buf_init(&out, 0);
        const char *why = rule_template_wrap(all[i].rule, RULE_BY_PATH, &m.names, &out);
        if (!why != (all[i].path != NULL) || (!why && strcmp(out.data, all[i].path) != 0))
            fail_msg("%s: %s %s", all[i].rule, why ? why : "", out.data);
        if (!why) { /* not twice */
            struct buf twice;
            buf_init(&twice, 0);
            assert_non_null(rule_template_wrap(out.data, RULE_BY_PATH, &m.names, &twice));
            buf_release(&twice);
        }
        buf_release(&out);
    }
}

/* Random bytes: the function returns, and the result is the rule with path( and ) added. */
static void any_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "{[(<<>>)]}'\"$\\;,->% fun end path shape name /1 mX: arg(1)\n_";
    uint64_t seed = 1;
    static const char *const names[] = {"GET /item/#"};
    struct made m;
    make(&m, 5, names, 1);
    for (int round = 0; round < 20000; round++) {
        char rule[60];
        size_t n = 0;
        struct buf out;
        while (n < sizeof rule - 1) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            rule[n] = bytes[(seed >> 33) % (sizeof bytes - 1)];
            n++;
            if ((seed >> 40) % 50 == 0)
                break;
        }
        rule[n] = 0;
        buf_init(&out, 0);
        rule_template_wrap(rule, RULE_BY_PATH, &m.names, &out);
        assert_true(out.len <= n * 7 + 7);
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits),
        cmocka_unit_test(the_preview_counts),
        cmocka_unit_test(what_is_wrapped),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
