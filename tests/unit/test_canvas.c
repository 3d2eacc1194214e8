/* The canvas: clipping, wide and combining characters, hostile text, and its invariant under random
 * drawing. */
#include "fake_snapshot.h"
#include "rng.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/ui/canvas.h>
#include <stdio.h>
#include <string.h>

static struct canvas c;

static int setup(void **state)
{
    (void)state;
    canvas_init(&c, 3, 10, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    canvas_release(&c);
    return 0;
}

static void assert_dump(const char *want)
{
    struct buf b;
    buf_init(&b, 0);
    canvas_dump(&c, &b);
    assert_string_equal(b.data, want);
    assert_null(canvas_broken(&c));
    buf_release(&b);
}

static void draws_and_cuts_trailing_blanks(void **state)
{
    (void)state;
    assert_int_equal(canvas_text(&c, 0, 2, 10, STYLE_BOLD, "ab c  "), 6);
    assert_int_equal(c.cells[2].style, STYLE_BOLD);
    assert_int_equal(c.cells[1].style, STYLE_NORMAL);
    assert_dump("  ab c\n\n\n");
}

static void clips_everywhere(void **state)
{
    (void)state;
    assert_int_equal(canvas_text(&c, -1, 0, 10, 0, "x"), 0);
    assert_int_equal(canvas_text(&c, 3, 0, 10, 0, "x"), 0);
    assert_int_equal(canvas_text(&c, 0, -1, 10, 0, "x"), 0);
    assert_int_equal(canvas_text(&c, 0, 10, 10, 0, "x"), 0);
    assert_int_equal(canvas_text(&c, 0, 0, 0, 0, "x"), 0);
    assert_int_equal(canvas_text(&c, 0, 0, -5, 0, "x"), 0);
    canvas_fill(&c, 1, -3, 5, 0, '#');
    canvas_fill(&c, 2, 8, 500, 0, '#');
    canvas_fill(&c, 9, 0, 5, 0, '#');
    canvas_style(&c, -1, -1, 50, STYLE_BAD);
    canvas_right(&c, 0, 8, 50, 0, "far");
    assert_dump("\n##\n        ##\n");
}

static void cuts_with_an_ellipsis(void **state)
{
    (void)state;
    assert_int_equal(canvas_text(&c, 0, 0, 5, 0, "abcdefgh"), 5);
    c.ascii = true;
    assert_int_equal(canvas_text(&c, 1, 0, 5, 0, "abcdefgh"), 5);
    assert_int_equal(canvas_text(&c, 2, 7, 50, 0, "abcdefgh"), 3);
    c.ascii = false;
    assert_dump("abcd\xe2\x80\xa6\nabc..\n       a..\n");
}

static void cuts_names_in_the_middle(void **state)
{
    (void)state;
    assert_int_equal(canvas_name(&c, 0, 0, 5, 0, "abcdefgh"), 5);
    c.ascii = true;
    assert_int_equal(canvas_name(&c, 1, 0, 5, 0, "abcdefgh"), 5);
    assert_int_equal(canvas_name(&c, 2, 6, 50, 0, "abcdefgh"), 4);
    c.ascii = false;
    assert_int_equal(canvas_name(&c, 3, 0, 0, 0, "abc"), 0);
    assert_dump("ab\xe2\x80\xa6gh\nab..h\n      a..h\n");
}

static void aligns_right(void **state)
{
    (void)state;
    canvas_right(&c, 0, 0, 10, 0, "42");
    canvas_right(&c, 1, 1, 6, 0, "\xe6\x97\xa5");
    canvas_right(&c, 2, 0, 3, 0, "12345");
    assert_dump("        42\n     \xe6\x97\xa5\n12\xe2\x80\xa6\n");
}

static void overwriting_half_a_wide_one_leaves_a_blank(void **state)
{
    (void)state;
    canvas_text(&c, 0, 0, 10, 0, "\xe6\x97\xa5\xe6\x9c\xac");
    canvas_text(&c, 0, 1, 1, 0, "x"); /* right half of the first */
    canvas_text(&c, 1, 0, 10, 0, "\xe6\x97\xa5\xe6\x9c\xac");
    canvas_text(&c, 1, 2, 1, 0, "x"); /* left half of the second */
    canvas_text(&c, 2, 0, 10, 0, "\xe6\x97\xa5\xe6\x9c\xac");
    canvas_text(&c, 2, 1, 2, 0, "\xe8\xaa\x9e"); /* half of both */
    assert_dump(" x\xe6\x9c\xac\n\xe6\x97\xa5x\n \xe8\xaa\x9e\n");
}

static void wide_one_does_not_stick_out(void **state)
{
    (void)state;
    int used = canvas_text(&c, 0, 8, 10, 0, "a\xe6\x97\xa5");
    assert_in_range(used, 1, 2);
    assert_null(canvas_broken(&c));
}

static void marks_stay_with_their_character(void **state)
{
    (void)state;
    assert_int_equal(canvas_text(&c, 0, 0, 10, 0, "e\xcc\x81x"), 2);
    assert_string_equal(c.cells[0].utf8, "e\xcc\x81");
    assert_string_equal(c.cells[1].utf8, "x");
    char many[200] = "e";
    for (int i = 0; i < 60; i++) {
        strcat(many, "\xcc\x81");
    }
    canvas_text(&c, 1, 0, 10, 0, many);
    assert_null(canvas_broken(&c));
}

static void hostile_text_is_harmless(void **state)
{
    (void)state;
    canvas_text(&c, 0, 0, 10, 0, "\x1b[2J\x07\n\r\x7f");
    canvas_text(&c, 1, 0, 10, 0, "\xff\xc2\x9b\xe2\x80\xae");
    assert_null(canvas_broken(&c));
    c.ascii = true;
    canvas_text(&c, 0, 0, 10, 0, "\x1b[2J\x07\n\r\x7f  ");
    canvas_text(&c, 1, 0, 10, 0, "\xff\xc2\x9b\xe2\x80\xae   ");
    assert_dump("?[2J????\n???\n\n");
}

static void resize_starts_empty(void **state)
{
    (void)state;
    canvas_text(&c, 0, 0, 10, 0, "text");
    canvas_resize(&c, 1, 4);
    assert_dump("\n");
    canvas_resize(&c, 0, 0);
    assert_dump("");
    canvas_resize(&c, -5, 7);
    canvas_text(&c, 0, 0, 10, 0, "text");
    assert_dump("");
}

/* --- shades --- */

#define UPPER "\xe2\x96\x80"
#define LOWER "\xe2\x96\x84"

static void assert_cell(int col, const char *utf8, unsigned ink, unsigned paper)
{
    assert_string_equal(c.cells[col].utf8, utf8);
    assert_int_equal(c.cells[col].ink, ink);
    assert_int_equal(c.cells[col].paper, paper);
}

static void two_shades_in_a_cell(void **state)
{
    (void)state;
    c.shades = true;
    canvas_halves(&c, 0, 0, 3, 5);
    canvas_halves(&c, 0, 1, 3, SHADE_NONE);
    canvas_halves(&c, 0, 2, SHADE_NONE, 5);
    canvas_halves(&c, 0, 3, SHADE_NONE, SHADE_NONE);
    canvas_halves(&c, 0, 4, SHADES, SHADE_CURSOR);
    assert_cell(0, UPPER, 3, 5);
    assert_cell(1, UPPER, 3, SHADE_NONE);
    assert_cell(2, LOWER, 5, SHADE_NONE);
    assert_cell(3, " ", SHADE_NONE, SHADE_NONE);
    assert_cell(4, UPPER, SHADES, SHADE_CURSOR);
    assert_dump(UPPER UPPER LOWER " " UPPER "\n\n\n");
    canvas_halves(&c, -1, 0, 1, 1);
    canvas_halves(&c, 3, 0, 1, 1);
    canvas_halves(&c, 1, -1, 1, 1);
    canvas_halves(&c, 1, 10, 1, 1);
    assert_dump(UPPER UPPER LOWER " " UPPER "\n\n\n");
}

/* What is drawn over it, or selected, has the colors of its style again. */
static void shades_go_with_what_is_drawn_over_them(void **state)
{
    (void)state;
    c.shades = true;
    for (int col = 0; col < 5; col++) {
        canvas_halves(&c, 0, col, 3, 5);
    }
    canvas_text(&c, 0, 0, 1, STYLE_WARN, "x");
    canvas_style(&c, 0, 1, 1, STYLE_SELECT);
    canvas_fill(&c, 0, 2, 1, STYLE_HEAD, ' ');
    canvas_shade(&c, 0, 3, 1, 7);
    canvas_shade(&c, 0, 4, 1, SHADE_NONE);
    assert_cell(0, "x", SHADE_NONE, SHADE_NONE);
    assert_cell(1, UPPER, SHADE_NONE, SHADE_NONE);
    assert_cell(2, " ", SHADE_NONE, SHADE_NONE);
    assert_cell(3, UPPER, 7, SHADE_NONE);
    assert_cell(4, UPPER, SHADE_NONE, SHADE_NONE);
    canvas_clear(&c);
    assert_cell(3, " ", SHADE_NONE, SHADE_NONE);
    canvas_shade(&c, -1, 0, 5, 7);
    canvas_shade(&c, 0, -3, 50, 7);
    canvas_shade(&c, 9, 0, 5, 7);
    assert_cell(9, " ", 7, SHADE_NONE);
    assert_null(canvas_broken(&c));
}

/* --- random drawing --- */

static unsigned rnd(unsigned n)
{
    return n ? (unsigned)rng_below(n) : 0;
}

static void random_text(char *out, size_t cap)
{
    static const char *const bits[] = {"a",    "\xe6\x97\xa5", "\xcc\x81",     "\xf0\x9f\x98\x80",
                                       "\x1b", "\xff",         "\xe2\x80\xae", " ",
                                       "zz",   "\xe2\x80\x8d"};
    out[0] = 0;
    for (unsigned i = rnd(30); i > 0 && strlen(out) + 8 < cap; i--) {
        strcat(out, bits[rnd(10)]);
    }
}

static void random_drawing_keeps_the_invariant(void **state)
{
    (void)state;
    rng_seed();
    c.shades = true;
    for (int i = 0; i < 20000; i++) {
        char s[400];
        random_text(s, sizeof s);
        int row = (int)rnd(14) - 2, col = (int)rnd(40) - 4, cols = (int)rnd(45) - 3;
        enum style st = rnd(STYLE_COUNT);
        switch (rnd(i % 50 ? 6 : 8)) {
        case 0:
            assert_true((rnd(2) ? canvas_text : canvas_name)(&c, row, col, cols, st, s) <=
                        (cols > 0 ? cols : 0));
            break;
        case 1:
            canvas_right(&c, row, col, cols, st, s);
            break;
        case 2:
            canvas_fill(&c, row, col, cols, st, (char)rnd(256));
            break;
        case 3:
            canvas_style(&c, row, col, cols, st);
            break;
        case 4:
            if (c.shades) {
                canvas_halves(&c, row, col, rnd(SHADE_CURSOR + 1), rnd(SHADE_CURSOR + 1));
            }
            break;
        case 5:
            if (c.shades) {
                canvas_shade(&c, row, col, cols, rnd(SHADE_CURSOR + 1));
            }
            break;
        case 6:
            canvas_resize(&c, (int)rnd(12), (int)rnd(40));
            break;
        default:
            c.ascii = rnd(2);
            c.shades = !c.ascii && rnd(2);
            canvas_clear(&c);
        }
        const char *why = canvas_broken(&c);
        if (why) {
            fail_msg("step %d: %s", i, why);
        }
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(draws_and_cuts_trailing_blanks),
        T(clips_everywhere),
        T(cuts_with_an_ellipsis),
        T(cuts_names_in_the_middle),
        T(aligns_right),
        T(overwriting_half_a_wide_one_leaves_a_blank),
        T(wide_one_does_not_stick_out),
        T(marks_stay_with_their_character),
        T(hostile_text_is_harmless),
        T(resize_starts_empty),
        T(two_shades_in_a_cell),
        T(shades_go_with_what_is_drawn_over_them),
        T(random_drawing_keeps_the_invariant),
    };
    return cmocka_run_group_tests_name("canvas", tests, NULL, NULL);
}
