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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_profile_is_not_loaded_later, setup, teardown),
    };
    return cmocka_run_group_tests_name("live_profile", tests, NULL, NULL);
}
