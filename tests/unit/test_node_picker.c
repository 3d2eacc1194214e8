/* The choice of a node: pictures, keys, and the history of nodes that were used. */
#include "rng.h"
#include "ui_script.h"
#include <kprof/cli/node_history.h>
#include <kprof/ui/node_picker.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#define NOW 1800000000u

static struct node_choices nodes;

static void add(const char *node, const char *connect, bool local, bool release, uint64_t ago_s)
{
    struct node_choice c = {.local = local, .release = release, .used_s = ago_s ? NOW - ago_s : 0};

    snprintf(c.node, sizeof c.node, "%s", node);
    snprintf(c.connect, sizeof c.connect, "%s", connect);
    node_choices_add(&nodes, &c);
}

static void some(void)
{
    memset(&nodes, 0, sizeof nodes);
    nodes.epmd = true;
    add("shop@10.1.2.3", "", false, true, 0);
    add("rabbit@mq1", "", true, false, 0);
    add("worker@mq1", "127.0.0.1:9100", true, false, 5400);
    add("app@web1.example.org", "", false, false, 200);
    add("app-0@app-0.app.prod.svc.cluster.local", "127.0.0.1:9100", false, false, 90000);
    add("billing@fd00::17", "", false, false, 40 * 86400);
    node_choices_sort(&nodes);
}

static void many(void)
{
    memset(&nodes, 0, sizeof nodes);
    for (int i = 0; i < NODE_CHOICES_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "app%d@host%d", i, i % 7);
        add(name, "", true, false, 0);
    }
    node_choices_sort(&nodes);
}

static void none(void)
{
    memset(&nodes, 0, sizeof nodes);
    nodes.epmd = true;
}

static void nothing_answers(void)
{
    memset(&nodes, 0, sizeof nodes);
}

static enum node_picker_event keys(struct node_picker *p, struct canvas *c, const char *script)
{
    enum node_picker_event last = NODE_PICKER_NOTHING;

    while (*script) {
        last = node_picker_key(p, script_key(&script));
        node_picker_draw(p, c);
        const char *why = canvas_broken(c);
        if (why)
            fail_msg("before \"%s\": %s", script, why);
    }
    return last;
}

static const struct golden {
    const char *name;
    int rows, cols;
    bool ascii;
    void (*make)(void);
    const char *keys;
} goldens[] = {
    {"nodes_80x24", 24, 80, false, some, ""},
    {"nodes_120x40", 40, 120, false, some, "<Down><Down>"},
    {"nodes_40x10", 10, 40, true, some, ""},
    {"nodes_20x3", 3, 20, false, some, ""},
    {"nodes_typed_80x24", 24, 80, false, some, "app"},
    {"nodes_other_80x24", 24, 80, false, some, "new@far"},
    {"nodes_no_match_80x24", 24, 80, true, some, "zzz<Enter>"},
    {"nodes_many_80x24", 24, 80, false, many, "<PgDn><PgDn>"},
    {"nodes_none_80x24", 24, 80, false, none, ""},
    {"nodes_no_epmd_40x10", 10, 40, false, nothing_answers, ""},
};

static void pictures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const struct golden *g = &goldens[i];
        struct node_picker *p = node_picker_new();
        struct canvas c;
        canvas_init(&c, g->rows, g->cols, g->ascii);
        g->make();
        node_picker_set(p, &nodes, NOW);
        node_picker_draw(p, &c);
        keys(p, &c, g->keys);
        assert_true(picture_is_golden(&c, g->name));
        canvas_release(&c);
        node_picker_free(p);
    }
}

static void expect_picked(const char *script, const char *node, const char *connect)
{
    struct node_picker *p = node_picker_new();
    struct canvas c;

    canvas_init(&c, 24, 80, false);
    some();
    node_picker_set(p, &nodes, NOW);
    assert_int_equal(keys(p, &c, script), NODE_PICKER_PICKED);
    assert_string_equal(node_picker_picked(p)->node, node);
    assert_string_equal(node_picker_picked(p)->connect, connect);
    canvas_release(&c);
    node_picker_free(p);
}

static void picking(void **state)
{
    (void)state;
    expect_picked("<Enter>", "shop@10.1.2.3", "");
    expect_picked("<Down><Enter>", "rabbit@mq1", "");
    expect_picked("work<Enter>", "worker@mq1", "127.0.0.1:9100");
    expect_picked("bill<Enter>", "billing@fd00::17", "");
    expect_picked("new@far<Enter>", "new@far", "");
    expect_picked(" new@far:9100 <Enter>", "new@far:9100", "");
    /* a part of another name that is a whole name itself */
    expect_picked("app@web1<Enter>", "app@web1", "");
    expect_picked("app@web1<Down><Up><Enter>", "app@web1.example.org", "");
    expect_picked("worker@mq1<Enter>", "worker@mq1", "127.0.0.1:9100");
    expect_picked("zzz<BS><BS><BS><Enter>", "shop@10.1.2.3", "");
}

static void other_keys(void **state)
{
    (void)state;
    struct node_picker *p = node_picker_new();
    struct canvas c;

    canvas_init(&c, 24, 80, false);
    node_picker_draw(p, &c);
    assert_int_equal(keys(p, &c, "<Enter>"), NODE_PICKER_REDRAW);
    assert_true(picture_has(&c, "no node is selected"));
    assert_int_equal(keys(p, &c, "a@b;reboot<Enter>"), NODE_PICKER_REDRAW);
    assert_true(picture_has(&c, "no node has such a name"));
    assert_int_equal(keys(p, &c, "<C-r>"), NODE_PICKER_RELOAD);
    assert_int_equal(keys(p, &c, "<Resize>"), NODE_PICKER_REDRAW);
    assert_int_equal(keys(p, &c, "<Esc>"), NODE_PICKER_QUIT);
    assert_int_equal(keys(p, &c, "<C-c>"), NODE_PICKER_QUIT);
    assert_int_equal(node_picker_key(p, 'x' | KEY_PASTED_), NODE_PICKER_REDRAW);
    canvas_release(&c);
    node_picker_free(p);
}

static void a_reload_keeps_the_selection(void **state)
{
    (void)state;
    struct node_picker *p = node_picker_new();
    struct canvas c;

    canvas_init(&c, 24, 80, false);
    some();
    node_picker_set(p, &nodes, NOW);
    keys(p, &c, "<Down>");
    add("aaa@mq1", "", true, false, 0);
    node_choices_sort(&nodes);
    node_picker_set(p, &nodes, NOW);
    assert_int_equal(keys(p, &c, "<Enter>"), NODE_PICKER_PICKED);
    assert_string_equal(node_picker_picked(p)->node, "rabbit@mq1");
    canvas_release(&c);
    node_picker_free(p);
}

static void clicks(void **state)
{
    (void)state;
    struct node_picker *p = node_picker_new();
    struct canvas c;

    canvas_init(&c, 24, 80, false);
    some();
    node_picker_set(p, &nodes, NOW);
    node_picker_draw(p, &c);
    struct mouse m = {.row = 3, .kind = MOUSE_CLICK};
    assert_int_equal(node_picker_mouse(p, &m), NODE_PICKER_REDRAW);
    m.kind = MOUSE_DOUBLE;
    assert_int_equal(node_picker_mouse(p, &m), NODE_PICKER_PICKED);
    assert_string_equal(node_picker_picked(p)->node, "rabbit@mq1");
    m.row = 20;
    assert_int_equal(node_picker_mouse(p, &m), NODE_PICKER_NOTHING);
    canvas_release(&c);
    node_picker_free(p);
}

/* --- the file --- */

static void the_file_is_bounded_and_newest_first(void **state)
{
    (void)state;
    static struct node_choices l;
    struct buf text;

    buf_init(&text, 0);
    for (unsigned i = 0; i < 60; i++) {
        struct node_choice c = {.used_s = NOW + i};
        snprintf(c.node, sizeof c.node, "n%u@h", i % 25);
        if (i % 5 == 0)
            snprintf(c.connect, sizeof c.connect, "127.0.0.1:9100");
        memset(&l, 0, sizeof l);
        node_history_read(&l, text.data, text.len);
        buf_clear(&text);
        node_history_write(&l, &c, &text);
    }
    memset(&l, 0, sizeof l);
    node_history_read(&l, text.data, text.len);
    assert_int_equal(l.n, NODE_HISTORY_MAX);
    assert_string_equal(l.at[0].node, "n9@h");
    assert_int_equal(l.at[0].used_s, NOW + 59);
    assert_string_equal(l.at[4].connect, "127.0.0.1:9100");
    for (size_t i = 1; i < l.n; i++)
        assert_true(l.at[i].used_s < l.at[i - 1].used_s);
    buf_release(&text);
}

static void bad_lines_are_ignored(void **state)
{
    (void)state;
    static struct node_choices l;
    static const char text[] = "1800000000 a@b\nnonsense\n\n1800000000 a@b;reboot\n5 x@y z@w q\n"
                               "99999999999999999999 a@c\n0 a@d\n1800000001 e@f 127.0.0.1:9100\n"
                               "1800000001 e@g 127.0.0.1\n-5 a@h\n1800000002 last@h";

    memset(&l, 0, sizeof l);
    node_history_read(&l, text, strlen(text));
    assert_int_equal(l.n, 3);
    assert_string_equal(l.at[0].node, "a@b");
    assert_string_equal(l.at[1].node, "e@f");
    assert_string_equal(l.at[1].connect, "127.0.0.1:9100");
    assert_string_equal(l.at[2].node, "last@h");
}

/* Whatever the file has, what is written is read again as it was. */
static void any_bytes(void **state)
{
    (void)state;
    static const char some_of[] = "0123456789  \n\n@@abc.:[]\x1b\xff;";
    static struct node_choices l, again;

    for (int round = 0; round < rng_rounds(2000); round++) {
        char text[400];
        struct buf out;
        struct node_choice c = {.node = "a@b", .used_s = NOW};
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = some_of[rng_below(sizeof some_of)];
        memset(&l, 0, sizeof l);
        memset(&again, 0, sizeof again);
        node_history_read(&l, text, sizeof text);
        assert_true(l.n <= NODE_HISTORY_MAX);
        buf_init(&out, 0);
        node_history_write(&l, &c, &out);
        node_history_read(&again, out.data, out.len);
        assert_string_equal(again.at[0].node, "a@b");
        for (size_t i = 0; i < again.n; i++)
            assert_true(node_choice_name_ok(again.at[i].node));
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures),
        cmocka_unit_test(picking),
        cmocka_unit_test(other_keys),
        cmocka_unit_test(a_reload_keeps_the_selection),
        cmocka_unit_test(clicks),
        cmocka_unit_test(the_file_is_bounded_and_newest_first),
        cmocka_unit_test(bad_lines_are_ignored),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
