/* The screen of processes: what is asked for, order, groups, filter, the process below, what is
 * said when there is no table. Pictures of it in each size and state of the node are in
 * test_ui_matrix. */
#include "fake_processes.h"
#include "fake_snapshot.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/ui/keys.h>
#include <stdio.h>
#include <string.h>
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

static void give(size_t n)
{
    ui_set_processes(u, fake_processes(n, false), NULL);
    run("");
}

static bool has(const char *text)
{
    return picture_has(&c, text);
}

static struct process_order order(void)
{
    struct process_order o;
    assert_true(ui_wants_processes(u, &o));
    return o;
}

static void asked_only_while_shown(void **state)
{
    struct process_order o;
    (void)state;
    assert_false(ui_wants_processes(u, &o));
    run("U");
    assert_true(has("The node reads its processes"));
    assert_int_equal(order().by, PROCESS_REDUCTIONS);
    run("?"); /* the help is over it */
    order();
    run("qp"); /* frozen */
    assert_false(ui_wants_processes(u, &o));
    run("p");
    order();
    run("<Esc>");
    assert_false(ui_wants_processes(u, &o));
}

static void why_there_is_none(void **state)
{
    (void)state;
    run("U");
    ui_set_processes(u, NULL, "a recording has no process table");
    run("");
    assert_true(has("a recording has no process table"));
    run("<Down><Enter>fo/x<Enter>vvv<Esc>"); /* without a table, these keys change nothing */
    give(10);
    assert_true(has("shop_stock"));
    assert_false(has("a recording"));
    ui_set_processes(u, NULL, "the connection is lost"); /* what was shown stays */
    run("");
    assert_true(has("the connection is lost") && has("shop_stock"));
}

/* There is no new round: what is shown stays, with the reason. */
static void a_closed_gate_is_said(void **state)
{
    (void)state;
    run("U");
    struct process_table *t = process_table_new();
    t->head.gate = PROCESS_GATE_BREAKER;
    ui_set_processes(u, t, NULL);
    run("");
    assert_true(has("stopped: the breaker is open"));
    give(10);
    assert_true(has("every 2.0 s, cost 0.4%"));
    t = process_table_new();
    t->head.gate = PROCESS_GATE_RUN_QUEUE;
    ui_set_processes(u, t, NULL);
    run("");
    assert_true(has("stopped: the run queue of the node is long") && has("shop_stock"));
    t = fake_processes(10, false);
    t->head.period_s = 8;
    ui_set_processes(u, t, NULL);
    run("");
    assert_true(has("every 8.0 s, to stay below --max-overhead"));
}

static void the_order_is_the_nodes(void **state)
{
    (void)state;
    run("U");
    give(10);
    run(">");
    assert_int_equal(order().by, PROCESS_MEMORY);
    run("><");
    assert_int_equal(order().by, PROCESS_MEMORY);
    run("<<"); /* wraps around: by name, which the node does not rank by */
    assert_int_equal(order().by, PROCESS_REDUCTIONS);
    run("s<Home><Down><Down><Enter>");
    assert_int_equal(order().by, PROCESS_QUEUE);
    assert_int_equal(u->processes.query.sort, PROCESS_QUEUE);
    run("sQUE<Enter>"); /* typing finds the item */
    assert_int_equal(u->processes.query.sort, PROCESS_QUEUE);
    run("r");
    assert_true(u->processes.query.reverse);
    /* a click on a title sorts */
    struct mouse m = {.kind = MOUSE_CLICK, .row = u->processes.title_row, .col = 25};
    ui_mouse(u, &m, fake_snap(fake));
    assert_int_equal(u->processes.query.sort, PROCESS_REDUCTIONS);
}

static void a_group_opens(void **state)
{
    (void)state;
    run("U");
    give(200);
    run("v");
    assert_true(has("INITIAL CALL") && has("PROCS") && has("(other)"));
    assert_false(has("unknown,"));
    u->processes.table->head.unnamed = 37; /* initial calls become known over several refreshes */
    run("");
    assert_true(has("initial call of 37 not known yet"));
    u->processes.table->head.unnamed = 0;
    run("v");
    assert_true(has("APPLICATION") && has("kernel") && has("(none)"));
    run("<Up><Home><Enter>"); /* the first: shop */
    assert_int_equal(order().within, PROCESS_BY_APPLICATION);
    assert_string_equal(order().name, "shop");
    assert_true(has("of shop"));
    run("<Esc>");
    assert_int_equal(order().within, PROCESS_UNGROUPED);
    assert_true(has("kernel"));
    run("vv<End><Enter>"); /* the others have no processes of their own */
    assert_int_equal(order().within, PROCESS_UNGROUPED);
    assert_true(has("the processes of this line cannot be listed"));
    run("f");
    assert_true(has("select a process"));
}

/* After a pause, rounds start again: the node reports initial calls only from the second round on.
 */
static void a_group_by_call_in_a_first_round(void **state)
{
    struct process_table *t;
    (void)state;
    run("U");
    give(200);
    run("v<Home><Enter>");
    assert_int_equal(order().within, PROCESS_BY_CALL);
    t = fake_processes(0, false);
    t->head.seq = 1;
    ui_set_processes(u, t, NULL);
    run("");
    assert_true(has("the node reads the initial calls"));
    t = fake_processes(0, false);
    t->head.seq = 2;
    ui_set_processes(u, t, NULL);
    run("");
    assert_true(has("no process"));
    assert_false(has("the node reads the initial calls"));
}

static void filter_and_selection(void **state)
{
    (void)state;
    run("U");
    give(200);
    run("<Down>");
    uint64_t pid = u->processes.pid;
    assert_int_not_equal(pid, 0);
    run("/loop/7");
    assert_true(has("with \"loop/7\""));
    assert_false(has("shop_stock"));
    run("<Enter><Esc>");
    assert_true(has("shop_stock"));
    run("<Esc>U"); /* as it was left */
    run("<Home>");
    assert_int_equal(u->processes.pid, 0); /* always the first line */
    run("/no such thing");
    assert_true(has("no process contains this text"));
}

static struct process_row *row_of(struct process_table *t, uint64_t pid)
{
    for (size_t i = 0; i < t->n[PROCESS_UNGROUPED]; i++) {
        if (t->row[PROCESS_UNGROUPED][i].pid == pid) {
            return &t->row[PROCESS_UNGROUPED][i];
        }
    }
    return NULL;
}

/* The next key about a process only says it, so that it cannot be about the neighbour. */
static void a_process_that_left_the_list(void **state)
{
    (void)state;
    run("U");
    give(10);
    run("<Down><Down>");
    uint64_t pid = u->processes.pid;
    assert_int_not_equal(pid, 0);
    struct process_table *t = fake_processes(10, false);
    row_of(t, pid)->pid = 999;
    ui_set_processes(u, t, NULL);
    for (const char *key = "fxo"; *key; key++) {
        u->processes.pid = pid;
        run("");
        struct intent in = run((char[2]){*key});
        assert_int_equal(in.kind, INTENT_REDRAW);
        assert_int_equal(u->screen, SCREEN_PROCESSES);
        assert_true(has("the selected process is not in the list; this line is selected instead"));
        assert_int_not_equal(u->processes.pid, pid);
    }
    u->processes.pid = pid;
    assert_int_equal(run("<Enter>").kind, INTENT_REDRAW);
    assert_int_equal(run("<Enter>").kind, INTENT_STACK);
    uint64_t next = u->processes.pid;
    give(10);
    assert_int_equal(u->processes.pid, next);
}

/* It may be back at the next refresh. */
static void a_process_that_comes_back_is_still_selected(void **state)
{
    (void)state;
    run("U");
    give(10);
    run("<Down><Down>");
    uint64_t pid = u->processes.pid;
    struct process_table *t = fake_processes(10, false);
    row_of(t, pid)->pid = 999;
    ui_set_processes(u, t, NULL);
    run("");
    for (int at = 0; at < c.rows; at++) { /* no other line looks selected */
        assert_int_not_equal(c.cells[at * c.cols].style, STYLE_SELECT);
    }
    give(10);
    assert_int_equal(run("<Enter>").pid, pid);
}

/* What is typed is about the lines that are left: the first of them is selected. */
static void a_filter_that_hides_the_process_selects_the_first(void **state)
{
    (void)state;
    run("U");
    give(200);
    run("<Down>/cowboy<Enter>");
    assert_int_equal(u->processes.pid, 0);
    assert_int_equal(run("<Enter>").kind, INTENT_STACK);
}

static void a_process_below(void **state)
{
    struct snapshot *s = fake_snap(fake);
    (void)state;
    run("U");
    struct process_table *t = fake_processes(10, false);
    t->row[PROCESS_UNGROUPED][1].pid = s->open[0].pid;
    ui_set_processes(u, t, NULL);
    run("");
    struct intent in = run("<Down><Enter>");
    if (in.pid != s->open[0].pid) { /* wherever the order has put it */
        in = run("<Home>/shop_worker<Enter><Enter>");
    }
    assert_int_equal(in.kind, INTENT_STACK);
    assert_int_equal(in.pid, s->open[0].pid);
    assert_true(has("asking ..."));
    ui_set_stack(u, 1, "wrong:one/0\n", false);
    ui_set_stack(u, in.pid, "shop_worker:wait/2 (shop_worker.erl:12)\ngen:loop/7\n", false);
    run("");
    assert_true(has("shop_worker:wait/2 (shop_worker.erl:12)") && has("gen:loop/7"));
    assert_true(has("open call"));
    assert_true(has("waiting 67%, running 33% of 3 rounds") || has("running 33%"));
    assert_false(has("wrong:one/0"));
    in = run("f");
    assert_int_equal(in.kind, INTENT_SAMPLING);
    char want[PROCESS_PID_BYTES];
    snapshot_pid(s->open[0].pid, want);
    assert_string_equal(in.text, want);
    assert_int_equal(u->screen, SCREEN_FLAME);
    run("<Esc>");
    assert_int_equal(u->screen, SCREEN_PROCESSES);
    run("o");
    assert_int_equal(u->screen, SCREEN_OPEN_CALLS);
    assert_int_equal(u->open_calls.pid, s->open[0].pid);
    run("<Esc>");
    assert_int_equal(u->screen, SCREEN_PROCESSES);
    run("<Esc><Esc><End>o");
    assert_true(has("none of the oldest open calls is in this process"));
}

/* Where the column of pids does not fit, the pid is before the initial call. */
static void the_pid_is_always_there(void **state)
{
    (void)state;
    run("U");
    give(3);
    assert_false(has(" PID "));
    assert_true(has("<0.101.0> init/1 "));
    canvas_release(&c);
    canvas_init(&c, 24, 120, false);
    run("");
    assert_true(has(" PID "));
    assert_true(has("shop_worker:init/1 "));
    assert_true(has("<0.101.0>"));
    assert_false(has("<0.101.0> init/1"));
}

static void export_has_its_own_prompt(void **state)
{
    (void)state;
    run("U");
    assert_int_equal(run("e").kind, INTENT_REDRAW);
    assert_true(has("nothing to export yet"));
    give(10);
    run("e");
    assert_true(has("Export processes to file: kprof-top-processes-"));
    struct intent in = run("p.csv<Enter>");
    assert_int_equal(in.kind, INTENT_EXPORT);
    assert_true(in.processes);
    assert_string_equal(in.text, "p.csv");
    ui_ask_overwrite(u, "p.csv");
    in = run("y");
    assert_true(in.processes && in.force);
}

static void the_sort_menu_begins_at_the_present_choice(void **state)
{
    (void)state;
    run("U");
    give(10);
    run("s<Down><Down><Enter>");
    unsigned was = u->processes.query.sort;
    assert_true(was != 0);
    run("s<Enter>");
    assert_int_equal(u->processes.query.sort, was);
}

/* Whatever the names of processes are, the cells are sound; every size. */
static void hostile_names_in_every_size(void **state)
{
    (void)state;
    run("U");
    ui_set_processes(u, fake_processes(PROCESS_ROWS, true), NULL);
    for (int rows = 1; rows < 30; rows++) {
        for (int cols = 1; cols < 140; cols += 3) {
            canvas_resize(&c, rows, cols);
            u->processes.stack = cols % 2 ? 100 : 0;
            run("v");
            const char *why = canvas_broken(&c);
            if (why) {
                fail_msg("%dx%d: %s", cols, rows, why);
            }
        }
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(asked_only_while_shown),
        TEST(why_there_is_none),
        TEST(a_closed_gate_is_said),
        TEST(the_order_is_the_nodes),
        TEST(a_group_opens),
        TEST(a_group_by_call_in_a_first_round),
        TEST(filter_and_selection),
        TEST(a_process_that_left_the_list),
        TEST(a_process_that_comes_back_is_still_selected),
        TEST(a_filter_that_hides_the_process_selects_the_first),
        TEST(a_process_below),
        TEST(the_pid_is_always_there),
        TEST(export_has_its_own_prompt),
        TEST(the_sort_menu_begins_at_the_present_choice),
        TEST(hostile_names_in_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
