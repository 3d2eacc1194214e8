/* Presets: whatever a node has of one, what comes out can be traced. */
#include <kprof/cli/preset.h>
#include <kprof/erl/term.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

static void full_name(size_t i, char *out, size_t cap)
{
    snprintf(out, cap, "%s%s", preset_name(i), preset_asks(preset_name(i)) ? ":MyApp.Server" : "");
}

static void tiers_parse_and_differ(const struct preset_set *s)
{
    struct mfa mfa;
    size_t at;
    for (size_t i = 0; i < s->n; i++) {
        if (!term_parse_mfa(s->tier[i].mfa, &mfa, &at))
            fail_msg("%s", s->tier[i].mfa);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(s->tier[i].name, s->tier[k].name);
    }
}

/* A rule may only speak of tiers: what stands before each "arg(" or in each clause is one. */
static void rule_names_only_tiers(const struct preset_set *s)
{
    static const char *const functions[] = {"handle_call", "handle_cast", "handle_info",
                                            "db/2",        "execute/2",   "init/2",
                                            "__call__",    "handle_ut"};
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        bool named = strstr(s->identity, functions[f]) != NULL, is_tier = false;
        for (size_t i = 0; i < s->n; i++)
            is_tier = is_tier || strstr(s->tier[i].mfa, functions[f]);
        assert_true(!named || is_tier);
    }
}

static void whatever_is_there_can_be_traced(void **state)
{
    (void)state;
    for (size_t p = 0; p < preset_count(); p++) {
        char name[100];
        struct preset_set all, some;
        struct err e;
        full_name(p, name, sizeof name);
        assert_int_equal(preset_make(name, NULL, &all, &e), 0);
        assert_true(all.n > 0 && all.identity[0]);
        for (unsigned mask = 0; mask < 1u << all.n; mask++) {
            bool there[PRESET_TIERS];
            size_t have = 0;
            for (size_t i = 0; i < all.n; i++)
                have += there[i] = mask >> i & 1;
            if (preset_make(name, there, &some, &e) < 0) {
                assert_true(mask + 1 < 1u << all.n); /* all there: never refused */
                assert_non_null(strstr(e.text, "the node has no "));
                continue;
            }
            assert_int_equal(some.n, have);
            assert_true(have > 0); /* nothing there: always refused */
            tiers_parse_and_differ(&some);
            rule_names_only_tiers(&some);
        }
    }
}

static void a_module_is_written_either_way(void **state)
{
    (void)state;
    struct preset_set s;
    struct err e;
    const bool only_call[PRESET_TIERS] = {true};
    assert_int_equal(preset_make("gen_server:MyApp.Server", only_call, &s, &e), 0);
    assert_string_equal(s.tier[0].mfa, "MyApp.Server.handle_call/3");
    assert_string_equal(s.identity,
                        "fun ({'Elixir.MyApp.Server', handle_call, [R, _, _]}) when is_tuple(R) -> "
                        "element(1, R); ({'Elixir.MyApp.Server', handle_call, [R, _, _]}) -> R; "
                        "(_) -> undefined end");
    assert_true(s.entry_none);
    assert_int_equal(preset_make("gen_server:shop_db", NULL, &s, &e), 0);
    assert_string_equal(s.tier[2].mfa, "shop_db:handle_info/2");
    static const char *const wrong[] = {
        "",        "gen_server", "gen_server:",    "gen_server:a b", "cowboy:x",
        "no_such", ":",          "gen_server:a'b", "gen_server:a:b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        e.text[0] = 0;
        assert_int_equal(preset_make(wrong[i], NULL, &s, &e), -1);
        assert_true(e.text[0]);
    }
}

static void only_what_is_open_is_filled(void **state)
{
    (void)state;
    struct options o = {.n_tiers = 0};
    struct preset_set s;
    struct err e;
    assert_int_equal(preset_make("sample", NULL, &s, &e), 0);
    o.identity = strdup("m:f/1 arg(1)");
    preset_fill(&s, &o);
    assert_int_equal(o.n_tiers, 5);
    assert_string_equal(o.tier[0].mfa, "kprof_sample:handle/1");
    assert_string_equal(o.identity, "m:f/1 arg(1)");
    free(o.identity);
    o.identity = NULL;
    o.n_tiers = 1;
    preset_fill(&s, &o);
    assert_int_equal(o.n_tiers, 1);
    assert_string_equal(o.identity, "kprof_sample:db/2 arg(1)");
    o.entry = strdup("x");
    assert_int_equal(preset_make("gen_server:m", NULL, &s, &e), 0);
    preset_fill(&s, &o);
    assert_false(o.entry_none);
    free(o.entry);
    free(o.identity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_there_can_be_traced),
        cmocka_unit_test(a_module_is_written_either_way),
        cmocka_unit_test(only_what_is_open_is_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
