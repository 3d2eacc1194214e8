/* Loading a profile on the screen, before kprof-top is attached: what is reported as an error is
 * not done later. */
#include <app/live_profile.h>
#include <ui_script.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <kprof/cli/profile.h>
#include <kprof/cli/profile_save.h>

static char home[64];

static int setup(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/kprof-live-profile-XXXXXX");
    return mkdtemp(home) ? setenv("XDG_CONFIG_HOME", home, 1) : -1;
}

static int teardown(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", home);
    return system(command);
}

static void write_profile(const char *name, const char *text)
{
    char path[PROFILE_PATH_BYTES];
    struct err e;

    assert_int_equal(profile_path(name, path, &e), 0);
    for (char *slash = path + strlen(home); (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void a_refused_profile_is_not_loaded_later(void **state)
{
    static const struct engine_hooks hooks;
    const struct intent in = {.kind = INTENT_LOAD, .text = "shop", .force = true};
    struct settings none = {.history = true};
    struct preset_take presets = {.asked = false};
    struct canvas c;
    struct ui *u;
    struct err e;

    (void)state;
    write_profile("shop", "{preset, cowboy}.\n");
    struct engine *g = engine_new(&none, &hooks, &e);
    assert_non_null(g);
    script_begin(&u, &c, false);
    assert_int_equal(engine_can_ask(g, &e), -1);
    live_profile(g, u, &presets, &in);
    ui_draw(u, &c, NULL);
    assert_true(picture_has(&c, e.text));
    assert_false(preset_take_wanted(&presets));
    preset_take_drop(&presets);
    script_end(u, &c, NULL);
    engine_free(g);
}

/* Attaches to no node: the settings are those of the engine. */
static struct settings loaded(const struct settings *first, const char *profile, const char *said,
                              char identity[64])
{
    static const struct engine_hooks hooks;
    const struct intent in = {.kind = INTENT_LOAD, .text = "shop", .force = true};
    struct preset_take presets = {.asked = false};
    struct settings now;
    struct canvas c;
    struct ui *u;
    struct err e;

    write_profile("shop", profile);
    struct engine *g = engine_new(first, &hooks, &e);
    assert_non_null(g);
    assert_int_equal(engine_first_settings(g, &e), 0);
    script_begin(&u, &c, false);
    live_profile(g, u, &presets, &in);
    ui_draw(u, &c, NULL);
    if (!picture_has(&c, said))
        fail_msg("%s: not said", profile);
    assert_int_equal(engine_settings(g, &now, &e), 0);
    snprintf(identity, 64, "%s", now.identity ? now.identity : "");
    now.entry = now.identity = NULL; /* they are the engine's */
    script_end(u, &c, NULL);
    engine_free(g);
    return now;
}

static const struct settings careful = {.history = true,
                                        .n_tiers = 1,
                                        .tier = {{.name = "web", .mfa = "m:f/1"}},
                                        .identity = "m:f/1 arg(1)",
                                        .sample = 10,
                                        .detail = 100,
                                        .slow_ns = 20000000,
                                        .mailbox = true,
                                        .max_age_ns = 1000000000,
                                        .cooldown_ns = 7000000000,
                                        .max_rate = 300,
                                        .max_overhead_ppm = 20000};

static void settings_that_a_profile_does_not_have_stay(void **state)
{
    char rule[64];

    (void)state;
    struct settings s =
        loaded(&careful, "{tier_config, [{db, {m, g, 2}}]}.\n", "profile shop is loaded", rule);
    assert_int_equal(s.n_tiers, 1);
    assert_string_equal(s.tier[0].name, "db");
    assert_string_equal(rule, ""); /* it was about the former tiers */
    assert_int_equal(s.sample, 10);
    assert_int_equal(s.max_overhead_ppm, 20000);
    assert_int_equal(s.max_rate, 300);
    assert_int_equal(s.cooldown_ns, 7000000000);
    assert_int_equal(s.slow_ns, 20000000);
    assert_true(s.mailbox);
}

static void only_its_limits_change(void **state)
{
    char rule[64];

    (void)state;
    struct settings s = loaded(&careful,
                               "{sample, \"1/1\"}. {max_overhead, none}. {mailbox, false}.\n"
                               "{max_rate, none}. {slow, none}.\n",
                               "profile shop is loaded: sample 1/10 -> 1/1, "
                               "max-overhead 2% -> none,",
                               rule);
    assert_int_equal(s.n_tiers, 1);
    assert_string_equal(s.tier[0].name, "web");
    assert_string_equal(rule, "m:f/1 arg(1)");
    assert_int_equal(s.sample, 1);
    assert_int_equal(s.max_overhead_ppm, 0);
    assert_int_equal(s.max_rate, 0);
    assert_int_equal(s.slow_ns, 0);
    assert_false(s.mailbox);
}

/* What W saves is what L restores, settings with their default included. */
static void a_saved_profile_restores_all(void **state)
{
    struct options o;
    struct buf text;
    char rule[64];

    (void)state;
    options_defaults(&o);
    o.max_overhead_ppm = 50000;
    buf_init(&text, 0);
    profile_save_text(&o, true, &text);
    struct settings s = loaded(&careful, text.data, "profile shop is loaded: sample 1/10", rule);
    assert_int_equal(s.sample, 1);
    assert_int_equal(s.max_overhead_ppm, 50000);
    assert_int_equal(s.max_rate, 0);
    assert_int_equal(s.cooldown_ns, o.cooldown_ns);
    assert_int_equal(s.slow_ns, 0);
    assert_false(s.mailbox);
    buf_release(&text);
    options_release(&o);
}

/* Nothing of such a profile is taken, and the statistics of the tiers stay. */
static void a_faulty_rule_changes_nothing(void **state)
{
    static const char *const rules[][2] = {
        {"m:g/2 element(2, arg(1)", "error in line 1, column 14: this bracket is not closed"},
        {"m:g/2 arg(1))", "error in line 1, column 13: nothing is open"},
        {"fun ({m, g, [A, B]}) -> {A, B}", "error in line 1, column 1: what begins here has no"},
        {"fun ({m, g, [A, B]) -> A end", "error in line 1, column 19: nothing is open"},
        {"m:g/2 {'x, arg(1)}", "error in line 1, column 8: the atom that starts here"},
    };
    char text[300], rule[64];

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        snprintf(text, sizeof text,
                 "{tier_config, [{db, {m, g, 2}}]}. {sample, \"1/2\"}. {identity_f, \"%s\"}.\n",
                 rules[i][0]);
        struct settings s = loaded(&careful, text, rules[i][1], rule);
        assert_int_equal(s.n_tiers, 1);
        assert_string_equal(s.tier[0].name, "web");
        assert_string_equal(rule, "m:f/1 arg(1)");
        assert_int_equal(s.sample, 10);
    }
}

/* One function, written in two ways. */
static void a_function_given_twice_changes_nothing(void **state)
{
    char rule[64];

    (void)state;
    struct settings s = loaded(&careful, "{tier_config, [{db, {m, g, 2}}, {x, \"'m':g/2\"}]}.\n",
                               "'m':g/2 is given twice, as tiers db and x", rule);
    assert_int_equal(s.n_tiers, 1);
    assert_string_equal(s.tier[0].name, "web");
    assert_string_equal(rule, "m:f/1 arg(1)");
}

/* What the check must not refuse, as the node accepts it. */
static void unusual_rules_are_taken(void **state)
{
    static const char *const rules[] = {
        "m:g/2 {arg(1), $(, '(', <<40>>}",
        "fun F({m, g, [A, _]}) when A > 0 -> [A]; (_) -> case 1 of 1 -> undefined end end",
        "fun ({m, g, [#{a := A}, _]}) -> fun m:f/1, path(A) end",
        "My.Mod.get!/2 arg(1); :m.ok?/1 :path",
        "",
    };
    char text[300], rule[64];

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        snprintf(text, sizeof text, "{tier_config, [{db, {m, g, 2}}]}. %s%s%s\n",
                 rules[i][0] ? "{identity_f, \"" : "", rules[i], rules[i][0] ? "\"}." : "");
        struct settings s = loaded(&careful, text, "profile shop is loaded", rule);
        assert_string_equal(s.tier[0].name, "db");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_profile_is_not_loaded_later, setup, teardown),
        cmocka_unit_test_setup_teardown(settings_that_a_profile_does_not_have_stay, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(only_its_limits_change, setup, teardown),
        cmocka_unit_test_setup_teardown(a_saved_profile_restores_all, setup, teardown),
        cmocka_unit_test_setup_teardown(a_faulty_rule_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_function_given_twice_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(unusual_rules_are_taken, setup, teardown),
    };
    return cmocka_run_group_tests_name("live_profile", tests, NULL, NULL);
}
