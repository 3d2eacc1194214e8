/* Every screen compared with its golden file; the lines of the table; random keys on random
 * snapshots. */
#include "fake_capture.h"
#include "fake_snapshot.h"
#include "fake_trace.h"
#include "rng.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/format.h>
#include <kprof/core/tier.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/columns.h>
#include <ui/view.h>

/* --- snapshots --- */

static struct fake *standard(void)
{
    return fake_standard(12);
}

/* The newest message is longer than a line. */
static struct fake *long_message(void)
{
    struct fake *f = standard();
    fake_log(f,
             "settings of db: the node answered in 2.1 s; web:handle/1 was not found, because no "
             "module of that name is loaded; similar: web_http:handle/2, web_https:handle/2; press "
             "a to choose a function, or d to remove the tier");
    return f;
}

static struct fake *one_row(void)
{
    struct fake *f = fake_new();
    fake_row(f, 0, "db", NULL, 42, 1234);
    return f;
}

static struct fake *many(void)
{
    return fake_many(500);
}

static struct fake *breaker_open(void)
{
    struct fake *f = fake_tripped();
    fake_snap(f)->lost.target = 8123;
    fake_gap(f, 7.25, 0, GAP_OVERLOAD);
    return f;
}

static struct fake *silent(void)
{
    struct fake *f = fake_standard(3);
    struct snap_node *n = &fake_snap(f)->node;
    n->silent_s = 12.3;
    strcpy(n->state, "NO DATA from app@host for 12 s");
    fake_gap(f, 10, 0, GAP_SILENT);
    for (size_t i = 0; i < fake_snap(f)->n_rows; i++)
        ((struct snap_row *)fake_snap(f)->rows)[i].rate = NAN;
    return f;
}

/* Rows traced for a part of the window, and one that was not traced. */
static struct fake *counted(void)
{
    struct fake *f = breaker_open();
    struct snap_row *r = fake_row(f, 6, "router", NULL, 0, 0);
    r->counted = 4200;
    r->rate = 420;
    r->note = "the node has not called it";
    fake_snap(f)->counted_s = 4.5;
    return f;
}

static struct fake *counted_closed(void)
{
    struct fake *f = counted();
    fake_snap(f)->breaker = (struct snap_breaker){.trips = 2};
    return f;
}

static struct fake *node_lost(void)
{
    struct fake *f = fake_standard(3);
    struct snap_node *n = &fake_snap(f)->node;
    n->connected = n->tracing = false;
    strcpy(n->state, "CONNECTION LOST, next try in 4 s: connection refused");
    return f;
}

static struct fake *empty_tiers(void)
{
    struct fake *f = fake_new();
    struct snap_row *r = fake_row(f, 0, "db", NULL, 0, 0);
    r->note = "no such function kv_db:qery/2; near: kv_db:query/2";
    fake_row(f, 1, "web", NULL, 0, 0);
    r = fake_row(f, 2, "log", NULL, 0, 0);
    r->note = "called only outside requests";
    r = fake_row(f, 3, "stuck", NULL, 0, 0);
    r->oldest_open_us = 61e6;
    fake_snap(f)->sample = 10;
    fake_snap(f)->node.tracing = false;
    return f;
}

/* The node samples less than the operator requested. */
static struct fake *steered(void)
{
    struct fake *f = fake_standard(3);
    struct snapshot *s = fake_snap(f);
    s->sample = 8;
    s->sample_why = SAMPLE_COST;
    s->cost.percent = 5.2;
    return f;
}

/* One request in eight is traced: RATE and the counts beside it are estimates for all requests. */
static struct fake *sampled(void)
{
    struct fake *f = steered();
    const struct snapshot *s = fake_snap(f);
    for (size_t i = 0; i < s->n_rows; i++)
        ((struct snap_row *)s->rows)[i].est_count = 8 * s->rows[i].count;
    return f;
}

/* A slow link to the node: the possible error of its times is shown. */
static struct fake *far_away(void)
{
    struct fake *f = fake_standard(3);
    fake_snap(f)->clock.error_us = 62000;
    return f;
}

/* A rule that gives too many names, after a rule with other names. */
static struct fake *names_full(void)
{
    struct fake *f = fake_new();
    fake_row(f, 0, "web", NULL, 1000, 500);
    fake_row(f, 0, "web", "<other>", 900, 500);
    fake_row(f, 0, "web", "new", 60, 500);
    fake_row(f, 0, "web", "former", 40, 500)->former = true;
    fake_snap(f)->names_full = 64;
    return f;
}

/* --- golden files --- */

static const struct golden {
    const char *name;
    int rows, cols;
    bool ascii;
    struct fake *(*make)(void); /* NULL: nothing known yet */
    const char *keys;
} goldens[] = {
    {"connecting_80x24", 24, 80, false, NULL, ""},
    {"no_tiers_80x24", 24, 80, false, fake_new, ""},
    {"no_tiers_40x10", 10, 40, true, fake_new, ""},
    {"one_row_80x24", 24, 80, false, one_row, ""},
    {"standard_80x24", 24, 80, false, standard, ""},
    {"standard_80x24_ascii", 24, 80, true, standard, ""},
    {"standard_132x43", 43, 132, false, standard, ""},
    {"standard_132x43_ascii", 43, 132, true, standard, ""},
    {"standard_200x60", 60, 200, false, standard, ""},
    {"standard_40x10", 10, 40, false, standard, ""},
    {"standard_40x10_ascii", 10, 40, true, standard, ""},
    {"standard_20x4", 4, 20, false, standard, ""},
    {"unfolded_80x24", 24, 80, false, standard, "f<End>"},
    {"fold_one_80x24", 24, 80, false, standard, "jjjjj<Enter>"},
    {"pivot_80x24", 24, 80, false, standard, "v"},
    {"pivot_132x43", 43, 132, false, standard, "v<Down><Down>"},
    {"sort_p99_132x43", 43, 132, false, standard, "s<End><Up><Up><Up><Up><Up><Up><Enter>"},
    {"sort_menu_80x24", 24, 80, false, standard, "s<Down><Down>"},
    {"sort_oldest_80x24", 24, 80, true, standard, "<"},
    {"reverse_80x24", 24, 80, false, standard, ">>r"},
    {"filter_typed_80x24", 24, 80, false, standard, "/upd"},
    {"filter_80x24", 24, 80, false, standard, "/form<Enter>"},
    {"filter_nothing_80x24", 24, 80, false, standard, "/zzz<Enter>"},
    {"many_80x24", 24, 80, false, many, ""},
    {"many_end_132x43", 43, 132, false, many, "f<End>"},
    {"breaker_open_80x24", 24, 80, false, breaker_open, ""},
    {"breaker_open_80x24_ascii", 24, 80, true, breaker_open, ""},
    {"breaker_open_40x10", 10, 40, false, breaker_open, ""},
    {"counted_132x43", 43, 132, false, counted, "f"},
    {"counted_80x24_ascii", 24, 80, true, counted, "f"},
    {"counted_closed_80x24", 24, 80, false, counted_closed, "f"},
    {"steered_80x24", 24, 80, false, steered, ""},
    {"sampled_80x24", 24, 80, false, sampled, ""},
    {"sampled_200x60", 60, 200, true, sampled, ""},
    {"far_away_100x24", 24, 100, false, far_away, ""},
    {"silent_80x24", 24, 80, false, silent, ""},
    {"silent_40x10", 10, 40, false, silent, ""},
    {"node_lost_80x24", 24, 80, false, node_lost, ""},
    {"node_lost_40x10", 10, 40, true, node_lost, ""},
    {"empty_tiers_80x24", 24, 80, false, empty_tiers, "j"},
    {"names_full_80x24", 24, 80, false, names_full, ""},
    {"hostile_80x24", 24, 80, false, fake_hostile, "f"},
    {"hostile_80x24_ascii", 24, 80, true, fake_hostile, "f"},
    {"hostile_132x43", 43, 132, false, fake_hostile, ""},
    {"hostile_slow_80x24", 24, 80, false, fake_hostile, "S"},
    {"paused_80x24", 24, 80, false, standard, "p"},
    {"slow_focus_80x24", 24, 80, false, standard, "<Tab><Down><Down>"},
    {"slow_80x24", 24, 80, false, standard, "S<Down><Down><Down><Down>"},
    {"slow_132x43_ascii", 43, 132, true, standard, "S<Down><Down><Down>"},
    {"slow_none_80x24", 24, 80, false, one_row, "S"},
    {"fall_80x24", 24, 80, false, standard, "S<Enter>"},
    {"fall_db_80x24_ascii", 24, 80, true, standard, "S<Down><Enter><Down><Down>"},
    {"fall_120x40", 40, 120, false, standard, "S<Enter><End>"},
    {"fall_40x10", 10, 40, false, standard, "S<Enter><Down>"},
    {"fall_40x10_ascii", 10, 40, true, standard, "S<Enter>"},
    {"fall_next_80x24", 24, 80, false, standard, "S<Enter>nn"},
    {"messages_80x24", 24, 80, false, standard, "M<Down>"},
    {"messages_long_80x24", 24, 80, false, long_message, "M"},
    {"messages_long_40x10", 10, 40, false, long_message, "M"},
    {"open_80x24", 24, 80, false, standard, "O<Down>"},
    {"open_none_80x24", 24, 80, false, one_row, "O"},
    {"open_40x10", 10, 40, true, standard, "O"},
    {"help_80x24", 24, 80, false, standard, "?"},
    {"help_end_80x24", 24, 80, false, standard, "?<End>"},
    {"help_132x43_ascii", 43, 132, true, standard, "?"},
    {"help_40x10", 10, 40, false, standard, "?<PgDn>"},
    {"entry_menu_80x24", 24, 80, false, standard, "E<Down>"},
    {"remove_80x24", 24, 80, false, standard, "<End>d"},
    {"export_80x24", 24, 80, false, standard, "e"},
    {"identity_80x24", 24, 80, false, standard, "i"},
};

static void draw_golden(const struct golden *g, struct canvas *c)
{
    struct fake *f = g->make ? g->make() : NULL;
    struct ui *u = ui_new("app@host");
    canvas_init(c, g->rows, g->cols, g->ascii);
    script_run(u, c, f ? fake_snap(f) : NULL, g->keys);
    ui_free(u);
    fake_free(f);
}

static void screens_are_as_their_goldens(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        struct canvas c;
        draw_golden(&goldens[i], &c);
        const char *why = canvas_broken(&c);
        if (why) {
            fail_msg("%s: %s", goldens[i].name, why);
        }
        wrong += !picture_is_golden(&c, goldens[i].name);
        canvas_release(&c);
    }
    assert_int_equal(wrong, 0);
}

static void prompts_are_as_their_goldens(void **state)
{
    (void)state;
    static const char *const items[] = {"myapp_db:close/1", "myapp_db:get/2", "myapp_db:query/2",
                                        "myapp_db:query/3", "'Elixir.MyApp.Repo':get/2"};
    struct fake *f = fake_standard(12);
    struct ui *u = ui_new(NULL);
    struct canvas c;
    int wrong = 0;
    canvas_init(&c, 24, 80, false);
    script_run(u, &c, fake_snap(f), "Adb=my");
    ui_set_completions(u, "my", items, 5);
    script_run(u, &c, fake_snap(f), "<Tab><Tab><Tab>");
    wrong += !picture_is_golden(&c, "complete_80x24");
    /* A late refusal does not close a prompt that was opened later. */
    ui_reprompt(u, INTENT_IDENTITY, "old", 0, "late");
    script_run(u, &c, fake_snap(f), "");
    assert_true(picture_has(&c, "Add tier"));
    script_run(u, &c, fake_snap(f), "<Esc>");
    ui_reprompt(u, INTENT_IDENTITY, "fun ({M,F,[A}) -> A end", 14,
                "1:15: syntax error before: '}'");
    script_run(u, &c, fake_snap(f), "");
    wrong += !picture_is_golden(&c, "rule_wrong_80x24");
    script_run(u, &c, fake_snap(f), "<Esc>");
    ui_ask_overwrite(u, "kprof-top.txt");
    script_run(u, &c, fake_snap(f), "");
    wrong += !picture_is_golden(&c, "overwrite_80x24");
    script_run(u, &c, fake_snap(f), "n");
    ui_message(u, "written to kprof-top.txt", false);
    script_run(u, &c, fake_snap(f), "");
    wrong += !picture_is_golden(&c, "message_80x24");
    canvas_release(&c);
    ui_free(u);
    fake_free(f);
    assert_int_equal(wrong, 0);
}

/* --- the header --- */

static void too_many_names_have_a_cure(void **state)
{
    struct fake *f = fake_standard(0);
    struct ui *u = ui_new(NULL);
    struct canvas c;

    (void)state;
    canvas_init(&c, 24, 80, true);
    struct snapshot *s = fake_snap(f);
    script_run(u, &c, s, "");
    assert_false(picture_has(&c, "names are in use"));
    s->names_full = 64;
    script_run(u, &c, s, "j");
    assert_true(picture_has(
        &c, "all 64 names are in use, the rest is (other); n: path or shape, I: new rule"));
    s->names_full = 0;
    script_run(u, &c, s, "j");
    assert_false(picture_has(&c, "names"));
    struct snap_row *rows = calloc(40, sizeof *rows);
    char name[40][16];
    for (size_t i = 0; i < 40; i++) {
        snprintf(name[i], sizeof name[i], "/item/%zu", i);
        rows[i] = (struct snap_row){.tier = TIER_TOTAL,
                                    .tier_name = "_total",
                                    .ident = i ? name[i] : NULL,
                                    .ident_n = (uint16_t)(i ? 1 + i : IDENT_ALL),
                                    .count = i ? i < 30 ? 1 : 5 : 79};
    }
    struct snapshot once = *s;
    once.rows = rows;
    once.n_rows = 40;
    script_run(u, &c, &once, "j"); /* of 39 names 29 have one call */
    assert_false(picture_has(&c, "most of them with one call"));
    for (size_t i = 30; i < 35; i++)
        rows[i].count = 1;
    script_run(u, &c, &once, "j");
    assert_true(
        picture_has(&c, "39 names, most of them with one call; n: path or shape, I: new rule"));
    once.window_s = 1;
    script_run(u, &c, &once, "j");
    assert_false(picture_has(&c, "most of them with one call"));
    free(rows);
    canvas_release(&c);
    ui_free(u);
    fake_free(f);
}

/* --- bold --- */

/* The rows with a bold cell in the columns [from, to) of the table, as bits; and whether all bold
 * cells are there. */
static unsigned bold_rows(const struct canvas *c, int from, int to, bool *elsewhere)
{
    unsigned rows = 0;
    *elsewhere = false;
    for (int row = 3; row < 13; row++) { /* below the titles */
        for (int col = 0; col < c->cols; col++) {
            bool bold = c->cells[row * c->cols + col].style == STYLE_BOLD;
            bool here = col >= from && col < to;
            rows |= bold && here ? 1u << (row - 3) : 0;
            *elsewhere |= bold && !here;
        }
    }
    return rows;
}

/* Bold is independent of other styles: tier, error, selected. Equal values and single values are
 * not bold. */
static void bold_is_the_slowest_and_nothing_else(void **state)
{
    (void)state;
    struct fake *f = fake_new();
    struct ui *u = ui_new(NULL);
    struct canvas c;
    bool elsewhere;
    canvas_init(&c, 24, 60, true);
    fake_row(f, 0, "web", NULL, 90000, 700);
    fake_row(f, 0, "web", "read", 90000, 900);
    script_run(u, &c, fake_snap(f), "");
    assert_int_equal(bold_rows(&c, 0, 60, &elsewhere), 0);
    fake_row(f, 0, "web", "write", 90000, 300);
    fake_row(f, 1, "db", NULL, 80000, 500);
    fake_row(f, 1, "db", "read", 80000, 500);
    fake_row(f, 1, "db", "write", 80000, 900); /* the identity of web is the slowest */
    fake_row(f, TIER_TOTAL, "_total", NULL, 80000, 5000);
    script_run(u, &c, fake_snap(f), "");
    assert_true(picture_has(&c, "_total"));
    /* 0 _total; 1 web, 2 read, 3 write; 4 db, 5 read, 6 write (by count) */
    unsigned rows = bold_rows(&c, 24, 60, &elsewhere);
    assert_int_equal(rows, 1u << 1 | 1u << 2 | 1u << 6);
    assert_false(elsewhere);
    canvas_release(&c);
    ui_free(u);
    fake_free(f);
}

/* --- argument picker --- */

static const struct {
    const char *name;
    int rows, cols;
    bool ascii;
    enum { FAKE_CALLS, FAKE_HOSTILE, FAKE_RUNNING, FAKE_FAILED } what;
    const char *keys;
} points[] = {
    {"point_80x24", 24, 80, false, FAKE_CALLS, "jj"},
    {"point_80x24_ascii", 24, 80, true, FAKE_CALLS, "jjj"},
    {"point_120x40", 40, 120, false, FAKE_CALLS, "jjj<"},
    {"point_120x40_ascii", 40, 120, true, FAKE_CALLS, "<End>kkkn"},
    {"point_40x10", 10, 40, false, FAKE_CALLS, "jj"},
    {"point_40x10_ascii", 10, 40, true, FAKE_CALLS, "jjj<"},
    {"point_map_80x24", 24, 80, false, FAKE_CALLS, "jjjj<Enter>"},
    {"point_edit_80x24", 24, 80, false, FAKE_CALLS, "jji"},
    {"point_hostile_80x24", 24, 80, false, FAKE_HOSTILE, "<End>"},
    {"point_hostile_40x10_ascii", 10, 40, true, FAKE_HOSTILE, "<End>"},
    {"point_running_80x24", 24, 80, false, FAKE_RUNNING, ""},
    {"point_running_40x10", 10, 40, true, FAKE_RUNNING, ""},
    {"point_failed_80x24", 24, 80, false, FAKE_FAILED, "jn<i"},
};

static struct capture point_capture(int what)
{
    struct capture c = {.state = CAPTURE_RUNNING, .kept = 7, .seen = 7};

    if (what == FAKE_CALLS)
        return fake_capture();
    if (what == FAKE_HOSTILE)
        return fake_capture_hostile();
    strcpy(c.function, "my_web:handle/2");
    if (what == FAKE_FAILED) {
        c.state = CAPTURE_FAILED;
        strcpy(c.why, "the function was not called within 5 s");
    }
    return c;
}

static void pointing_is_as_its_goldens(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        struct fake *f = fake_standard(3);
        struct ui *u = ui_new(NULL);
        struct capture got = point_capture(points[i].what);
        struct canvas c;
        canvas_init(&c, points[i].rows, points[i].cols, points[i].ascii);
        script_run(u, &c, fake_snap(f), "I");
        ui_set_capture(u, &got);
        assert_null(got.set);
        script_run(u, &c, fake_snap(f), points[i].keys);
        const char *why = canvas_broken(&c);
        if (why) {
            fail_msg("%s: %s", points[i].name, why);
        }
        wrong += !picture_is_golden(&c, points[i].name);
        canvas_release(&c);
        ui_free(u);
        fake_free(f);
    }
    assert_int_equal(wrong, 0);
}

/* --- values --- */

static void figures_are_short(void **state)
{
    (void)state;
    char s[FORMAT_BYTES];
    static const uint64_t counts[] = {0, 9999999, 10000000, 999499999, 999500000, UINT64_MAX};
    for (size_t i = 0; i < 6; i++) {
        format_count(counts[i], s);
        assert_in_range(strlen(s), 1, 7);
    }
    format_count(12345678, s);
    assert_string_equal(s, "12.3M");
    for (double x = 0; x < 1e15; x = x * 1.7 + 0.001) {
        format_rate(x, s);
        assert_in_range(strlen(s), 1, 6);
        format_us(x, s);
        assert_in_range(strlen(s), 1, 7);
    }
    format_rate(NAN, s);
    assert_string_equal(s, "-");
    format_us(-1, s);
    assert_string_equal(s, "-");
    format_us(INFINITY, s);
    assert_string_equal(s, "-");
    format_share(0.4204, s);
    assert_string_equal(s, "42.0%");
    snapshot_pid(7ull << 32 | 123, s);
    assert_string_equal(s, "<0.123.7>");
    format_bytes(512ull << 20, s);
    assert_string_equal(s, "512M");
    format_time(1795230245678000000ull, true, s);
    assert_string_equal(s, "03:04:05.678");
}

/* --- columns --- */

static bool chosen(const struct column_set *set, size_t i)
{
    for (size_t j = 0; j < set->n; j++) {
        if (set->index[j] == i) {
            return true;
        }
    }
    return false;
}

static void columns_fit_and_go_by_priority(void **state)
{
    (void)state;
    for (int cols = 1; cols < 260; cols++) {
        for (size_t always = 0; always <= columns_n(); always++) {
            struct column_set set;
            struct column_choice w = {.sorted = always < columns_n() ? always : SIZE_MAX};
            columns_choose(&set, cols, 24, &w);
            int used = set.name_cols;
            for (size_t j = 0; j < set.n; j++) {
                used += column_at(set.index[j])->width + 1;
                assert_true(j == 0 || set.index[j] > set.index[j - 1]);
            }
            assert_true(set.n == 0 || used <= cols);
            assert_true(always == columns_n() || cols < 24 || chosen(&set, always));
        }
    }
    struct column_set all;
    struct column_choice w = {.sorted = SIZE_MAX, .compared = true, .mailbox = true, .parts = true};
    columns_choose(&all, 260, 24, &w);
    assert_int_equal(all.n, columns_n());
    int seen[COLUMNS_MAX + 1] = {0};
    for (size_t i = 0; i < columns_n(); i++) {
        if (column_at(i)->priority == 0) {
            continue; /* shown whenever it has values */
        }
        assert_in_range(column_at(i)->priority, 1, columns_n());
        assert_int_equal(seen[column_at(i)->priority]++, 0);
    }
}

/* Columns that the operator chose come first, hidden ones never; only such a choice changes a
 * column. */
static void columns_as_wished(void **state)
{
    (void)state;
    for (int cols = 1; cols < 260; cols++) {
        for (size_t i = 0; i < columns_n(); i++) {
            struct column_set set;
            struct column_choice w = {.sorted = SIZE_MAX};
            bool change = column_at(i)->kind == COLUMN_CHANGE;
            w.state[i] = COLUMN_HIDE;
            columns_choose(&set, cols, 10, &w);
            assert_false(chosen(&set, i));
            w.state[i] = COLUMN_SHOW;
            columns_choose(&set, cols, 10, &w);
            assert_true(change ? !chosen(&set, i)
                               : cols < 13 + column_at(i)->width || chosen(&set, i));
            w.compared = true;
            columns_choose(&set, cols, 10, &w);
            assert_true(cols < 13 + column_at(i)->width || chosen(&set, i));
        }
    }
}

/* --- lines --- */

static double value_of(const struct line *l, int sort)
{
    return column_value(column_at((size_t)(sort - SORT_COLUMN)), l->row);
}

static bool in_order(const struct line *a, const struct line *b, const struct view_opts *o)
{
    if (o->sort == SORT_NAME) {
        int d = strcmp(a->label, b->label);
        return o->reverse ? d >= 0 : d <= 0;
    }
    if (o->sort == SORT_ORDER) {
        return o->pivot || (o->reverse ? a->row > b->row : a->row < b->row);
    }
    double d = value_of(a, o->sort) - value_of(b, o->sort);
    return o->reverse ? d <= 0 : d >= 0;
}

/* Every row occurs once, each group after its head, the pinned group first, heads and siblings in
 * order. */
static void check_view(const struct view *v, const struct snapshot *s, const struct view_opts *o)
{
    assert_int_equal(v->n, s->n_rows);
    const struct line *head = NULL;
    for (size_t i = 0; i < v->n; i++) {
        const struct line *l = &v->lines[i];
        assert_non_null(l->row);
        assert_int_equal(view_find(v, l->key), i);
        if (l->head) {
            assert_true(!l->pinned || i == 0);
            assert_true(!head || head->pinned || in_order(head, l, o));
            head = l;
        } else {
            assert_int_equal(l->group, head->group);
            assert_true(v->lines[i - 1].head || in_order(&v->lines[i - 1], l, o));
        }
    }
}

static void lines_are_sorted_trees(void **state)
{
    (void)state;
    struct fake *f = fake_standard(0);
    struct snapshot *s = fake_snap(f);
    struct folds none = {.all = false};
    for (int i = 0; i < 4 * (SORT_COLUMN + (int)columns_n()); i++) {
        struct view_opts o = {
            .pivot = i & 1, .reverse = i & 2, .sort = i / 4, .filter = "", .folds = &none};
        struct view v;
        view_build(&v, s, &o);
        check_view(&v, s, &o);
        view_release(&v);
    }
    fake_free(f);
}

static void folding_hides_only_that_group(void **state)
{
    (void)state;
    struct fake *f = fake_standard(0);
    struct folds folds = {.all = false};
    struct view_opts o = {.filter = "", .folds = &folds};
    struct view v;
    folds_flip(&folds, 3);
    view_build(&v, fake_snap(f), &o);
    assert_int_equal(v.n, 26);
    assert_int_equal(v.unfolded, 30);
    view_release(&v);
    o.filter = "creat"; /* a filter also searches folded groups */
    view_build(&v, fake_snap(f), &o);
    assert_int_equal(v.n, 12);
    view_release(&v);
    o.filter = "DB";
    view_build(&v, fake_snap(f), &o);
    assert_int_equal(v.n, 5);
    view_release(&v);
    folds_release(&folds);
    fake_free(f);
}

static void without_total_rows_groups_still_have_heads(void **state)
{
    (void)state;
    struct fake *f = fake_new();
    fake_row(f, 2, "web", "a", 5, 10);
    fake_row(f, 1, "db", "b", 5, 20);
    fake_row(f, 2, "web", "c", 5, 30);
    struct folds none = {.all = false};
    for (int pivot = 0; pivot < 2; pivot++) {
        struct view_opts o = {.pivot = pivot, .filter = "", .folds = &none};
        struct view v;
        view_build(&v, fake_snap(f), &o);
        assert_int_equal(v.n, pivot ? 6 : 5);
        assert_true(v.lines[0].head && !v.lines[0].row);
        assert_string_equal(v.lines[0].label, pivot ? "a" : "web");
        view_release(&v);
    }
    fake_free(f);
}

/* --- random --- */

static unsigned rnd(unsigned n)
{
    return (unsigned)rng_below(n);
}

static int random_key(void)
{
    static const int special[] = {'\n',     27,       '\t',   ' ', 1,      2,     5,       6,
                                  11,       21,       23,     127, 0x65e5, 0x301, 0x1f600, 0x202e,
                                  0x10ffff, 0x110000, 0xd800, -1,  0,      '\r'};
    switch (rnd(4)) {
    case 0:
        return KEY_NONE_ + (int)rnd(KEY_F1_ - KEY_NONE_ + 1);
    case 1:
        return special[rnd(sizeof special / sizeof *special)];
    case 2:
        return "aAwsvtrfEidyzpe/<>SM?ynjkhlgGHD[]}co"[rnd(36)];
    default:
        return ' ' + (int)rnd(95);
    }
}

/* All answers that app may give at any time, with hostile texts. */
static void random_answer(struct ui *u, const char *typed, struct catalog *more)
{
    static const char *const bad[] = {"",
                                      "\x1b[31m\xff",
                                      "db=x:y/1",
                                      "a\xe6\x97\xa5:f/1",
                                      "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
                                      "m:f/1",
                                      "m:g/2"};
    const char *items[7];
    for (size_t i = 0; i < 7; i++) {
        items[i] = bad[rnd(7)];
    }
    switch (rnd(11)) {
    case 9: {
        struct full_now now = {.state = (enum full_stage)rnd(FULL_NOT_CAUGHT + 1)};
        snprintf(now.what, sizeof now.what, "%s", bad[rnd(7)]);
        ui_set_full(u, &now);
        break;
    }
    case 10: {
        struct stack_profile *p;
        struct call_tree *t = fake_trace(rnd(4) == 0, rnd(2), &p);
        ui_set_full_result(u, t, p);
        break;
    }
    case 7:
        ui_set_presets(u, bad[rnd(7)]);
        break;
    case 8:
        ui_set_suggested(u, bad[rnd(7)]);
        break;
    case 0:
        ui_message(u, bad[rnd(7)], rnd(2));
        break;
    case 1:
        ui_ask_overwrite(u, bad[rnd(7)]);
        break;
    case 2:
        ui_reprompt(u, rnd(INTENT_STACK), bad[rnd(7)], rnd(40), bad[rnd(7)]);
        break;
    case 3:
        catalog_module(more, bad[rnd(7)], bad[rnd(7)], rnd(2));
        catalog_function(more, bad[rnd(7)], rnd(256), rnd(2));
        ui_set_catalog(u, rnd(8) ? more : NULL);
        break;
    default:
        ui_set_completions(u, typed, items, rnd(8));
    }
}

static void vary(struct fake *f)
{
    struct snapshot *s = fake_snap(f);
    s->node.connected = rnd(5);
    s->breaker.state = (enum breaker_state)rnd(3);
    s->window = (enum window)rnd(WINDOW_COUNT);
    s->has_identity = rnd(4);
    s->has_entry = rnd(4);
    s->lost.ring = rnd(2) * 12345678901ull;
    s->ring_fill = rnd(3) ? 0.5 : NAN;
    s->lag_ms = rnd(3) ? 3 : INFINITY;
    s->node.scheduler_use = rnd(3) ? 0.9 : -1;
    s->n_slow = s->n_slow ? rnd((unsigned)s->n_slow + 1) : 0;
    s->n_rows = s->n_rows && rnd(3) == 0 ? rnd((unsigned)s->n_rows + 1) : s->n_rows;
    if (s->n_rows) {
        struct snap_row *r = (struct snap_row *)(uintptr_t)&s->rows[rnd((unsigned)s->n_rows)];
        r->p99_us = rnd(2) ? NAN : 1e300;
        r->rate = rnd(2) ? -1 : INFINITY;
        r->count = rnd(2) ? 0 : UINT64_MAX;
        r->note = rnd(2) ? "why it is empty\x1b[2J" : NULL;
    }
}

static struct fake *random_fake(void)
{
    switch (rnd(6)) {
    case 0:
        return fake_new();
    case 1:
        return fake_hostile();
    case 2:
        return fake_many(rnd(300));
    case 3:
        return empty_tiers();
    default:
        return fake_standard(rnd(65));
    }
}

static void one_random_life(void)
{
    struct fake *f = random_fake();
    bool ascii = rnd(2);
    struct catalog *more = catalog_new();
    struct ui *u = ui_new("x\x1b@y");
    struct canvas c;
    canvas_init(&c, 24, 80, ascii);
    c.shades = !ascii && rnd(2);
    for (int i = 0; i < 150; i++) {
        if (rnd(15) == 0) {
            canvas_resize(&c, (int)rnd(70), (int)rnd(220));
        }
        if (rnd(20) == 0) {
            fake_free(f);
            f = random_fake();
        }
        vary(f);
        const struct snapshot *s = rnd(12) ? fake_snap(f) : NULL;
        struct intent in = ui_key(u, random_key(), s);
        assert_in_range(in.kind, 0, INTENT_FULL_END);
        assert_true(memchr(in.text, 0, sizeof in.text) != NULL);
        if (in.kind == INTENT_CAPTURE) {
            struct capture got = point_capture((int)rnd(4));
            ui_set_capture(u, &got);
            assert_null(got.set);
        }
        if (rnd(8) == 0 || in.kind == INTENT_COMPLETE) {
            random_answer(u, in.text, more);
        }
        ui_draw(u, &c, s);
        const char *why = canvas_broken(&c);
        if (why) {
            fail_msg("step %d: %s", i, why);
        }
    }
    canvas_release(&c);
    ui_free(u);
    catalog_free(more);
    fake_free(f);
}

static void random_keys_never_break_the_picture(void **state)
{
    (void)state;
    rng_seed();
    for (int i = 0; i < rng_rounds(60); i++) {
        one_random_life();
    }
}

/* With two columns a line is half as long. */
static void headings_of_help_are_whole(void **state)
{
    struct ui *u;
    struct canvas c;
    struct fake *f = fake_standard(3);

    (void)state;
    script_begin(&u, &c, false);
    canvas_resize(&c, 40, 116);
    script_run(u, &c, fake_snap(f), "?/VM events<Enter>");
    assert_true(picture_has(&c, "VM EVENTS (line VM of heat map and waterfall;"));
    assert_true(picture_has(&c, "OTP 28 and later)"));
    canvas_resize(&c, 40, 40);
    script_run(u, &c, fake_snap(f), "n"); /* the same place again */
    assert_true(picture_has(&c, "VM EVENTS (line VM of heat map and"));
    script_end(u, &c, f);
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_short),
        cmocka_unit_test(columns_fit_and_go_by_priority),
        cmocka_unit_test(columns_as_wished),
        cmocka_unit_test(lines_are_sorted_trees),
        cmocka_unit_test(folding_hides_only_that_group),
        cmocka_unit_test(without_total_rows_groups_still_have_heads),
        cmocka_unit_test(screens_are_as_their_goldens),
        cmocka_unit_test(prompts_are_as_their_goldens),
        cmocka_unit_test(too_many_names_have_a_cure),
        cmocka_unit_test(bold_is_the_slowest_and_nothing_else),
        cmocka_unit_test(pointing_is_as_its_goldens),
        cmocka_unit_test(headings_of_help_are_whole),
        cmocka_unit_test(random_keys_never_break_the_picture),
    };
    return cmocka_run_group_tests_name("ui", tests, NULL, NULL);
}
