/* Profiles: any content is read back unchanged; a name cannot refer to another directory. */
#include <kprof/cli/profile.h>
#include <kprof/cli/profile_save.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char home[64];

static int setup(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/kprof-profile-XXXXXX");
    return mkdtemp(home) ? setenv("XDG_CONFIG_HOME", home, 1) : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", home);
    return system(command);
}

static void same(const struct options *a, const struct options *b)
{
    assert_int_equal(a->n_tiers, b->n_tiers);
    for (size_t i = 0; i < a->n_tiers; i++) {
        assert_string_equal(a->tier[i].name, b->tier[i].name);
        assert_string_equal(a->tier[i].mfa, b->tier[i].mfa);
    }
    assert_int_equal(a->entry_none, b->entry_none);
    assert_int_equal(!a->entry, !b->entry);
    if (a->entry)
        assert_string_equal(a->entry, b->entry);
    assert_int_equal(!a->identity, !b->identity);
    if (a->identity)
        assert_string_equal(a->identity, b->identity);
    assert_int_equal(a->slow_ns, b->slow_ns);
    assert_int_equal(a->sample, b->sample);
    assert_int_equal(a->returns, b->returns);
    assert_int_equal(a->max_age_ns, b->max_age_ns);
    assert_int_equal(a->cooldown_ns, b->cooldown_ns);
    assert_int_equal(a->max_rate, b->max_rate);
    assert_int_equal(a->max_overhead_ppm, b->max_overhead_ppm);
    assert_int_equal(a->all_the_time, b->all_the_time);
}

static void round_trip(const struct options *o)
{
    char path[PROFILE_PATH_BYTES];
    struct options back;
    struct err e = {{0}};
    if (profile_save(o, "one", true, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(profile_path("one", path, &e), 0);
    if (options_load(path, &back, &e) < 0)
        fail_msg("%s", e.text);
    same(o, &back);
    options_release(&back);
}

static void everything_comes_back(void **state)
{
    (void)state;
    struct options o;
    options_defaults(&o);
    o.max_overhead_ppm = 50000;
    round_trip(&o);
    o.n_tiers = 2;
    snprintf(o.tier[0].name, sizeof o.tier[0].name, "web");
    snprintf(o.tier[0].mfa, sizeof o.tier[0].mfa, "my_web:handle/1");
    snprintf(o.tier[1].name, sizeof o.tier[1].name, "get");
    snprintf(o.tier[1].mfa, sizeof o.tier[1].mfa, "MyApp.Repo.get/2");
    o.entry = strdup("get");
    o.identity =
        strdup("fun ({my_web, handle, [R]}) -> element(2, R);\n    (_) -> \"\\x{e9}\\\\\" end");
    o.slow_ns = 1500000;
    o.sample = 10;
    o.returns = RETURNS_FULL;
    o.max_age_ns = 250000000;
    o.cooldown_ns = 9000000000;
    o.max_rate = 20000;
    o.max_overhead_ppm = 0;
    o.all_the_time = true;
    round_trip(&o);
    free(o.entry);
    o.entry = NULL;
    o.entry_none = true;
    o.max_overhead_ppm = 12300;
    round_trip(&o);
    options_release(&o);
}

/* Random text as a rule: quotes, backslashes, newlines, text like the end of a term. */
static void any_rule_comes_back(void **state)
{
    (void)state;
    static const char piece[] = "a\"\\\n .]})%'$\t\x7f";
    unsigned seed = 1;
    struct options o;
    options_defaults(&o);
    o.max_overhead_ppm = 50000;
    for (int i = 0; i < 300; i++) {
        char rule[40] = "x";
        size_t n = 1 + (size_t)(i % 38);
        for (size_t k = 1; k < n; k++) {
            seed = seed * 1103515245u + 12345u;
            rule[k] = piece[(seed >> 16) % (sizeof piece - 1)];
        }
        rule[n] = 0;
        o.identity = rule;
        round_trip(&o);
    }
    o.identity = NULL;
    options_release(&o);
}

static void names_stay_in_the_directory(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",        ".",   "..",   "../x",    "a/b", "/etc/passwd",
                                        ".hidden", "a b", "a\nb", "\xc3\xa9"};
    char path[PROFILE_PATH_BYTES], longest[PROFILE_NAME_BYTES + 1];
    struct err e;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(profile_path(wrong[i], path, &e), -1);
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(profile_path(longest, path, &e), -1);
    assert_int_equal(profile_path(longest + 1, path, &e), 0);
}

static void saved_for_the_owner_and_listed(void **state)
{
    (void)state;
    profile_name names[PROFILES_MAX];
    char path[PROFILE_PATH_BYTES], found[PROFILE_PATH_BYTES];
    struct options o;
    struct err e = {{0}};
    struct stat st;
    options_defaults(&o);
    assert_int_equal(profile_save(&o, "b.2", false, &e), 0);
    assert_int_equal(profile_save(&o, "a-1", false, &e), 0);
    assert_int_equal(profile_save(&o, "a-1", false, &e), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(profile_save(&o, "a-1", true, &e), 0);
    assert_int_equal(profile_path("a-1", path, &e), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    size_t n = profile_list(names);
    assert_true(n >= 2);
    assert_string_equal(names[0], "a-1");
    assert_string_equal(names[1], "b.2");
    profile_find("a-1", found);
    assert_string_equal(found, path);
    profile_find("Makefile", found); /* a file with this name has precedence */
    assert_string_equal(found, "Makefile");
    profile_find("nosuch", found);
    assert_string_equal(found, "nosuch");
    struct options none;
    assert_int_equal(options_load("nosuch", &none, &e), -1); /* lists the profiles */
    assert_non_null(strstr(e.text, "cannot read the config file nosuch: No such file"));
    assert_non_null(strstr(e.text, "existing profiles: a-1, b.2"));
    options_release(&none);
    for (int i = 0; i < 10; i++) { /* as many as fit in a line */
        char name[PROFILE_NAME_BYTES];
        snprintf(name, sizeof name, "c%d-%s", i, "0123456789012345678901234567890123456789");
        assert_int_equal(profile_save(&o, name, false, &e), 0);
    }
    assert_int_equal(options_load("nosuch", &none, &e), -1);
    assert_non_null(strstr(e.text, ", ..."));
    assert_true(strlen(e.text) < 300);
    options_release(&none);
    options_release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(any_rule_comes_back),
        cmocka_unit_test(names_stay_in_the_directory),
        cmocka_unit_test(saved_for_the_owner_and_listed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
