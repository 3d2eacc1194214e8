/* Stacked bars of the parts of a time: lengths, letters, colors. */
#include "rng.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/format.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/part_bar.h>
#include <ui/part_color.h>

enum { COLS = 60, LEFT = 5, SPANS = 12 };

static unsigned rnd(unsigned n)
{
    return n ? (unsigned)rng_below(n) : 0;
}

static const struct cell *cell_at(const struct canvas *c, int col)
{
    return &c->cells[col];
}

/* ---- letters ---- */

static void row_is(const double share[PART_COUNT], int cols, const char *want)
{
    struct canvas c;
    struct buf b;
    canvas_init(&c, 1, COLS, true);
    buf_init(&b, 0);
    part_bar_shares(&c, 0, 0, cols, share);
    canvas_dump(&c, &b);
    b.data[b.len - 1] = 0;
    assert_string_equal(b.data, want);
    buf_release(&b);
    canvas_release(&c);
}

static void letters_tell_the_parts(void **state)
{
    (void)state;
    row_is((double[PART_COUNT]){[PART_RUN] = 0.5, [PART_WAIT] = 0.5}, 8, "rrrrwwww");
    row_is((double[PART_COUNT]){0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125}, 8,
           "rqgdpwm?");
    row_is((double[PART_COUNT]){[PART_MAILBOX] = 1}, 3, "mmm");
    row_is((double[PART_COUNT]){[PART_RUN] = 0.99, [PART_GC] = 0.01}, 8, "rrrrrrrr");
    row_is((double[PART_COUNT]){0}, 8, "");
    row_is((double[PART_COUNT]){[PART_RUN] = 1}, 0, "");
}

/* The part that fills most of a cell; TIE: too close to tell. */
enum { TIE = -2 };

static int expected(const struct part_span *span, size_t n, double all, int cols, int x)
{
    double of[PART_COUNT] = {0}, from = all * x / cols, to = all * (x + 1) / cols, at = 0;
    double near = all * 1e-9;
    int best = PART_NONE;
    for (size_t i = 0; i < n; at += span[i++].length) {
        double over = fmin(at + span[i].length, to) - fmax(at, from);
        if (span[i].part >= 0 && over > 0) {
            of[span[i].part] += over;
        }
    }
    for (int p = 0; p < PART_COUNT; p++) {
        best = of[p] > 0 && (best < 0 || of[p] > of[best]) ? p : best;
    }
    for (int p = 0; p < PART_COUNT; p++) {
        if (best >= 0 && (of[best] < near || (p != best && of[best] - of[p] < near))) {
            return TIE;
        }
    }
    return best;
}

static void every_cell_has_its_longest_part(void **state)
{
    (void)state;
    rng_seed();
    for (int round = 0; round < 300; round++) {
        struct canvas c;
        struct part_span span[SPANS];
        size_t n = 1 + rnd(SPANS);
        int cols = 1 + (int)rnd(40);
        double all = 0;
        for (size_t i = 0; i < n; i++) {
            span[i] = (struct part_span){rnd(4) ? rnd(1000) : 0, (int)rnd(PART_COUNT + 1) - 1};
            all += span[i].length;
        }
        canvas_init(&c, 1, COLS, round % 2);
        part_bar_draw(&c, 0, LEFT, cols, span, n);
        assert_null(canvas_broken(&c));
        for (int x = 0; x < COLS; x++) {
            bool inside = x >= LEFT && x < LEFT + cols && all > 0;
            int want = inside ? expected(span, n, all, cols, x - LEFT) : PART_NONE;
            char letter = want >= 0 ? time_part_letter((enum time_part)want) : ' ';
            if (want != TIE && cell_at(&c, x)->utf8[0] != letter) {
                fail_msg("column %d has %s, not %c", x, cell_at(&c, x)->utf8, letter);
            }
        }
        canvas_release(&c);
    }
}

/* ---- eighths ---- */

/* Eighths of the cell in the color of the part. */
static unsigned eighths_of(const struct cell *k, int part)
{
    unsigned shade = (unsigned)(SHADE_PART + part), n = 8;
    if (k->style == (unsigned)(STYLE_PART + part)) {
        return 8;
    }
    for (unsigned i = 1; i <= 8; i++) {
        n = strcmp(k->utf8, format_eighths(i)) == 0 ? i : n;
    }
    return (k->ink == shade ? n : 0) + (k->paper == shade ? 8 - n : 0);
}

/* Each end of a part is drawn to the nearest eighth if no more than two parts share a cell. */
static void lengths_are_right_to_an_eighth(void **state)
{
    (void)state;
    rng_seed();
    for (int round = 0; round < 500; round++) {
        struct canvas c;
        double share[PART_COUNT] = {0}, all = 0;
        int cols = 8 + (int)rnd(40), parts = 0;
        for (int p = 0; p < PART_COUNT && parts + 2 < cols; p++) {
            share[p] = rnd(3) ? 1.0 + rnd(2000) / 100.0 : 0;
            all += share[p];
            parts += share[p] > 0;
        }
        bool fits = all > 0;
        for (int p = 0; p < PART_COUNT; p++) {
            share[p] /= all > 0 ? all : 1;
            fits = fits && (share[p] <= 0 || share[p] * cols >= 1);
        }
        if (!fits) {
            continue;
        }
        canvas_init(&c, 1, COLS, false);
        c.shades = true;
        part_bar_shares(&c, 0, LEFT, cols, share);
        assert_null(canvas_broken(&c));
        for (int p = 0; p < PART_COUNT; p++) {
            unsigned drawn = 0;
            for (int x = 0; x < COLS; x++) {
                drawn += eighths_of(cell_at(&c, x), p);
            }
            if (fabs(drawn - share[p] * cols * 8) > 1.001) {
                fail_msg("%s: %u eighths, not %g", time_part_name((enum time_part)p), drawn,
                         share[p] * cols * 8);
            }
        }
        canvas_release(&c);
    }
}

static void a_short_part_beside_a_blank_is_seen(void **state)
{
    (void)state;
    struct part_span span[] = {{0.501, PART_NONE}, {0.0001, PART_GC}, {0.4989, PART_NONE}};
    struct canvas c;
    canvas_init(&c, 1, COLS, false);
    c.shades = true;
    part_bar_draw(&c, 0, 0, 10, span, 3);
    assert_int_equal(cell_at(&c, 5)->ink, SHADE_PART + PART_GC);
    part_bar_one(&c, 0, 20, 10, PART_GC, 0.0001);
    assert_int_equal(cell_at(&c, 20)->ink, SHADE_PART + PART_GC);
    part_bar_one(&c, 0, 40, 10, PART_GC, 0);
    assert_string_equal(cell_at(&c, 40)->utf8, " ");
    canvas_release(&c);
}

/* ---- colors ---- */

struct rgb {
    double v[3]; /* linear, 0..1 */
};

static double linear(unsigned byte)
{
    double x = byte / 255.0;
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

static struct rgb rgb_of(int color, bool direct)
{
    static const int step[] = {0, 95, 135, 175, 215, 255};
    unsigned r, g, b;
    if (direct) {
        r = (unsigned)color >> 16, g = (unsigned)color >> 8 & 255, b = (unsigned)color & 255;
    } else if (color >= 232) {
        r = g = b = (unsigned)(8 + 10 * (color - 232));
    } else {
        r = (unsigned)step[(color - 16) / 36], g = (unsigned)step[(color - 16) / 6 % 6];
        b = (unsigned)step[(color - 16) % 6];
    }
    return (struct rgb){{linear(r), linear(g), linear(b)}};
}

/* What people see who lack one kind of cones. Source: G. Machado et al., "A Physiologically-based
 * Model for Simulation of Color Vision Deficiency", 2009: the matrices of severity 1.0. */
static const double eyes[][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868},
     {0.114503, 0.786281, 0.099216},
     {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968},
     {0.280085, 0.672501, 0.047413},
     {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779},
     {-0.078411, 0.930809, 0.147602},
     {0.004733, 0.691367, 0.303900}},
};

static double lab_f(double t)
{
    return t > 0.008856 ? cbrt(t) : t * 7.787 + 16.0 / 116;
}

static void lab_of(struct rgb c, const double eye[3][3], double lab[3])
{
    double s[3];
    for (int i = 0; i < 3; i++) {
        s[i] = eye[i][0] * c.v[0] + eye[i][1] * c.v[1] + eye[i][2] * c.v[2];
        s[i] = s[i] < 0 ? 0 : s[i] > 1 ? 1 : s[i];
    }
    double x = lab_f((0.4124 * s[0] + 0.3576 * s[1] + 0.1805 * s[2]) / 0.9505);
    double y = lab_f(0.2126 * s[0] + 0.7152 * s[1] + 0.0722 * s[2]);
    double z = lab_f((0.0193 * s[0] + 0.1192 * s[1] + 0.9505 * s[2]) / 1.089);
    lab[0] = 116 * y - 16;
    lab[1] = 500 * (x - y);
    lab[2] = 200 * (y - z);
}

static double difference(int a, int b, bool direct, const double eye[3][3])
{
    double p[3], q[3];
    lab_of(rgb_of(a, direct), eye, p);
    lab_of(rgb_of(b, direct), eye, q);
    return sqrt(pow(p[0] - q[0], 2) + pow(p[1] - q[1], 2) + pow(p[2] - q[2], 2));
}

static void all_eyes_tell_the_colors_apart(void **state)
{
    (void)state;
    static const int terminals[] = {256, 1 << 24};
    for (size_t t = 0; t < 2; t++) {
        for (size_t eye = 0; eye < sizeof eyes / sizeof *eyes; eye++) {
            for (int a = 0; a < PART_COUNT * PART_COUNT; a++) {
                enum time_part p = (enum time_part)(a / PART_COUNT),
                               q = (enum time_part)(a % PART_COUNT);
                int x = part_color(THEME_DARK, p, terminals[t]).paper;
                int y = part_color(THEME_DARK, q, terminals[t]).paper;
                double d = difference(x, y, t == 1, eyes[eye]);
                if (p < q && d < 11) {
                    fail_msg("%d colors, eye %zu: %s and %s differ by only %.1f", terminals[t], eye,
                             time_part_name(p), time_part_name(q), d);
                }
            }
        }
    }
}

static void few_colors_are_all_different(void **state)
{
    (void)state;
    for (int a = 0; a < PART_COUNT; a++) {
        for (int b = 0; b < a; b++) {
            assert_int_not_equal(part_color(THEME_EIGHT, (enum time_part)a, 8).paper,
                                 part_color(THEME_EIGHT, (enum time_part)b, 8).paper);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_tell_the_parts),
        cmocka_unit_test(every_cell_has_its_longest_part),
        cmocka_unit_test(lengths_are_right_to_an_eighth),
        cmocka_unit_test(a_short_part_beside_a_blank_is_seen),
        cmocka_unit_test(all_eyes_tell_the_colors_apart),
        cmocka_unit_test(few_colors_are_all_different),
    };
    return cmocka_run_group_tests_name("part_bar", tests, NULL, NULL);
}
