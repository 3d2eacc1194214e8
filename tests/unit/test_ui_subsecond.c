/* The sub-second heat map: pictures, marking a range by keys and clicks, its flame graph, two
 * ranges compared. */
#include "fake_stacks.h"
#include "rng.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <ui/state.h>
#include <ui/subsecond.h>

#define MS UINT64_C(1000000)

struct show {
    struct ui *u;
    struct canvas c;
    struct stack_profile *p;
};

static uint32_t frame(struct stack_profile *p, const char *name)
{
    struct stack_frame f = {.module = stack_profile_text(p, "shop", 4),
                            .function = stack_profile_text(p, name, strlen(name)),
                            .arity = 1};
    return stack_profile_push(p, 0, stack_profile_frame(p, &f));
}

/* 40 s from 22:13:30 on: a request every 100 ms, a slow one at 12.4 s to 13.1 s, nothing sampled
 * from 20 s to 23.5 s. */
static struct stack_profile *forty_seconds(void)
{
    struct stack_profile *p = stack_profile_new(NULL);
    uint32_t work = frame(p, "work"), wait = frame(p, "wait"), stuck = frame(p, "stuck");
    stack_profile_set_meta(p, &(struct stack_profile_meta){.wall_ns = INT64_C(1700000000000000000),
                                                           .interval_ns = 10 * MS});
    for (uint64_t at = 10000 * MS; at < 50000 * MS; at += 10 * MS) {
        uint64_t ms = at / MS - 10000;
        bool slow = ms >= 12400 && ms < 13100, busy = ms % 100 < 30 || slow;
        struct stack_metrics m = {.known = 1u << STACK_MEMORY};
        struct stack_sample s = {.time_ns = at,
                                 .weight = slow   ? 8
                                           : busy ? 3
                                                  : 1,
                                 .process = 80,
                                 .stack = slow   ? stuck
                                          : busy ? work
                                                 : wait,
                                 .request = busy ? 1 + ms / 100 : 0,
                                 .status = busy ? STACK_RUNNING : STACK_WAITING};
        m.value[STACK_MEMORY] = 10000 + (int64_t)(ms % 1000) * 100;
        m.delta[STACK_MEMORY] = ms % 1000 == 0 ? -99000 : 1000;
        if (ms < 20000 || ms >= 23500)
            stack_profile_add(p, &s, &m);
    }
    return p;
}

static void begin_with(struct show *w, int rows, int cols, bool shades, struct stack_profile *p)
{
    w->u = ui_new("app@host");
    w->p = p;
    canvas_init(&w->c, rows, cols, false);
    w->c.shades = shades;
    if (p)
        ui_set_stacks(w->u, stack_profile_view(p), "demo.perf");
    ui_show_stacks(w->u, true);
    script_run(w->u, &w->c, NULL, "H");
}

static void begin(struct show *w, int rows, int cols, bool shades)
{
    begin_with(w, rows, cols, shades, forty_seconds());
}

static void end(struct show *w)
{
    canvas_release(&w->c);
    ui_free(w->u);
    stack_profile_free(w->p);
}

static struct intent keys(struct show *w, const char *script)
{
    return script_run(w->u, &w->c, NULL, script);
}

static void pictures(void **state)
{
    static const struct {
        int rows, cols;
        bool shades;
        const char *name, *script;
    } all[] = {
        {24, 80, true, "subsecond_80x24", ""},
        {24, 80, false, "subsecond_plain_80x24", ""},
        {40, 120, true, "subsecond_120x40", "<Left><Left><Up><Up>v<Right><Up>"},
        {10, 40, false, "subsecond_40x10", "v<Left><Left>"},
        {24, 80, true, "subsecond_growth_80x24", "m<Down><Down><Enter>"},
        {24, 80, false, "subsecond_earlier_80x24", "<PgUp>v<Left><Left><Up>"},
        {24, 80, true, "subsecond_base_80x24", "v<Left><Left>d<Left><Left><Left><Left>v<Left>"},
        {24, 80, true, "subsecond_flame_80x24",
         "v<Left><Left>d<Left><Left><Left><Left>v<Left><Enter>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct show w;
        begin(&w, all[i].rows, all[i].cols, all[i].shades);
        keys(&w, all[i].script);
        assert_null(canvas_broken(&w.c));
        assert_true(picture_is_golden(&w.c, all[i].name));
        end(&w);
    }
}

static void nothing_to_show(void **state)
{
    static const struct {
        int rows, cols;
        const char *name;
    } all[] = {{24, 80, "subsecond_none_80x24"},
               {40, 120, "subsecond_none_120x40"},
               {10, 40, "subsecond_none_40x10"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct show w;
        begin_with(&w, all[i].rows, all[i].cols, true, NULL);
        keys(&w, "v<Up>dm<Enter>");
        assert_int_equal(w.u->screen, SCREEN_SUBSECOND);
        keys(&w, "<Esc>H");
        assert_true(picture_is_golden(&w.c, all[i].name));
        end(&w);
    }
    struct show w;
    struct stack_profile *p = stack_profile_new(NULL);
    stack_profile_add(p, &(struct stack_sample){.weight = 3}, NULL);
    begin_with(&w, 24, 80, true, p);
    assert_true(picture_has(&w.c, "These samples have no times"));
    keys(&w, "v<Left><Enter>");
    assert_int_equal(w.u->screen, SCREEN_SUBSECOND);
    end(&w);
}

/* The width of the flame graph that is shown. */
static uint64_t total(const struct show *w)
{
    assert_int_equal(w->u->screen, SCREEN_FLAME);
    return w->u->flame.pane[0].graph->node[0].total;
}

static void a_range_becomes_a_flame_graph(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, true);
    const struct flame_state *t = &w.u->flame;
    uint64_t all = t->pane[0].graph->node[0].total, from_ns, to_ns;
    keys(&w, "v<Left><Left><Left>");
    assert_true(subsecond_range(t, &from_ns, &to_ns));
    assert_int_equal((to_ns - from_ns) / MS / 1000, 3);
    uint64_t from, to;
    subsecond_cells(t, subsecond_last(t), &from, &to);
    uint64_t marked = sample_map_sum(subsecond_last(t), from, to);
    keys(&w, "<Enter>");
    assert_int_equal(total(&w), marked);
    assert_int_equal(t->query.filter.from_ns, from_ns);
    assert_true(picture_has(&w.c, "22:14:0"));
    keys(&w, "<Esc>"); /* back to the map, where the mark still is */
    assert_int_equal(w.u->screen, SCREEN_SUBSECOND);
    assert_true(t->subsecond.marked);
    keys(&w, "<Esc><Esc>");
    assert_int_equal(total(&w), all);
    assert_int_equal(t->query.filter.to_ns, 0);
    keys(&w, "H<Enter>"); /* the cell of the cursor */
    assert_true(total(&w) > 0 && total(&w) < 20);
    keys(&w, "r"); /* all again */
    assert_int_equal(total(&w), all);
    end(&w);
}

static uint64_t width_of(const struct show *w, const char *text, bool base)
{
    const struct flame *f = w->u->flame.pane[0].graph;
    for (uint32_t i = 0; i < f->nodes; i++)
        if (strcmp(flame_text(f, i, NULL), text) == 0)
            return base ? f->node[i].base_total : f->node[i].total;
    return 0;
}

/* The slow second compared with an ordinary one. */
static void two_ranges_are_compared(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    struct flame_state *t = &w.u->flame;
    keys(&w, "d");
    assert_true(picture_has(&w.c, "mark a range first"));
    subsecond_place(t, sample_map_cell(subsecond_last(t), 15000 * MS));
    keys(&w, "v<Right><Down>d");
    assert_true(picture_has(&w.c, "comparing with 22:13:35"));
    assert_false(t->subsecond.marked);
    subsecond_place(t, sample_map_cell(subsecond_last(t), 22000 * MS));
    keys(&w, "v<Right><Enter>");
    assert_true(t->pane[0].graph->compared);
    assert_true(picture_has(&w.c, "compared in % points with"));
    assert_int_equal(width_of(&w, "shop:stuck/1", true), 0);
    assert_true(width_of(&w, "shop:stuck/1", false) > 400);
    assert_true(width_of(&w, "shop:wait/1", true) > 50);
    keys(&w, "d"); /* off, and on again with the same range */
    assert_false(t->pane[0].graph->compared);
    keys(&w, "d");
    assert_true(t->pane[0].graph->compared);
    assert_int_equal(width_of(&w, "shop:stuck/1", true), 0);
    keys(&w, "H<Esc>");
    assert_true(picture_has(&w.c, "~"));
    keys(&w, "d"); /* no mark: no comparison any more */
    assert_int_equal(t->base_to_ns, 0);
    end(&w);
}

static void clicks_mark(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, true);
    struct flame_state *t = &w.u->flame;
    struct mouse m = {.row = 10, .col = 50, .kind = MOUSE_CLICK};
    ui_mouse(w.u, &m, NULL);
    assert_true(t->subsecond.marked);
    m.col = 60;
    m.row = 12;
    ui_mouse(w.u, &m, NULL);
    uint64_t from_ns, to_ns;
    subsecond_range(t, &from_ns, &to_ns);
    assert_int_equal((to_ns - from_ns) / (1000 * MS), 9); /* a little less than ten seconds */
    ui_draw(w.u, &w.c, NULL);
    m.col = 55; /* the third click begins a new range */
    ui_mouse(w.u, &m, NULL);
    subsecond_range(t, &from_ns, &to_ns);
    assert_true(to_ns - from_ns < 100 * MS);
    m.kind = MOUSE_DOUBLE;
    ui_mouse(w.u, &m, NULL);
    assert_int_equal(w.u->screen, SCREEN_FLAME);
    end(&w);
}

static void any_keys(void **state)
{
    static const char *const some[] = {"<Up>",
                                       "<Down>",
                                       "<Left>",
                                       "<Right>",
                                       "<PgUp>",
                                       "<PgDn>",
                                       "<Home>",
                                       "<End>",
                                       "<Enter>",
                                       "<Esc>",
                                       "v",
                                       "d",
                                       "[",
                                       "]",
                                       "}",
                                       "z",
                                       "m<Down><Enter>",
                                       "H",
                                       "I<Down><Enter>",
                                       "a",
                                       "r",
                                       "m<Home><Enter>"};
    (void)state;
    struct show w;
    begin(&w, 24, 80, true);
    for (int i = 0; i < rng_rounds(3000); i++) {
        keys(&w, some[rng_below(sizeof some / sizeof *some)]);
        assert_null(canvas_broken(&w.c));
        const struct sample_map *m = subsecond_last(&w.u->flame);
        uint64_t from_ns, to_ns;
        if (m) {
            assert_true(subsecond_cursor(&w.u->flame, m) < sample_map_cells(m));
            assert_true(subsecond_range(&w.u->flame, &from_ns, &to_ns));
            assert_true(from_ns < to_ns);
        }
        if (rng_below(50) == 0) {
            canvas_resize(&w.c, 1 + (int)rng_below(40), 1 + (int)rng_below(120));
            w.c.shades = rng_below(2);
            ui_set_stacks(w.u, stack_profile_view(w.p), "again");
        }
    }
    end(&w);
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures),
        cmocka_unit_test(nothing_to_show),
        cmocka_unit_test(a_range_becomes_a_flame_graph),
        cmocka_unit_test(two_ranges_are_compared),
        cmocka_unit_test(clicks_mark),
        cmocka_unit_test(any_keys),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
