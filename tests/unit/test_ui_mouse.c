/* The mouse has the effects of keys. */
#include "fake_snapshot.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <kprof/ui/ui.h>

static struct fake *fake;
static struct ui *u;
static struct canvas c;

static int setup(void **state)
{
    (void)state;
    fake = fake_standard(12);
    script_begin(&u, &c, true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    script_end(u, &c, fake);
    return 0;
}

static struct intent run(const char *keys)
{
    return script_run(u, &c, fake_snap(fake), keys);
}

/* The first position of the text; false: not found. */
static bool find(const char *text, int *row, int *col)
{
    for (*row = 0; *row < c.rows; (*row)++) {
        for (*col = 0; *col + (int)strlen(text) <= c.cols; (*col)++) {
            size_t i = 0;
            while (text[i] &&
                   c.cells[(size_t)*row * (size_t)c.cols + (size_t)*col + i].utf8[0] == text[i]) {
                i++;
            }
            if (!text[i]) {
                return true;
            }
        }
    }
    return false;
}

static struct intent on(const char *text, enum mouse_kind kind)
{
    struct mouse m = {.kind = kind};
    if (!find(text, &m.row, &m.col)) {
        fail_msg("no \"%s\" in the picture", text);
    }
    struct intent in = ui_mouse(u, &m, fake_snap(fake));
    run(""); /* draw */
    return in;
}

static bool selected(const char *text)
{
    int row, col;
    assert_true(find(text, &row, &col));
    return c.cells[(size_t)row * (size_t)c.cols + (size_t)col].style == STYLE_SELECT;
}

static void a_click_selects_a_double_click_opens(void **state)
{
    (void)state;
    run("");
    on("formatter", MOUSE_CLICK);
    assert_true(selected("formatter"));
    on("accounting", MOUSE_CLICK);
    assert_true(selected("accounting"));
    bool open = picture_has(&c, "- accounting");
    on("accounting", MOUSE_DOUBLE); /* folds, or unfolds */
    assert_true(picture_has(&c, open ? "+ accounting" : "- accounting"));
}

static void a_title_sorts_and_turns(void **state)
{
    (void)state;
    run("");
    on("P99 ", MOUSE_CLICK);
    assert_true(picture_has(&c, "P99>"));
    on("P99>", MOUSE_CLICK);
    assert_true(picture_has(&c, "P99<"));
    on("TIER", MOUSE_CLICK);
    assert_true(picture_has(&c, "TIER<") || picture_has(&c, "TIER>"));
}

static void the_key_bar_is_its_keys(void **state)
{
    (void)state;
    run("");
    assert_int_equal(on("q quit", MOUSE_CLICK).kind, INTENT_QUIT);
    assert_int_equal(on("t on/off", MOUSE_CLICK).kind, INTENT_TOGGLE);
    on("s sort", MOUSE_CLICK);
    assert_true(picture_has(&c, "Sort by"));
    on("longest call", MOUSE_DOUBLE); /* in the menu */
    assert_true(picture_has(&c, "MAX>"));
}

static void the_wheel_moves(void **state)
{
    (void)state;
    run("g");
    struct mouse down = {.row = 8, .col = 3, .kind = MOUSE_WHEEL_DOWN}, up = down;
    up.kind = MOUSE_WHEEL_UP;
    ui_mouse(u, &down, fake_snap(fake));
    run("");
    assert_false(selected("_total"));
    ui_mouse(u, &up, fake_snap(fake));
    run("");
    assert_true(selected("_total"));
}

/* Clicks anywhere, in any mode, with and without a snapshot. */
static void clicks_are_harmless_everywhere(void **state)
{
    (void)state;
    static const char *const ways[] = {"",  "s", "/x", "e", "?", "S",     "M",
                                       "O", "H", "D",  "a", "C", "<Tab>", "dj"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        for (int i = 0; i < 30 * 100; i += 7) {
            struct mouse m = {.row = i / 100 - 1, .col = i % 100, .kind = (enum mouse_kind)(i % 4)};
            run(i % 70 == 0 ? ways[w] : "");
            ui_mouse(u, &m, i % 3 ? fake_snap(fake) : NULL);
        }
        run("<Esc><Esc><Esc>");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_click_selects_a_double_click_opens, setup, teardown),
        cmocka_unit_test_setup_teardown(a_title_sorts_and_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(the_key_bar_is_its_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(the_wheel_moves, setup, teardown),
        cmocka_unit_test_setup_teardown(clicks_are_harmless_everywhere, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
