/* Shades and styles: even steps of lightness, only colors that the terminal has. The lightness is
 * computed from the color that would be shown. */
#include "rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <ui/paint.h>
#include <ui/palette.h>

/* --- perceived lightness (CIE 1976) --- */

static double linear(unsigned byte)
{
    double v = byte / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double lightness(uint32_t rgb)
{
    double y =
        0.2126 * linear(rgb >> 16) + 0.7152 * linear(rgb >> 8 & 255) + 0.0722 * linear(rgb & 255);
    return y > 216.0 / 24389 ? 116 * cbrt(y) - 16 : y * 24389 / 27;
}

/* A terminal with 256 colors: a cube of 6 x 6 x 6, then 24 greys. */
static uint32_t rgb_of_256(unsigned n)
{
    static const uint32_t side[] = {0, 95, 135, 175, 215, 255};
    assert_in_range(n, 16, 255);
    if (n >= 232) {
        return (8 + 10 * (n - 232)) * 0x010101u;
    }
    n -= 16;
    return side[n / 36] << 16 | side[n / 6 % 6] << 8 | side[n % 6];
}

/* --- shades --- */

static double shade_lightness(bool light, unsigned shade, bool few)
{
    return lightness(few ? rgb_of_256(palette_256(light, shade)) : palette_rgb(light, shade));
}

/* The first shade is near the background; each step leads away from it and is within `by` of the
 * mean step. */
static void check_steps(bool light, bool few, double by)
{
    double first = shade_lightness(light, 1, few), last = shade_lightness(light, SHADES, few);
    double mean = (last - first) / (SHADES - 1);
    assert_true(light ? first > 75 && last < 30 : first < 30 && last > 75);
    for (unsigned i = 1; i < SHADES; i++) {
        double step = shade_lightness(light, i + 1, few) - shade_lightness(light, i, few);
        if (fabs(step / mean - 1) > by) {
            fail_msg("%s, %s: from shade %u to %u %.1f, on the mean %.1f", light ? "light" : "dark",
                     few ? "256" : "any color", i, i + 1, step, mean);
        }
    }
}

static void steps_are_even(void **state)
{
    (void)state;
    check_steps(false, false, 0.1);
    check_steps(true, false, 0.1);
}

static void steps_are_as_even_as_256_colors_allow(void **state)
{
    (void)state;
    check_steps(false, true, 0.25);
    check_steps(true, true, 0.25);
}

/* Both kinds of terminals show about the same colors. */
static void few_colors_are_near_the_many(void **state)
{
    (void)state;
    for (int light = 0; light < 2; light++) {
        for (unsigned i = 1; i <= SHADES; i++) {
            double off = shade_lightness(light, i, true) - shade_lightness(light, i, false);
            assert_true(fabs(off) < 6);
        }
    }
}

/* Different from grey; its red and blue differ from those of each shade. */
static void the_cursor_is_none_of_them(void **state)
{
    (void)state;
    for (int light = 0; light < 2; light++) {
        uint32_t k = palette_rgb(light, SHADE_CURSOR);
        assert_int_equal(rgb_of_256(palette_256(light, SHADE_CURSOR)), k);
        for (unsigned i = 1; i <= SHADES; i++) {
            uint32_t p = palette_rgb(light, i);
            int red = abs((int)(p >> 16) - (int)(k >> 16));
            int green = abs((int)(p >> 8 & 255) - (int)(k >> 8 & 255));
            assert_true(red > 100 || green > 150);
        }
    }
}

static void more_is_never_a_lesser_shade(void **state)
{
    (void)state;
    rng_seed();
    assert_int_equal(palette_shade(0), 1);
    assert_int_equal(palette_shade(1), SHADES);
    assert_int_equal(palette_shade(1.5), SHADES);
    assert_int_equal(palette_shade(-1), 1);
    for (int i = 0; i < 100000; i++) {
        double a = (double)rng_below(1000001) / 1e6, b = (double)rng_below(1000001) / 1e6;
        unsigned x = palette_shade(a), y = palette_shade(b);
        assert_in_range(x, 1, SHADES);
        if (a < b ? x > y : x < y) {
            fail_msg("%g has shade %u, %g has %u", a, x, b, y);
        }
    }
}

/* --- styles --- */

static void no_color_that_the_terminal_lacks(void **state)
{
    (void)state;
    static const int colors[] = {0, 8, 16, 88, 256};
    for (size_t n = 0; n < sizeof colors / sizeof *colors; n++) {
        for (int t = 0; t < THEME_COUNT; t++) {
            for (int st = 0; st < STYLE_COUNT; st++) {
                struct paint k = paint_style((enum theme)t, (enum style)st, colors[n]);
                assert_true(k.ink < colors[n] && k.paper < colors[n]);
                assert_true(k.ink >= -1 && k.paper >= -1);
            }
        }
    }
}

/* With eight colors, bold makes warnings bright; otherwise bold has only one meaning for values. */
static void bold_means_one_thing(void **state)
{
    (void)state;
    static const int colors[] = {0, 16, 256, 1 << 24};
    static const enum style of_figures[] = {STYLE_NORMAL, STYLE_DIM, STYLE_GOOD, STYLE_WARN};
    for (size_t n = 0; n < sizeof colors / sizeof *colors; n++) {
        for (int t = 0; t < THEME_COUNT; t++) {
            assert_true(paint_style((enum theme)t, STYLE_BOLD, colors[n]).attributes & PAINT_BOLD);
            for (size_t i = 0; i < sizeof of_figures / sizeof *of_figures; i++) {
                struct paint k = paint_style((enum theme)t, of_figures[i], colors[n]);
                assert_false(k.attributes & PAINT_BOLD);
            }
        }
    }
}

static void assert_look(enum theme t, enum style st, int colors, int ink, int paper,
                        unsigned attributes)
{
    struct paint k = paint_style(t, st, colors);
    assert_int_equal(k.ink, ink);
    assert_int_equal(k.paper, paper);
    assert_int_equal(k.attributes, attributes);
}

static void eight_colors_are_as_ever(void **state)
{
    (void)state;
    assert_look(THEME_DARK, STYLE_DIM, 8, -1, -1, PAINT_DIM);
    assert_look(THEME_DARK, STYLE_WARN, 8, 3, -1, PAINT_BOLD);
    assert_look(THEME_DARK, STYLE_BAD, 8, 1, -1, PAINT_BOLD);
    assert_look(THEME_DARK, STYLE_HEAD, 8, 0, 2, 0);
    assert_look(THEME_DARK, STYLE_KEY, 8, 6, -1, PAINT_BOLD);
    assert_look(THEME_LIGHT, STYLE_WARN, 8, 5, -1, PAINT_BOLD);
    assert_look(THEME_LIGHT, STYLE_BAD, 8, 1, -1, PAINT_BOLD);
    assert_look(THEME_EIGHT, STYLE_WARN, 8, 5, -1, 0);
    assert_look(THEME_EIGHT, STYLE_WARN, 256, 5, -1, 0);
    assert_false(paint_has_shades(THEME_DARK, 8));
    assert_false(paint_has_shades(THEME_DARK, 88));
    assert_false(paint_has_shades(THEME_EIGHT, 256));
}

/* On such terminals the colors 8 to 255 are nearly black, not the greys and bright colors of other
 * terminals. */
static void colors_of_direct_terminals(void **state)
{
    (void)state;
    enum { DIRECT = 1 << 24 };
    for (int t = 0; t < THEME_COUNT; t++) {
        for (int st = 0; st < STYLE_COUNT; st++) {
            struct paint k = paint_style((enum theme)t, (enum style)st, DIRECT);
            assert_true(k.ink < 8 || k.ink > 0xffff);
            assert_true(k.paper < 8 || k.paper > 0xffff);
        }
    }
    for (unsigned i = 1; i <= SHADE_CURSOR; i++) {
        assert_int_equal(paint_shade(THEME_DARK, i, DIRECT), palette_rgb(false, i));
        assert_int_equal(paint_shade(THEME_LIGHT, i, DIRECT), palette_rgb(true, i));
        assert_true(paint_shade(THEME_DARK, i, DIRECT) > 255);
        assert_int_equal(paint_shade(THEME_LIGHT, i, 256), palette_256(true, i));
    }
    assert_int_equal(paint_shade(THEME_DARK, SHADE_NONE, 256), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_even),
        cmocka_unit_test(steps_are_as_even_as_256_colors_allow),
        cmocka_unit_test(few_colors_are_near_the_many),
        cmocka_unit_test(the_cursor_is_none_of_them),
        cmocka_unit_test(more_is_never_a_lesser_shade),
        cmocka_unit_test(no_color_that_the_terminal_lacks),
        cmocka_unit_test(bold_means_one_thing),
        cmocka_unit_test(eight_colors_are_as_ever),
        cmocka_unit_test(colors_of_direct_terminals),
    };
    return cmocka_run_group_tests_name("palette", tests, NULL, NULL);
}
