/* Presets: whichever functions a node has, the resulting tiers can be traced. */
#include <kprof/cli/options_preset.h>
#include <kprof/erl/term.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#define CANDIDATES 40

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

/* A rule may only use tiers: the function before each "arg(" or in each clause is a tier. */
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

/* The candidates of a preset, one per line; returns their number. */
static size_t candidates(const char *name, char line[CANDIDATES][TIER_MFA_BYTES])
{
    struct buf lines;
    struct err e;
    size_t n, i = 0;
    buf_init(&lines, 0);
    assert_int_equal(preset_candidates(name, &lines, &n, &e), 0);
    for (char *at = lines.data, *end; (end = strchr(at, '\n')); at = end + 1, i++) {
        *end = 0;
        assert_true(i < CANDIDATES);
        snprintf(line[i], TIER_MFA_BYTES, "%s", at);
    }
    assert_int_equal(i, n);
    buf_release(&lines);
    return n;
}

static size_t tiers_with(const struct preset_set *s, const char *mfa)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += strcmp(s->tier[i].mfa, mfa) == 0;
    return n;
}

static bool has_candidate(char line[CANDIDATES][TIER_MFA_BYTES], const bool *there, size_t n,
                          const char *mfa)
{
    for (size_t i = 0; i < n; i++)
        if (there[i] && strcmp(line[i], mfa) == 0)
            return true;
    return false;
}

/* For any set of functions: each resulting tier exists, and each tier of the preset is used or
 * reported as left out. */
static void holds(const struct preset_set *all, const struct preset_set *some,
                  char line[CANDIDATES][TIER_MFA_BYTES], const bool *there, size_t n)
{
    assert_true(some->n > 0 && 2 * some->n >= all->n);
    assert_int_equal(some->all, all->n);
    assert_int_equal(some->left_out[0] != 0, some->n < all->n);
    tiers_parse_and_differ(some);
    rule_names_only_tiers(some);
    for (size_t i = 0; i < some->n; i++)
        assert_true(has_candidate(line, there, n, some->tier[i].mfa));
    for (size_t i = 0; i < all->n; i++) {
        char left[TIER_NAME_BYTES + 3];
        bool in = false;
        for (size_t k = 0; k < some->n; k++)
            in = in || strcmp(some->tier[k].name, all->tier[i].name) == 0;
        snprintf(left, sizeof left, " %s (", all->tier[i].name);
        assert_int_equal(!in, strstr(some->left_out, left) != NULL);
    }
}

static void whatever_is_there_can_be_traced(void **state)
{
    (void)state;
    static char line[CANDIDATES][TIER_MFA_BYTES];
    for (size_t p = 0; p < preset_count(); p++) {
        char name[100];
        struct preset_set all, some;
        struct err e;
        full_name(p, name, sizeof name);
        assert_int_equal(preset_make(name, NULL, &all, &e), 0);
        assert_true(all.n > 0 && all.n == all.all && all.identity[0] && !all.left_out[0]);
        size_t n = candidates(name, line), refused = 0;
        for (unsigned mask = 0; mask < 1u << n; mask++) {
            bool there[CANDIDATES];
            for (size_t i = 0; i < n; i++)
                there[i] = mask >> i & 1;
            if (preset_make(name, there, &some, &e) < 0) {
                assert_true(mask + 1 < 1u << n); /* all exist: never refused */
                assert_true(strstr(e.text, "the node has no ") ||
                            strstr(e.text, "the node has only "));
                refused++;
                continue;
            }
            holds(&all, &some, line, there, n);
        }
        assert_true(refused > 0);
    }
}

static void a_tier_is_the_function_that_the_node_has(void **state)
{
    (void)state;
    static char line[CANDIDATES][TIER_MFA_BYTES];
    static const char *const of_3_10[] = {"rabbit_exchange:route/2", "rabbit_queue_type:deliver/3",
                                          "rabbit_variable_queue:publish/6"};
    static const char *const of_4[] = {"rabbit_exchange:route/3", "rabbit_queue_type:deliver/4",
                                       "rabbit_variable_queue:publish/5"};
    struct preset_set old, new, both;
    struct err e;
    bool there[2][CANDIDATES];
    size_t n = candidates("rabbitmq", line);
    for (size_t i = 0; i < n; i++) {
        there[0][i] = there[1][i] = true;
        for (size_t k = 0; k < 3; k++) {
            there[0][i] = there[0][i] && strcmp(line[i], of_4[k]) != 0;
            there[1][i] = there[1][i] && strcmp(line[i], of_3_10[k]) != 0;
        }
    }
    assert_int_equal(preset_make("rabbitmq", there[0], &old, &e), 0);
    assert_int_equal(preset_make("rabbitmq", there[1], &new, &e), 0);
    assert_int_equal(preset_make("rabbitmq", NULL, &both, &e), 0);
    assert_true(old.n == both.n && new.n == both.n && !old.left_out[0] && !new.left_out[0]);
    for (size_t k = 0; k < 3; k++) {
        assert_true(tiers_with(&old, of_3_10[k]) == 1 && tiers_with(&old, of_4[k]) == 0);
        assert_true(tiers_with(&new, of_4[k]) == 1 && tiers_with(&new, of_3_10[k]) == 0);
        assert_true(tiers_with(&both, of_4[k]) == 1 && tiers_with(&both, of_3_10[k]) == 0);
    }
}

static void what_is_left_out_is_said_in_a_sentence(void **state)
{
    (void)state;
    static char line[CANDIDATES][TIER_MFA_BYTES];
    struct preset_set s;
    struct err e;
    bool there[CANDIDATES];
    size_t n = candidates("rabbitmq", line);
    for (size_t i = 0; i < n; i++)
        there[i] = !strstr(line[i], "route/") && !strstr(line[i], "msg_store");
    assert_int_equal(preset_make("rabbitmq", there, &s, &e), 0);
    assert_string_equal(
        s.left_out,
        "left out, because the node has not loaded them: route (rabbit_exchange:route/3 or "
        "rabbit_exchange:route/2), store (rabbit_msg_store:handle_cast/2)");
    for (size_t i = 0; i < n; i++)
        there[i] = i < 3; /* the channel and a route, 2 of 8 tiers */
    assert_int_equal(preset_make("rabbitmq", there, &s, &e), -1);
    assert_string_equal(e.text, "preset rabbitmq: the node has only 2 of its 8 tiers; "
                                "add tiers one by one");
    for (size_t i = 0; i < n; i++)
        there[i] = i > 0;
    assert_int_equal(preset_make("rabbitmq", there, &s, &e), -1);
    assert_string_equal(e.text, "preset rabbitmq: the node has no rabbit_channel:handle_cast/2");
}

static void presets_are_combined(void **state)
{
    (void)state;
    static char line[CANDIDATES][TIER_MFA_BYTES];
    struct preset_set one, s;
    struct err e;
    bool there[CANDIDATES];
    assert_int_equal(preset_make("phoenix", NULL, &one, &e), 0);
    assert_int_equal(preset_make("phoenix,plug,gen_server:a,gen_server:b", NULL, &s, &e), 0);
    assert_string_equal(s.tier[0].mfa,
                        one.tier[0].mfa); /* entry and identity are those of the first */
    assert_string_equal(s.identity, one.identity);
    assert_false(s.entry_none);
    assert_int_equal(tiers_with(&s, "Plug.Conn.send_resp/1"), 1);
    tiers_parse_and_differ(&s);
    /* a name does not depend on what the node has */
    size_t n = candidates("gen_server:a,gen_server:b", line);
    for (size_t i = 0; i < n; i++)
        there[i] = strcmp(line[i], "a:handle_cast/2") != 0;
    assert_int_equal(preset_make("gen_server:a,gen_server:b", there, &s, &e), 0);
    assert_true(s.n == 5 && s.entry_none);
    assert_string_equal(s.tier[3].name, "cast#2");
    assert_string_equal(s.tier[3].mfa, "b:handle_cast/2");
    for (size_t i = 0; i < n; i++)
        there[i] = line[i][0] == 'a';
    assert_int_equal(preset_make("gen_server:a,gen_server:b", there, &s, &e),
                     -1); /* half of each */
    static const char *const wrong[] = {"phoenix,", ",phoenix", "phoenix,,plug", "phoenix, plug"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(preset_make(wrong[i], NULL, &s, &e), -1);
}

static struct options options_with(const char *preset)
{
    struct options o;
    struct err e;
    options_defaults(&o);
    assert_int_equal(options_preset_add(&o, preset, &e), 0);
    return o;
}

static void only_what_is_there_is_started(void **state)
{
    (void)state;
    static char line[CANDIDATES][TIER_MFA_BYTES];
    char said[PRESET_SAID_BYTES];
    bool there[CANDIDATES];
    struct err e;
    struct tier_spec own = {"mine", "my:own/1"};
    struct options o = options_with("rabbitmq");
    assert_int_equal(options_tier_add(o.tier, &o.n_tiers, &own, &e), 0);
    size_t n = candidates(o.preset, line);
    for (size_t i = 0; i < n; i++)
        there[i] = !strstr(line[i], "route/3") && !strstr(line[i], "msg_store");
    assert_int_equal(options_preset_resolve(&o, there, said, &e), 0);
    assert_int_equal(o.n_tiers, 8); /* one of eight is left out; the operator's tier stays */
    assert_string_equal(o.tier[1].mfa, "rabbit_exchange:route/2");
    assert_string_equal(o.tier[7].mfa, "my:own/1");
    assert_non_null(strstr(said, "store (rabbit_msg_store:handle_cast/2)"));
    assert_null(o.preset);
    options_release(&o);
    o = options_with("rabbitmq");
    o.entry = strdup("store");
    assert_int_equal(options_preset_resolve(&o, there, said, &e),
                     -1); /* the chosen entry does not exist */
    assert_non_null(strstr(e.text, "--entry store"));
    options_release(&o);
    o = options_with("cowboy");
    o.identity_of_preset = false;
    free(o.identity);
    o.identity = strdup("m:f/1 arg(1)");
    assert_int_equal(options_preset_add(&o, "sample", &e), 0);
    bool all[CANDIDATES];
    memset(all, true, sizeof all);
    assert_int_equal(options_preset_resolve(&o, all, said, &e), 0);
    assert_string_equal(o.identity, "m:f/1 arg(1)");
    assert_string_equal(o.tier[o.n_tiers - 1].mfa, "kprof_sample:formatter/1");
    assert_string_equal(said, "");
    options_release(&o);
}

static void a_module_is_written_either_way(void **state)
{
    (void)state;
    struct preset_set s;
    struct err e;
    const bool call_and_cast[CANDIDATES] = {true, true};
    assert_int_equal(preset_make("gen_server:MyApp.Server", call_and_cast, &s, &e), 0);
    assert_string_equal(s.tier[0].mfa, "MyApp.Server.handle_call/3");
    const char *rule = "fun ({'Elixir.MyApp.Server', handle_call, [R, _, _]}) when is_tuple(R) -> "
                       "element(1, R); ({'Elixir.MyApp.Server', handle_call, [R, _, _]}) -> R; "
                       "({'Elixir.MyApp.Server', handle_cast, [R, _]}) when is_tuple(R) -> "
                       "element(1, R); ({'Elixir.MyApp.Server', handle_cast, [R, _]}) -> R; "
                       "(_) -> undefined end";
    assert_string_equal(s.identity, rule);
    assert_int_equal(s.n, 2);
    assert_true(s.entry_none);
    const bool nothing[CANDIDATES] = {false};
    assert_int_equal(preset_make("gen_statem:shop_door", nothing, &s, &e), -1);
    assert_string_equal(e.text, "preset gen_statem: the node has no shop_door:handle_event/4; if "
                                "each state has a function of its own, add these as tiers (a)");
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
        cmocka_unit_test(a_tier_is_the_function_that_the_node_has),
        cmocka_unit_test(what_is_left_out_is_said_in_a_sentence),
        cmocka_unit_test(presets_are_combined),
        cmocka_unit_test(only_what_is_there_is_started),
        cmocka_unit_test(a_module_is_written_either_way),
        cmocka_unit_test(only_what_is_open_is_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
