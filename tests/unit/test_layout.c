/* The layout: written, read back, and read from random bytes. */
#include "fake_snapshot.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <kprof/ui/ui.h>

static struct ui *fresh(void)
{
    return ui_new(NULL);
}

static struct buf layout(const struct ui *u, enum window w)
{
    struct buf b;
    buf_init(&b, 0);
    ui_layout_write(u, w, &b);
    return b;
}

static void round_trip(void **state)
{
    (void)state;
    struct fake *f = fake_standard(3);
    struct canvas c;
    struct ui *u = fresh(), *v = fresh();
    enum window w = WINDOW_10S;
    canvas_init(&c, 40, 160, false);
    /* sorted by the last but one column, reversed, pivot, a theme, columns */
    script_run(u, &c, fake_snap(f), "<<rvTC<Home> <Down>  <Enter>");
    struct buf a = layout(u, WINDOW_5M);
    assert_non_null(strstr(a.data, "window 5m"));
    assert_non_null(strstr(a.data, "theme light"));
    assert_non_null(strstr(a.data, " reversed"));
    assert_non_null(strstr(a.data, "pivot"));
    assert_non_null(strstr(a.data, "show COUNT"));
    assert_non_null(strstr(a.data, "hide SEEN"));
    ui_layout_read(v, a.data, a.len, &w);
    assert_int_equal(w, WINDOW_5M);
    struct buf b = layout(v, w);
    assert_string_equal(a.data, b.data);
    buf_release(&a);
    buf_release(&b);
    canvas_release(&c);
    ui_free(u);
    ui_free(v);
    fake_free(f);
}

static void hidden_columns_are_not_drawn(void **state)
{
    (void)state;
    struct fake *f = fake_standard(0);
    struct canvas c;
    struct ui *u = fresh();
    enum window w = WINDOW_10S;
    canvas_init(&c, 24, 80, false);
    script_run(u, &c, fake_snap(f), "");
    assert_true(picture_has(&c, "P99.9"));
    assert_false(picture_has(&c, "OLDEST"));
    static const char text[] = "hide P99.9\nshow OLDEST\n";
    ui_layout_read(u, text, strlen(text), &w);
    script_run(u, &c, fake_snap(f), "");
    assert_false(picture_has(&c, "P99.9"));
    assert_true(picture_has(&c, "OLDEST"));
    canvas_release(&c);
    ui_free(u);
    fake_free(f);
}

static void any_bytes_are_survived(void **state)
{
    (void)state;
    static const char *const words[] = {"sort",
                                        "theme",
                                        "window",
                                        "show",
                                        "hide",
                                        "pivot",
                                        "P99",
                                        "name",
                                        "dark",
                                        " ",
                                        "\n",
                                        "\n",
                                        "reversed",
                                        "5m",
                                        "\x1b[2J",
                                        "",
                                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
    unsigned seed = 7;
    struct ui *u = fresh();
    for (int i = 0; i < 3000; i++) {
        char text[256] = "";
        enum window w = WINDOW_10S;
        for (int k = 0; k < 12; k++) {
            seed = seed * 1103515245u + 12345u;
            const char *word = words[(seed >> 16) % (sizeof words / sizeof *words)];
            if (strlen(text) + strlen(word) + 2 < sizeof text) {
                strcat(text, word);
                strcat(text, (seed >> 8) & 1 ? " " : "");
            }
        }
        /* A heap block of the exact size: the sanitizers detect a read past the end. */
        char *exact = malloc(strlen(text) + 1);
        assert_non_null(exact);
        memcpy(exact, text, strlen(text));
        ui_layout_read(u, exact, strlen(text), &w);
        assert_true(w < WINDOW_COUNT);
        assert_true(ui_theme(u) < THEME_COUNT);
        free(exact);
    }
    ui_free(u);
}

/* The order of the tiers, reversed, is an order, too. */
static void a_reversed_order_comes_back(void **state)
{
    struct ui *u;
    struct canvas c;
    struct buf first, second;
    enum window w = WINDOW_10S;
    static const char text[] = "sort order reversed\n";

    (void)state;
    script_begin(&u, &c, false);
    buf_init(&first, 0);
    buf_init(&second, 0);
    ui_layout_read(u, text, sizeof text - 1, &w);
    ui_layout_write(u, w, &first);
    assert_non_null(strstr(first.data, text));
    ui_layout_read(u, "sort name\n", 10, &w);
    ui_layout_read(u, "sort order\n", 11, &w);
    ui_layout_write(u, w, &second);
    assert_non_null(strstr(second.data, "sort order\n"));
    buf_release(&first);
    buf_release(&second);
    script_end(u, &c, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(hidden_columns_are_not_drawn),
        cmocka_unit_test(any_bytes_are_survived),
        cmocka_unit_test(a_reversed_order_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
