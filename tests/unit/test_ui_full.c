/* Full traces on the screen: what each screen offers, the dialog, the wait, the call tree, its
 * flame graph and its timeline. Pictures in each size are in test_ui_matrix. */
#include "fake_processes.h"
#include "fake_snapshot.h"
#include "fake_trace.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/tier.h>
#include <stdio.h>
#include <string.h>
#include <ui/full_line_cells.h>
#include <ui/state.h>

static struct ui *u;
static struct canvas c;
static struct fake *fake;

static int set_up(void **state)
{
    (void)state;
    u = ui_new("app@host");
    fake = fake_standard(3);
    canvas_init(&c, 24, 80, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    canvas_release(&c);
    fake_free(fake);
    ui_free(u);
    return 0;
}

static struct intent run(const char *keys)
{
    return script_run(u, &c, fake_snap(fake), keys);
}

static bool has(const char *text)
{
    return picture_has(&c, text);
}

static void now_is(enum full_stage state, const char *says)
{
    struct full_now now = {
        .state = state, .what = "a request named update", .attempts = 3, .waits = true};
    snprintf(now.says, sizeof now.says, "%s", says);
    ui_set_full(u, &now);
    run("");
}

static void give(bool many, bool hostile)
{
    struct stack_profile *p;
    struct call_tree *t = fake_trace(many, hostile, &p);
    now_is(FULL_ENDED, "shop_web:handle/1: 28 events");
    ui_set_full_result(u, t, p);
}

/* --- what is offered --- */

static void of_a_row(void **state)
{
    (void)state;
    run("<Home>x");
    assert_int_equal(u->screen, SCREEN_FULL_ASK);
    assert_true(has("the next request") && has("any duration") && has("at most 100000"));
    struct intent in = run("<Enter>");
    assert_int_equal(in.kind, INTENT_FULL);
    assert_int_equal(in.full.tier, TIER_TOTAL);
    assert_string_equal(in.full.ident, "");
    assert_int_equal(in.full.pid, 0);
    assert_int_equal(in.full.calls, FULL_CALLS_TIERS);
    assert_int_equal(u->screen, SCREEN_FULL);
    run("<Esc>");
    assert_int_equal(u->screen, SCREEN_TABLE);
    in = run("<Down>x<Enter>"); /* an identity of _total */
    assert_int_equal(in.full.tier, TIER_TOTAL);
    assert_true(in.full.ident[0] != 0);
    in = run("<Esc>/parsing<Enter><Home>x<Enter>"); /* a tier: its next call */
    assert_int_not_equal(in.full.tier, TIER_TOTAL);
    assert_string_equal(in.full.ident, "");
}

static void the_fields(void **state)
{
    (void)state;
    run("<Down>x");
    struct intent in = run("<Down><Right><Down><Down><Right><Down><Left><Down><Right><Enter>");
    assert_true(in.full.slow_ns > 0);
    assert_int_equal(in.full.calls, FULL_CALLS_APPLICATIONS);
    assert_int_equal(in.full.events, 10000);
    assert_int_equal(in.full.time_ns, UINT64_C(120000000000));
    run("x"); /* as it was */
    assert_true(has("of the applications of the tiers"));
    run("<Up><Up>"); /* wraps around */
    run("iarg(1) =:= get<Enter>");
    assert_true(has("arg(1) =:= get") && has("the next request"));
    in = run("<Enter>");
    assert_string_equal(in.full.condition, "arg(1) =:= get");
    assert_string_equal(in.full.ident, ""); /* one rule at a time */
    in = run("xi<C-u><Enter><Enter>");
    assert_string_equal(in.full.condition, "");
    assert_true(in.full.ident[0] != 0);
}

/* The node does not know these names. */
static void names_that_the_node_does_not_make(void **state)
{
    (void)state;
    ui_set_rule(u, "my_web:handle/1 path(arg(1))");
    run("<Down>x");
    assert_true(has("The node does not compute names made with path(...)"));
    struct intent in = run("<Enter>");
    assert_string_equal(in.full.ident, "");
}

static void of_a_slow_request(void **state)
{
    (void)state;
    fake_snap(fake)->slow_ns = 20000000;
    run("Sx");
    assert_true(has("the next request named") && has("or longer"));
    struct intent in = run("<Enter>");
    assert_int_equal(in.full.slow_ns, fake_snap(fake)->slow_ns);
    run("<Esc>");
    assert_int_equal(u->screen, SCREEN_SLOW);
    run("<Enter>x");
    assert_int_equal(u->screen, SCREEN_FULL_ASK);
    run("<Esc>");
    assert_int_equal(u->screen, SCREEN_WATERFALL);
}

static void of_an_open_call(void **state)
{
    (void)state;
    run("Ox");
    assert_true(has("process <0.") && has("of all modules") && !has("arg(1)"));
    struct intent in = run("<Enter>");
    assert_int_equal(in.full.pid, fake_snap(fake)->open[0].pid);
    in = run("<Esc>x<Right><Enter>"); /* or the next request of the kind */
    assert_int_equal(in.full.pid, 0);
    assert_int_equal(in.full.tier, TIER_TOTAL);
}

static void of_a_process(void **state)
{
    (void)state;
    run("U");
    ui_set_processes(u, fake_processes(10, false), NULL);
    struct intent in = run("xi");
    assert_true(has("only a request can have a condition"));
    run("<Right>");
    assert_true(has("there is no other choice here"));
    in = run("<Enter>");
    assert_int_equal(in.kind, INTENT_FULL);
    assert_int_not_equal(in.full.pid, 0);
    assert_true(in.full.time_ns < UINT64_C(60000000000));
    run("<Esc>vx");
    assert_true(has("select a process"));
}

static void not_in_a_replay(void **state)
{
    (void)state;
    fake_snap(fake)->node.replay = true;
    run("x");
    assert_int_equal(u->screen, SCREEN_TABLE);
    assert_true(has("not possible in a replay"));
}

/* --- the wait --- */

static void it_waits_visibly(void **state)
{
    (void)state;
    run("X");
    assert_true(has("No full trace yet"));
    now_is(FULL_ARMED, "");
    assert_true(has("Waiting for a request named update") && has("3 attempts"));
    run("X"); /* it goes on */
    assert_int_equal(u->screen, SCREEN_TABLE);
    assert_int_equal(run("Xx").kind, INTENT_REDRAW);
    assert_true(has("a full trace is under way; Esc ends it"));
    assert_int_equal(run("<Esc>").kind, INTENT_FULL_END);
    assert_int_equal(u->screen, SCREEN_FULL);
    now_is(FULL_NOT_CAUGHT, "no request came: my_web:handle/1 was not called");
    assert_true(has("Nothing was traced: no request came"));
    run("<Enter>ftase/n<Down>"); /* without a trace, these keys change nothing */
    assert_true(has("there is no trace here yet"));
    run("<Esc>");
    assert_int_equal(u->screen, SCREEN_TABLE);
}

/* --- the result --- */

static void the_tree(void **state)
{
    (void)state;
    run("X");
    give(false, false);
    run("");
    assert_true(has("CALL TREE of a request named update") && has("SLEEP shop_db:ask/2"));
    assert_true(has("shop_web:handle/1: 28 events"));
    run("<Enter>"); /* the first process */
    assert_false(has("json:decode/2"));
    run("<Right><Right><Right>");
    assert_true(has("json:decode/2"));
    run("<Right>");
    assert_int_equal(u->full.at.sel, 2);
    run("<Left><Left>"); /* to the caller, which folds */
    assert_int_equal(u->full.at.sel, 1);
    assert_false(has("json:decode/2"));
    run("oo");
    assert_false(has("json:decode/2"));
    run("o");
    assert_true(has("json:decode/2"));
}

/* A later trace that fails does not put its name on the result of this one. */
static void a_result_keeps_its_name(void **state)
{
    (void)state;
    run("X");
    give(false, false);
    run("");
    assert_true(has("CALL TREE of a request named update"));
    struct full_now now = {.state = FULL_NOT_CAUGHT, .what = "a request named GET /"};
    ui_set_full(u, &now);
    run("");
    assert_true(has("CALL TREE of a request named update"));
}

static void waits_that_are_not_known_are_not_hidden(void **state)
{
    struct stack_profile *p;
    struct full_now now = {.state = FULL_ENDED, .what = "a request"};
    (void)state;
    run("X");
    ui_set_full(u, &now);
    struct call_tree *t = fake_trace(false, false, &p);
    ui_set_full_result(u, t, p);
    run("a");
    assert_true(has("waits are not known on this VM") && !has("waits hidden"));
}

static void hidden_and_sorted(void **state)
{
    (void)state;
    run("X");
    give(false, false);
    run("a");
    assert_true(has("waits hidden") && !has("SLEEP") && has(" GC"));
    run("a");
    assert_true(has("garbage collections hidden") && has("SLEEP") && !has(" GC"));
    run("a");
    assert_true(!has("SLEEP") && !has(" GC"));
    run("f");
    assert_true(!has("SLEEP"));
    run("<Esc>a");
    assert_true(has("SLEEP") && has(" GC"));
    assert_int_equal(u->full.tree.line[2], full_tree_find(&u->full.tree, 0, "json:decode", false));
    run("s");
    assert_true(has("sorted by total time"));
    assert_int_equal(u->full.tree.line[2], full_tree_find(&u->full.tree, 0, "shop_db:ask", false));
    run("sss");
    assert_true(has("in the order of the first calls"));
}

static void search(void **state)
{
    (void)state;
    run("X");
    give(false, false);
    run("<Enter>/tag<Enter>"); /* it was folded */
    assert_true(has("shop_html:tag/2"));
    size_t first = u->full.at.sel;
    run("n");
    assert_int_equal(u->full.at.sel, first + 1);
    run("N");
    assert_int_equal(u->full.at.sel, first);
    run("N"); /* wraps around */
    assert_int_equal(u->full.at.sel, first + 3);
    run("n");
    assert_int_equal(u->full.at.sel, first);
    run("<Esc>n");
    assert_true(has("search first"));
    assert_int_equal(u->screen, SCREEN_FULL);
}

static void flame_graph_and_time_line(void **state)
{
    struct flame_query q;
    (void)state;
    run("X");
    give(false, false);
    run("f<Down>");
    assert_int_equal(u->screen, SCREEN_FULL_FLAME);
    assert_true(has("FLAME GRAPH") && has("shop_web:handle/1"));
    run("w");
    assert_true(has("nothing is sampled: this is a full trace"));
    run("/tag<Enter>");
    assert_true(has("matched"));
    assert_ptr_equal(ui_stacks(u, &q), u->full.flame.view);
    run("<Esc>cstatus<Enter>");
    assert_int_equal(u->full.flame.query.group, FLAME_STATUS);
    run("H");
    assert_int_equal(u->screen, SCREEN_FULL_LINE);
    assert_true(has("TIMELINE"));
    run("<Down>");
    assert_true(has("shop_db:query/2"));
    run("<Down>");
    assert_true(has("there is no other process"));
    run("-");
    assert_true(has("the whole trace is in sight"));
    run("<End>++++++++");
    assert_true(has("the timeline cannot be finer"));
    run("<Home><Right><Left>--------<PgDn><PgUp>a");
    run("<Esc><Esc>");
    assert_int_equal(u->screen, SCREEN_TABLE);
}

static void export_goes_to_the_trace(void **state)
{
    struct call_tree_hide hide;
    (void)state;
    run("X");
    give(false, false);
    run("e");
    assert_true(has("Export the trace to file: kprof-top-trace.txt"));
    struct intent in = run("<Enter>");
    assert_int_equal(in.kind, INTENT_EXPORT_STACKS);
    assert_non_null(ui_call_tree(u, &hide));
    ui_reprompt(u, in.kind, in.text, SIZE_MAX, "unknown extension");
    run("");
    assert_true(has("Export the trace to file"));
    run("<Esc><Esc>");
    assert_null(ui_call_tree(u, &hide));
}

/* Whatever the names are; many lines; every size. */
static void hostile_and_every_size(void **state)
{
    (void)state;
    run("X");
    give(true, true);
    static const char *const keys[] = {"", "t", "<Esc>f", "<Esc>"};
    for (size_t k = 0; k < 4; k++) {
        run(keys[k]);
        for (int rows = 1; rows < 30; rows++) {
            for (int cols = 1; cols < 140; cols += 7) {
                canvas_resize(&c, rows, cols);
                run("<Right>");
                const char *why = canvas_broken(&c);
                if (why) {
                    fail_msg("%s %dx%d: %s", keys[k], cols, rows, why);
                }
            }
        }
        canvas_resize(&c, 24, 80);
    }
}

/* --- the cells of the timeline --- */

static void cells(void **state)
{
    (void)state;
    run("X");
    give(false, false);
    const struct stack_view *v = u->full.flame.view;
    const struct call_tree_counts *n = call_tree_counts(u->full.call_tree);
    struct full_axis x = {n->first_ns, n->last_ns, 40};
    const uint64_t pid[2] = {0x101, 0x102};
    struct full_cell cell[80];
    uint64_t sum[2] = {0};
    full_line_cells(v, &x, pid, 2, 0, cell);
    for (size_t i = 0; i < 80; i++) {
        for (unsigned k = 0; k < FULL_CELL_KINDS; k++) {
            sum[i / 40] += cell[i].ns[k];
        }
    }
    /* all of the time of each process, but for the rounding of 40 columns */
    for (int p = 0; p < 2; p++) {
        uint32_t node = call_tree_node(u->full.call_tree, 0)->first_child;
        node = p ? call_tree_node(u->full.call_tree, node)->next : node;
        int64_t off = (int64_t)(sum[p] - call_tree_node(u->full.call_tree, node)->total_ns);
        assert_true(off > -100 && off < 100);
    }
    full_line_cells(v, &x, pid, 2, 1u << STACK_WAITING, cell);
    for (size_t i = 0; i < 80; i++) {
        assert_int_equal(cell[i].ns[FULL_CELL_WAITS], 0);
    }
    assert_null(full_line_at(v, 0x102, n->first_ns));
    assert_non_null(full_line_at(v, 0x101, n->first_ns));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(of_a_row),
        TEST(the_fields),
        TEST(names_that_the_node_does_not_make),
        TEST(of_a_slow_request),
        TEST(of_an_open_call),
        TEST(of_a_process),
        TEST(not_in_a_replay),
        TEST(it_waits_visibly),
        TEST(the_tree),
        TEST(hidden_and_sorted),
        TEST(a_result_keeps_its_name),
        TEST(waits_that_are_not_known_are_not_hidden),
        TEST(search),
        TEST(flame_graph_and_time_line),
        TEST(export_goes_to_the_trace),
        TEST(hostile_and_every_size),
        TEST(cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
