/* The flame graph screen: keys, clicks, pictures. It has the 300 samples of fake_stacks, 60 of each
 * process. */
#include "fake_stacks.h"
#include "rng.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/tier.h>
#include <kprof/ui/keys.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/state.h>

struct show {
    struct ui *u;
    struct canvas c;
    struct stack_profile *p;
};

static void begin(struct show *w, int rows, int cols, bool hostile)
{
    w->u = ui_new("app@host");
    w->p = fake_stacks(hostile);
    canvas_init(&w->c, rows, cols, false);
    ui_set_stacks(w->u, stack_profile_view(w->p), "demo.folded");
    ui_show_stacks(w->u, true);
    ui_draw(w->u, &w->c, NULL);
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

static const char *selected(const struct show *w)
{
    const struct flame_pane *p = &w->u->flame.pane[w->u->flame.active];
    return flame_text(p->graph, p->sel, NULL);
}

#define GOLDEN(w, name) assert_true(picture_is_golden(&(w)->c, name))

static void pictures(void **state)
{
    static const struct {
        int rows, cols;
        const char *name, *script;
    } all[] = {
        {24, 80, "flame_80x24", ""},
        {40, 120, "flame_120x40", "<Down>"},
        {10, 40, "flame_40x10", "<Down><Down>"},
        {24, 80, "flame_zoomed_80x24", "<Down><Right><Down><Enter>"},
        {24, 80, "flame_search_80x24", "/burner:[fg]<Enter>"},
        {24, 80, "flame_same_80x24", "<Down>#"},
        {24, 80, "flame_status_80x24", "c<Down><Enter>"},
        {24, 80, "flame_binaries_80x24",
         "m<Down><Down><Down><Down><Down><Down><Down><Down><Down><Down><Down><Down><Down><Down><"
         "Down><Down><Enter>"},
        {24, 80, "flame_width_menu_80x24", "m"},
        {24, 80, "flame_sandwich_80x24", "/burner:f<Enter>ns"},
        {24, 80, "flame_folded_up_80x24", "oi"},
        {10, 40, "flame_sandwich_40x10", "<Down>s<Tab>"},
        {24, 80, "flame_lines_80x24", "L"},
        {24, 80, "flame_export_80x24", "e"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct show w;
        begin(&w, all[i].rows, all[i].cols, false);
        keys(&w, all[i].script);
        assert_null(canvas_broken(&w.c));
        GOLDEN(&w, all[i].name);
        end(&w);
    }
}

/* Enter in a menu changes nothing. */
static void menus_begin_at_the_present_choice(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    const struct flame_query *q = &w.u->flame.query;
    keys(&w, "m<Down><Down><Enter>");
    struct flame_query was = *q;
    keys(&w, "m<Enter>");
    assert_int_equal(q->by, was.by);
    assert_int_equal(q->metric, was.metric);
    keys(&w, "m<Up><Enter>");
    assert_true(q->by != was.by || q->metric != was.metric);
    keys(&w, "c<Down><Enter>c<Enter>");
    assert_int_equal(q->group, 1);
    keys(&w, "I<Down><Enter>");
    assert_true(q->filter.inside);
    keys(&w, "I<Enter>");
    assert_true(q->filter.inside);
    end(&w);
}

static void a_comparison_has_signs(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    struct stack_profile *base = fake_stacks(false);
    struct stack_sample more = {.weight = 60, .stack = stack_profile_stacks(base)};
    stack_profile_add(base, &more, NULL);
    ui_set_stacks_base(w.u, stack_profile_view(base));
    ui_draw(w.u, &w.c, NULL);
    GOLDEN(&w, "flame_compared_80x24");
    keys(&w, "d");
    assert_false(picture_has(&w.c, "compared"));
    keys(&w, "d");
    assert_true(picture_has(&w.c, "compared"));
    end(&w);
    stack_profile_free(base);
}

/* d compares the samples from then on with the earlier ones. */
static void two_stretches_of_time_are_compared(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    const struct flame_pane *p = &w.u->flame.pane[0];
    keys(&w, "d");
    assert_true(picture_has(&w.c, "No samples yet since"));
    uint32_t newest = stack_profile_stacks(w.p);
    struct stack_sample more = {
        .time_ns = UINT64_C(9000000000), .weight = 60, .stack = newest, .status = STACK_WAITING};
    stack_profile_add(w.p, &more, NULL);
    ui_set_stacks(w.u, stack_profile_view(w.p), "live");
    ui_draw(w.u, &w.c, NULL);
    assert_int_equal(p->graph->node[0].total, 60);
    assert_int_equal(p->graph->node[0].base_total, 300);
    assert_true(picture_has(&w.c, "-20.0 "));
    keys(&w, "d");
    assert_int_equal(p->graph->node[0].total, 360);
    end(&w);
}

static void no_times_no_comparison(void **state)
{
    (void)state;
    struct ui *u = ui_new(NULL);
    struct canvas c;
    struct stack_profile *p = stack_profile_new(NULL);
    struct stack_sample s = {.weight = 3};
    stack_profile_add(p, &s, NULL);
    canvas_init(&c, 24, 80, true);
    ui_set_stacks(u, stack_profile_view(p), "x");
    ui_show_stacks(u, true);
    script_run(u, &c, NULL, "d");
    assert_true(picture_has(&c, "nothing to compare with"));
    canvas_release(&c);
    ui_free(u);
    stack_profile_free(p);
}

static void zoom_in_and_out(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    keys(&w, "/burner:g<Enter>n<Enter>");
    assert_string_equal(selected(&w), "burner:g/1");
    assert_false(picture_has(&w.c, "burner:h/1"));
    assert_true(picture_has(&w.c, "matched 100%"));
    keys(&w, "<Esc>");
    assert_true(picture_has(&w.c, "burner:h/1"));
    assert_string_equal(selected(&w), "burner:g/1"); /* the frame of the zoom stays selected */
    keys(&w, "<Esc><Esc>");
    assert_true(picture_has(&w.c, "gen_server:loop/7"));
    assert_true(picture_has(&w.c, "matched 13.3%"));
    keys(&w, "<Esc>");
    assert_false(picture_has(&w.c, "matched"));
    assert_int_equal(keys(&w, "q").kind, INTENT_QUIT);
    end(&w);
}

static void moving_stays_in_the_zoomed_part(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    const struct flame_pane *p = &w.u->flame.pane[0];
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
                                       "r",
                                       "n",
                                       "N",
                                       "#",
                                       "i",
                                       "o",
                                       "L",
                                       "z",
                                       "s",
                                       "<Tab>",
                                       "c<Down><Enter>",
                                       "c<Up><Enter>",
                                       "m<Down><Enter>",
                                       "m<Home><Enter>",
                                       "/m<Enter>"};
    for (int i = 0; i < rng_rounds(3000); i++) {
        keys(&w, some[rng_below(sizeof some / sizeof *some)]);
        p = &w.u->flame.pane[w.u->flame.active];
        assert_non_null(p->graph);
        assert_true(p->zoom < p->graph->nodes && p->sel < p->graph->nodes);
        uint32_t at = p->sel;
        while (at != p->zoom && at != 0)
            at = p->graph->node[at].parent;
        assert_int_equal(at, p->zoom);
        assert_null(canvas_broken(&w.c));
        if (rng_below(50) == 0) {
            canvas_resize(&w.c, 1 + (int)rng_below(40), 1 + (int)rng_below(120));
            ui_set_stacks(w.u, stack_profile_view(w.p), "again");
        }
    }
    end(&w);
}

static void clicks(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    struct mouse m = {.row = 2, .col = 1, .kind = MOUSE_CLICK};
    ui_mouse(w.u, &m, NULL);
    ui_draw(w.u, &w.c, NULL);
    char first[100];
    snprintf(first, sizeof first, "%s", selected(&w));
    assert_string_not_equal(first, "all");
    m.kind = MOUSE_DOUBLE;
    ui_mouse(w.u, &m, NULL);
    ui_draw(w.u, &w.c, NULL);
    assert_int_equal(w.u->flame.pane[0].zoom, w.u->flame.pane[0].sel);
    assert_string_equal(selected(&w), first);
    m = (struct mouse){.row = 1, .col = 1, .kind = MOUSE_CLICK}; /* a caller of the zoomed frame */
    ui_mouse(w.u, &m, NULL);
    assert_string_equal(selected(&w), "all");
    assert_int_equal(w.u->flame.pane[0].zoom, 0);
    end(&w);
}

static void a_frozen_graph_waits(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    keys(&w, "z");
    struct stack_sample more = {.weight = 700};
    stack_profile_add(w.p, &more, NULL);
    ui_set_stacks(w.u, stack_profile_view(w.p), "demo.folded");
    ui_draw(w.u, &w.c, NULL);
    assert_true(picture_has(&w.c, "300 samples") && picture_has(&w.c, "FROZEN"));
    keys(&w, "z");
    assert_true(picture_has(&w.c, "1000 samples") && !picture_has(&w.c, "FROZEN"));
    end(&w);
}

static void selection_and_zoom_outlive_new_samples(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    keys(&w, "/burner:g<Enter>n<Enter><Down>");
    assert_string_equal(selected(&w), "burner:f/1");
    struct stack_sample more = {.weight = 700, .stack = stack_profile_stacks(w.p)};
    stack_profile_add(w.p, &more, NULL);
    ui_set_stacks(w.u, stack_profile_view(w.p), "demo.folded");
    ui_draw(w.u, &w.c, NULL);
    assert_string_equal(selected(&w), "burner:f/1");
    assert_true(picture_has(&w.c, "40 4.0%"));
    assert_false(picture_has(&w.c, "burner:h/1"));
    end(&w);
}

static void searches(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, true);
    keys(&w, "/walk|burner:f<Enter>");
    assert_true(picture_has(&w.c, "matched 33.3%"));
    keys(&w, "/(<Enter>"); /* not a regular expression, so a plain text */
    assert_true(picture_has(&w.c, "matched 20.0%"));
    keys(&w, "n");
    assert_non_null(strstr(selected(&w), "<script>"));
    assert_null(canvas_broken(&w.c));
    keys(&w, "/nothing here<Enter>n");
    assert_true(picture_has(&w.c, "no visible match"));
    keys(&w, "/x<Esc>");
    assert_false(picture_has(&w.c, "matched"));
    end(&w);
}

static void export_asks_for_a_name(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    struct intent in = keys(&w, "eout.pb.gz<Enter>");
    assert_int_equal(in.kind, INTENT_EXPORT_STACKS);
    assert_string_equal(in.text, "out.pb.gz");
    struct flame_query q;
    keys(&w, "c<Down><Enter>");
    assert_non_null(ui_stacks(w.u, &q));
    assert_int_equal(q.group, FLAME_STATUS);
    end(&w);
}

static uint64_t shown(const struct show *w)
{
    return w->u->flame.pane[0].graph->node[0].total;
}

static uint64_t *three_requests(void)
{
    uint64_t *label = malloc(3 * sizeof *label);
    assert_non_null(label);
    for (uint64_t i = 0; i < 3; i++)
        label[i] = 2 * i + 1;
    return label;
}

static void samples_inside_requests(void **state)
{
    (void)state;
    struct show w;
    struct fake *f = fake_standard(3);
    begin(&w, 24, 100, false);
    keys(&w, "I");
    assert_false(picture_has(&w.c, "P99")); /* a file: requests are not known */
    keys(&w, "<Down><Enter>");
    assert_int_equal(shown(&w), 60);
    assert_true(picture_has(&w.c, "inside requests"));
    keys(&w, "<Esc>"); /* all again */
    assert_int_equal(shown(&w), 300);
    struct intent in = script_run(w.u, &w.c, fake_snap(f), "I<End><Up><Enter>");
    assert_int_equal(in.kind, INTENT_FLAME_INSIDE);
    assert_int_equal(in.cells.tier, TIER_TOTAL);
    assert_int_equal(in.cells.ident, IDENT_ALL);
    assert_true(in.cells.least_ns > 0);
    ui_show_inside(w.u, &in.cells, three_requests(), 3, in.text);
    keys(&w, "c<End><Enter>");
    assert_int_equal(shown(&w), 30); /* requests 1, 3 and 5 have ten each */
    GOLDEN(&w, "flame_inside_100x24");
    struct view_cells cells;
    assert_true(ui_stacks_inside(w.u, &cells));
    assert_int_equal(cells.least_ns, in.cells.least_ns);
    ui_set_stacks_inside(w.u, three_requests(), 1); /* others than before */
    ui_set_stacks(w.u, stack_profile_view(w.p), "demo.folded");
    assert_int_equal(shown(&w), 10);
    keys(&w, "r");
    assert_int_equal(shown(&w), 300);
    assert_false(ui_stacks_inside(w.u, &cells));
    fake_free(f);
    end(&w);
}

static void other_screens_lead_back(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80, false);
    keys(&w, "?");
    assert_int_equal(w.u->screen, SCREEN_HELP);
    keys(&w, "q");
    assert_int_equal(w.u->screen, SCREEN_FLAME);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures),
        cmocka_unit_test(menus_begin_at_the_present_choice),
        cmocka_unit_test(a_comparison_has_signs),
        cmocka_unit_test(two_stretches_of_time_are_compared),
        cmocka_unit_test(no_times_no_comparison),
        cmocka_unit_test(zoom_in_and_out),
        cmocka_unit_test(moving_stays_in_the_zoomed_part),
        cmocka_unit_test(clicks),
        cmocka_unit_test(a_frozen_graph_waits),
        cmocka_unit_test(selection_and_zoom_outlive_new_samples),
        cmocka_unit_test(searches),
        cmocka_unit_test(export_asks_for_a_name),
        cmocka_unit_test(samples_inside_requests),
        cmocka_unit_test(other_screens_lead_back),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
