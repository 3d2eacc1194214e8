/* Heat map and bars on terminals with shades: two durations per row, each call in one cell; and the
 * unchanged picture on other terminals. */
#include "fake_snapshot.h"
#include "rng.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/tier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/bins.h>
#include <ui/heat_map.h>
#include <ui/palette.h>
#include <ui/state.h>

static unsigned rnd(unsigned n)
{
    return n ? (unsigned)rng_below(n) : 0;
}

static struct fake *heated(size_t cols)
{
    struct fake *f = fake_new();
    fake_row(f, 0, "db", NULL, 1000, 1234);
    struct snap_row *r = fake_row(f, TIER_TOTAL, "_total", NULL, 1000000, 12345);
    fake_heat(f, r, cols, 1);
    fake_dist(f, r);
    return f;
}

/* --- golden files --- */

static const struct golden {
    const char *name;
    int rows, cols;
    const char *keys;
} goldens[] = {
    {"heat_shades_80x24", 24, 80, "H"},
    {"heat_shades_120x40", 40, 120, "H"},
    {"heat_shades_40x10", 10, 40, "H"},
    {"heat_shades_cursor_80x24", 24, 80, "H<Left><Left><Up><Up><Up>"},
    {"heat_shades_gap_80x24", 24, 80, "H<Home><Up>"},
    {"heat_marked_80x24", 24, 80, "H<Left><Left>v<Left><Left><Left><Up><Up>"},
    {"heat_marked_120x40", 40, 120, "Hv<Left><Left><Left><Left><Up><Up><Up>"},
    {"heat_marked_40x10", 10, 40, "Hv<Left><Left><Down>"},
    {"dist_shades_80x24", 24, 80, "D"},
    {"dist_shades_40x10", 10, 40, "D"},
};

static void pictures_with_shades(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const struct golden *g = &goldens[i];
        struct fake *f = heated(112);
        struct ui *u = ui_new(NULL);
        struct canvas c;
        canvas_init(&c, g->rows, g->cols, false);
        c.shades = true;
        script_run(u, &c, fake_snap(f), g->keys);
        const char *why = canvas_broken(&c);
        if (why) {
            fail_msg("%s: %s", g->name, why);
        }
        wrong += !picture_is_golden(&c, g->name);
        canvas_release(&c);
        ui_free(u);
        fake_free(f);
    }
    assert_int_equal(wrong, 0);
}

/* --- each call is in one cell --- */

static const struct cell *cell_at(const struct canvas *c, int row, int col)
{
    return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

static bool is_lower(const struct cell *k)
{
    return strcmp(k->utf8, "\xe2\x96\x84") == 0;
}

/* the shade of a line's cell, as the canvas shows it */
static unsigned shown(const struct canvas *c, const struct heat_map *m, size_t line, int col)
{
    int row = m->row + m->rows - 1 - (int)(line / 2);
    const struct cell *k = cell_at(c, row, col);
    if (line % 2) {
        return is_lower(k) ? SHADE_NONE : k->ink;
    }
    return is_lower(k) ? k->ink : k->paper;
}

static void check_column(const struct canvas *c, const struct heat_map *m, size_t i)
{
    const struct snap_heat_col *k = &m->h->col[m->first + i];
    int col = m->col + (int)i;
    uint64_t sum = 0;
    for (size_t line = 0; line < m->lines; line++) {
        uint64_t n = heat_map_count(m, m->first + i, m->low + line);
        unsigned want = n ? palette_shade((double)n / m->top) : SHADE_NONE;
        sum += n;
        if (heat_map_has_gap(k)) {
            assert_string_equal(cell_at(c, m->row, col)->utf8, "/");
        } else if (shown(c, m, line, col) != want) {
            fail_msg("column %zu line %zu: %lu calls, shade %u, not %u", i, line, (unsigned long)n,
                     shown(c, m, line, col), want);
        }
    }
    assert_int_equal(sum, k->count); /* so no call is outside of the grid */
}

static void every_call_is_in_one_cell(void **state)
{
    (void)state;
    rng_seed();
    for (int n = 0; n < 200; n++) {
        struct fake *f = heated(1 + rnd(200));
        struct rect a = {.row = (int)rnd(5), .col = (int)rnd(3)};
        struct canvas c;
        a.rows = 5 + (int)rnd(40);
        a.cols = 10 + (int)rnd(150);
        canvas_init(&c, a.row + a.rows + 2, a.col + a.cols + 2, false);
        c.shades = true;
        struct heat_map m = heat_map_of(fake_snap(f), a, true);
        assert_int_equal(m.lines, 2 * a.rows);
        heat_map_draw(&m, &c, a.col, SIZE_MAX, 0);
        for (size_t i = 0; i < m.n; i++) {
            check_column(&c, &m, i);
        }
        assert_null(canvas_broken(&c));
        canvas_release(&c);
        fake_free(f);
    }
}

/* Two lines per row: a click selects a line of this row. */
static void a_click_finds_its_cell(void **state)
{
    (void)state;
    struct fake *f = heated(60);
    struct rect a = {.row = 2, .rows = 16, .cols = 68};
    for (int halves = 0; halves < 2; halves++) {
        struct heat_map m = heat_map_of(fake_snap(f), a, halves);
        size_t i, g;
        for (int row = 0; row < 20; row++) {
            bool inside = row >= 2 && row < 18;
            assert_int_equal(heat_map_at(&m, row, 8, &i, &g), inside);
            if (inside) {
                assert_int_equal(i, m.first);
                assert_int_equal((g - m.low) / (halves ? 2 : 1), 17 - row);
            }
        }
        assert_false(heat_map_at(&m, 5, 7, &i, &g));
        assert_false(heat_map_at(&m, 5, 68, &i, &g));
        assert_true(heat_map_at(&m, 5, 67, &i, &g));
        assert_int_equal(i, m.first + m.n - 1);
    }
    fake_free(f);
}

/* --- without shades --- */

static void without_shades_no_cell_has_one(void **state)
{
    (void)state;
    static const char *const keys[] = {"H", "<Esc>D"};
    struct fake *f = heated(112);
    struct ui *u = ui_new(NULL);
    struct canvas c;
    for (int ascii = 0; ascii < 2; ascii++) {
        canvas_init(&c, 24, 80, ascii);
        for (size_t k = 0; k < 2; k++) {
            script_run(u, &c, fake_snap(f), keys[k]);
            for (size_t i = 0; i < 24 * 80; i++) {
                assert_true(c.cells[i].ink == SHADE_NONE && c.cells[i].paper == SHADE_NONE);
            }
            assert_false(picture_has(&c, "\xe2\x96\x80"));
        }
        script_run(u, &c, fake_snap(f), "<Esc>");
        canvas_release(&c);
    }
    ui_free(u);
    fake_free(f);
}

/* The cursor moves up by a line, half a row; Enter and o use its time in both pictures. */
static void the_cursor_moves_by_halves(void **state)
{
    (void)state;
    struct fake *f = heated(112);
    struct ui *u = ui_new(NULL);
    struct canvas c;
    char before[32] = "";
    canvas_init(&c, 24, 80, false);
    c.shades = true;
    script_run(u, &c, fake_snap(f), "H<Up><Down>");
    for (int i = 0; i < 6; i++) {
        size_t cursors = 0;
        char where[32] = "";
        script_run(u, &c, fake_snap(f), "<Up>");
        for (size_t k = 0; k < 24 * 80; k++) {
            const struct cell *at = &c.cells[k];
            unsigned upper = is_lower(at) ? SHADE_NONE : at->ink;
            unsigned lower = is_lower(at) ? at->ink : at->paper;
            cursors += upper == SHADE_CURSOR;
            cursors += lower == SHADE_CURSOR;
            if (upper == SHADE_CURSOR || lower == SHADE_CURSOR) {
                snprintf(where, sizeof where, "%zu %d", k / 80, lower == SHADE_CURSOR);
            }
        }
        assert_int_equal(cursors, 1);
        assert_string_not_equal(where, before);
        strcpy(before, where);
    }
    canvas_release(&c);
    ui_free(u);
    fake_free(f);
}

/* Random marks: the cells that app is asked for are those between the two corners. */
static void marked_cells_are_asked_for(void **state)
{
    (void)state;
    static const char *const moves[] = {"<Left>", "<Right>", "<Up>", "<Down>"};
    for (int i = 0; i < 60; i++) {
        struct fake *f = heated(112);
        struct ui *u = ui_new(NULL);
        struct canvas c;
        canvas_init(&c, 24, 80, false);
        c.shades = rnd(2);
        script_run(u, &c, fake_snap(f), "H");
        for (unsigned k = rnd(20); k > 0; k--) {
            script_run(u, &c, fake_snap(f), moves[rnd(4)]);
        }
        script_run(u, &c, fake_snap(f), "v");
        uint64_t s = u->heat.cursor_s;
        size_t bin = u->heat.cursor_bin;
        for (unsigned k = rnd(20); k > 0; k--) {
            script_run(u, &c, fake_snap(f), moves[rnd(4)]);
        }
        struct intent in = script_run(u, &c, fake_snap(f), "f");
        const struct snap_row *r = rows_selected(&u->shared.rows, fake_snap(f));
        assert_int_equal(in.kind, INTENT_FLAME_INSIDE);
        assert_int_equal(in.cells.tier, r->tier);
        assert_int_equal(in.cells.ident, r->ident_n);
        uint64_t last = fake_snap(f)->time.now_s - 1, e = u->heat.cursor_s;
        e = e < last ? e : last; /* it may point beyond the newest column */
        s = s < last ? s : last;
        uint64_t from = s < e ? s : e, to = s < e ? e : s;
        assert_int_equal(in.cells.from_s, from);
        assert_int_equal(in.cells.to_s, to + 1);
        assert_int_equal(in.cells.low_bin, bin < u->heat.cursor_bin ? bin : u->heat.cursor_bin);
        assert_true(in.cells.end_bin > (bin < u->heat.cursor_bin ? u->heat.cursor_bin : bin));
        assert_true(in.cells.end_bin <= (bin < u->heat.cursor_bin ? u->heat.cursor_bin : bin) + 12);
        canvas_release(&c);
        ui_free(u);
        fake_free(f);
    }
}

/* Without a mark: as slow as the cursor's line, or slower, at all times in sight. */
static void without_a_mark_the_slower_ones(void **state)
{
    (void)state;
    struct fake *f = heated(112);
    struct ui *u = ui_new(NULL);
    struct canvas c;
    canvas_init(&c, 24, 80, false);
    struct intent in = script_run(u, &c, fake_snap(f), "H<Up>f");
    assert_int_equal(in.kind, INTENT_FLAME_INSIDE);
    assert_int_equal(in.cells.low_bin, u->heat.cursor_bin);
    assert_int_equal(in.cells.end_bin, 0);
    assert_int_equal(in.cells.to_s, 0);
    assert_int_equal(in.cells.from_s, fake_snap(f)->time.now_s - 72);
    assert_non_null(strstr(in.text, "or longer"));
    script_run(u, &c, fake_snap(f), "v<Left>");
    assert_true(u->heat.marked);
    script_run(u, &c, fake_snap(f), "<Esc>");
    assert_true(!u->heat.marked && u->screen == SCREEN_HEAT);
    fake_snap(f)->has_entry = false;
    in = script_run(u, &c, fake_snap(f), "f");
    assert_int_equal(in.kind, INTENT_REDRAW);
    assert_true(picture_has(&c, "choose an entry"));
    canvas_release(&c);
    ui_free(u);
    fake_free(f);
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_with_shades),
        cmocka_unit_test(every_call_is_in_one_cell),
        cmocka_unit_test(a_click_finds_its_cell),
        cmocka_unit_test(without_shades_no_cell_has_one),
        cmocka_unit_test(the_cursor_moves_by_halves),
        cmocka_unit_test(marked_cells_are_asked_for),
        cmocka_unit_test(without_a_mark_the_slower_ones),
    };
    return cmocka_run_group_tests_name("ui_shades", tests, NULL, NULL);
}
