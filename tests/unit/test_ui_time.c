/* Screens with a time range: heat map, distribution; going back in time; typed times. */
#include "fake_snapshot.h"
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
#include <time.h>
#include <ui/spark.h>
#include <ui/time_parse.h>

#define NOW_WALL_S                                                                                 \
    UINT64_C(1795230245) /* 2026-11-21T03:04:05Z, now in the fake snapshot: second 4000 */

/* --- golden files --- */

static void fill(struct fake *f)
{
    const struct snapshot *s = fake_snap(f);
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].tier == TIER_TOTAL && !s->rows[i].ident) {
            fake_heat(f, &s->rows[i], 112, 1);
            fake_dist(f, &s->rows[i]);
        }
    }
}

static struct fake *many(void)
{
    struct fake *f = fake_many(500);
    fake_row(f, TIER_TOTAL, "_total", NULL, 1000000, 12345);
    fill(f);
    return f;
}

static struct fake *breaker_open(void)
{
    struct fake *f = fake_tripped();
    fill(f);
    return f;
}

static struct fake *no_calls(void)
{
    struct fake *f = fake_new();
    struct snap_row *r = fake_row(f, TIER_TOTAL, "_total", NULL, 0, 0);
    fake_heat(f, r, 0, 1);
    fake_dist(f, r);
    fake_snap(f)->dist.count = fake_snap(f)->dist.n = 0;
    return f;
}

static int golden(struct fake *f, int rows, int cols, bool ascii, const char *keys,
                  const char *name)
{
    struct ui *u = ui_new(NULL);
    struct canvas c;
    canvas_init(&c, rows, cols, ascii);
    script_run(u, &c, fake_snap(f), keys);
    const char *why = canvas_broken(&c);
    if (why) {
        fail_msg("%s: %s", name, why);
    }
    bool same = picture_is_golden(&c, name);
    canvas_release(&c);
    ui_free(u);
    return !same;
}

static struct fake *history(void)
{
    struct fake *f = many();
    struct snapshot *s = fake_snap(f);
    s->time.history = true;
    s->time.from_s = 3220;
    s->time.to_s = 3280;
    return f;
}

static void pictures_of_moments(void **state)
{
    (void)state;
    int wrong = 0;
    struct fake *f = history();
    wrong += golden(f, 24, 80, false, "", "past_80x24");
    wrong += golden(f, 10, 40, true, "", "past_40x10_ascii");
    fake_snap(f)->time.from_s = 3970;
    fake_snap(f)->time.to_s = 3980;
    wrong += golden(f, 24, 80, false, "H<Left><Left><Left><Up>", "heat_moment_80x24");
    wrong += golden(f, 24, 80, false, "H<Home>", "heat_home_80x24");
    fake_free(f);
    f = many();
    wrong += golden(f, 24, 80, false, "c", "window_prompt_80x24");
    wrong += golden(f, 24, 80, false, "c02:1<Enter>", "window_wrong_80x24");
    fake_snap(f)->time.asked_s = 45 * 60;
    wrong += golden(f, 24, 80, false, "", "window_45m_80x24");
    fake_free(f);
    f = no_calls();
    wrong += golden(f, 24, 80, false, "H", "heat_no_calls_80x24");
    wrong += golden(f, 24, 80, false, "D", "dist_no_calls_80x24");
    fake_free(f);
    assert_int_equal(wrong, 0);
}

/* --- keys --- */

static struct fake *fake;
static struct ui *u;
static struct canvas c;

static int setup(void **state)
{
    (void)state;
    fake = breaker_open();
    script_begin(&u, &c, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    script_end(u, &c, fake);
    return 0;
}

static struct view_query look_after(const char *keys)
{
    struct view_query l = {.window = WINDOW_1M};
    fake_snap(fake)->window = WINDOW_1M;
    script_run(u, &c, fake_snap(fake), keys);
    ui_view_query(u, fake_snap(fake), &l);
    return l;
}

/* With any other content of the header, and in any width. */
static void a_past_moment_is_always_said(void **state)
{
    (void)state;
    static const int rows[] = {5, 10, 24, 40};
    struct fake *f = history();
    struct snapshot *s = fake_snap(f);
    s->lost.target = 1234567;
    s->node.tracing = false;
    memset(s->compared, 'x', sizeof s->compared - 1);
    fake_gap(f, 10, 5, GAP_OVERLOAD);
    s->gap_s = 5;
    struct ui *own = ui_new(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int cols = 24; cols <= 160; cols++) {
            struct canvas k;
            canvas_init(&k, rows[i], cols, false);
            script_run(own, &k, s, "");
            if (!picture_has(&k, "12 min ago"))
                fail_msg("%d x %d: the time range is not shown", cols, rows[i]);
            if (cols >= 40 && !picture_has(&k, "lost 1234567"))
                fail_msg("%d x %d: lost events are not shown", cols, rows[i]);
            canvas_release(&k);
        }
    }
    ui_free(own);
    fake_free(f);
}

static void back_and_forth_by_a_window(void **state)
{
    (void)state;
    assert_int_equal(look_after("").end_s, 0);
    assert_int_equal(look_after("[").end_s, 3940);
    assert_int_equal(script_run(u, &c, fake_snap(fake), "[").kind, INTENT_VIEW_QUERY);
    assert_int_equal(look_after("]").end_s, 3940);
    assert_int_equal(look_after("]").end_s, 0);
    assert_int_equal(look_after("]").end_s, 0);
    assert_int_equal(look_after("[[[}").end_s, 0);
    for (int i = 0; i < 100; i++) { /* not beyond the history */
        look_after("[");
    }
    struct view_query l = look_after("");
    assert_in_range(l.end_s, 25 + 1, 25 + 60 + 60);
    assert_true(picture_has(&c, "no history before 01:57:50"));
    l = look_after("w"); /* the same end, another length */
    assert_int_equal(l.window, WINDOW_5M);
    assert_true(l.end_s > 0);
    assert_int_equal(look_after("zy").end_s, 0);
    look_after("www"); /* run */
    look_after("w");
    look_after("w");
}

static void the_run_has_no_moment_before(void **state)
{
    (void)state;
    struct view_query l = look_after("wwwww[");
    assert_int_equal(l.window, WINDOW_RUN);
    assert_int_equal(l.end_s, 0);
    assert_true(picture_has(&c, "this is the whole run"));
}

static void any_window_can_be_typed(void **state)
{
    (void)state;
    struct view_query l = look_after("c45m<Enter>");
    assert_int_equal(l.length_s, 45 * 60);
    assert_int_equal(l.end_s, 0);
    l = look_after("c 30 m <Enter>");
    assert_int_equal(l.length_s, 30 * 60);
    l = look_after("c02:10-02:40<Enter>"); /* now is 03:04:05 */
    assert_int_equal(l.length_s, 30 * 60);
    assert_int_equal(l.end_s, 4000 - (24 * 60 + 5));
    l = look_after("c01:00-02:00:05<Enter>"); /* the history has only a part of it */
    assert_int_equal(l.end_s, 4000 - 64 * 60);
    assert_int_equal(l.length_s, 4000 - 64 * 60 - 25);
    l = look_after("cnow<Enter>");
    assert_int_equal(l.end_s, 0);
    l = look_after("w");
    assert_int_equal(l.length_s, 0);
    l = look_after("c00:10-00:20<Enter>");
    assert_int_equal(l.end_s, 0);
    assert_true(picture_has(&c, "no history for this time"));
    look_after("<Esc>");
    l = look_after("c00:10<Enter>"); /* a single time, before the history */
    assert_int_equal(l.end_s, 0);
    assert_true(picture_has(&c, "no history for this time"));
    look_after("<Esc>");
    look_after("c4 moons<Enter>");
    assert_true(picture_has(&c, "invalid time"));
    assert_true(picture_has(&c, "4 moons"));
}

static void paused_stays_at_its_moment(void **state)
{
    (void)state;
    struct view_query l = look_after("p");
    assert_int_equal(l.end_s, 4000);
    fake_snap(fake)->time.now_s = 4100;
    assert_int_equal(look_after("H").end_s, 4000);
    assert_int_equal(look_after("").heat_end_s, 4000);
    assert_int_equal(look_after("p").end_s, 0);
}

/* The whole run has no length. The history may not go back to its start. */
static void paused_is_the_run_up_to_its_moment(void **state)
{
    (void)state;
    struct snapshot *s = fake_snap(fake);
    struct view_query l = {.window = WINDOW_RUN};
    s->window = WINDOW_RUN;
    s->time.oldest_s = 100;
    script_run(u, &c, s, "p");
    s->time.now_s = 4100;
    ui_view_query(u, s, &l);
    assert_int_equal(l.end_s, 4000);
    assert_int_equal(l.end_s - l.length_s, 100);
    script_run(u, &c, s, "p");
    ui_view_query(u, s, &l);
    assert_int_equal(l.end_s, 0);
    assert_int_equal(l.length_s, 0);
    s->time.oldest_s = s->time.now_s = 0; /* in the first second, too, 0 is not now */
    script_run(u, &c, s, "p");
    ui_view_query(u, s, &l);
    assert_int_equal(l.end_s, 1);
}

/* The reset is visible at once. The time of the pause is of seconds that no longer exist. */
static void a_reset_ends_a_pause(void **state)
{
    (void)state;
    look_after("p");
    assert_true(picture_has(&c, "PAUSED"));
    assert_int_equal(look_after("zy").end_s, 0);
    assert_false(picture_has(&c, "PAUSED"));
}

static void the_map_says_what_it_needs(void **state)
{
    (void)state;
    struct view_query l = look_after("");
    assert_false(l.heat || l.dist);
    l = look_after("H");
    assert_true(l.heat && !l.dist);
    assert_int_equal(l.tier, TIER_TOTAL);
    assert_int_equal(l.ident, IDENT_ALL);
    assert_int_equal(l.heat_cols, 92);
    assert_int_equal(l.heat_col_s, 1);
    assert_int_equal(look_after(">").heat_col_s, 2);
    assert_int_equal(look_after(">>>>>>>>>").heat_col_s, 300);
    assert_int_equal(look_after("<<<<<<<<<").heat_col_s, 1);
    assert_int_equal(look_after("[").heat_end_s, 4000 - 92);
    assert_int_equal(look_after("").end_s, 0); /* the map moves, not the time range */
    assert_int_equal(look_after("}").heat_end_s, 0);
    l = look_after("<Tab>");
    assert_true(l.tier == TIER_TOTAL && l.ident != IDENT_ALL);
    l = look_after("D<Down><Down>");
    assert_true(l.dist && !l.heat);
}

/* For any position of the map, from any screen. */
static void now_is_of_the_map_too(void **state)
{
    (void)state;
    assert_int_equal(look_after("H[").heat_end_s, 4000 - 92);
    assert_true(picture_has(&c, "EARLIER (}: now)"));
    assert_int_equal(script_run(u, &c, fake_snap(fake), "}").kind,
                     INTENT_VIEW_QUERY); /* immediately */
    assert_int_equal(look_after("").heat_end_s, 0);
    assert_false(picture_has(&c, "EARLIER"));
    assert_int_equal(look_after("H[<Esc>}H").heat_end_s, 0);
    assert_int_equal(look_after("[o}H").heat_end_s, 0); /* the table at the cursor, back to now */
    assert_int_equal(look_after("[S}H").heat_end_s, 0);
    assert_int_equal(look_after("[cnow<Enter>").heat_end_s, 0);
    fake_snap(fake)->heat.there = false; /* that of another row is being computed */
    look_after("[");
    assert_int_equal(look_after("}").heat_end_s, 0);
}

/* In the first second of a session there are no columns yet. */
static void an_empty_map_swallows_no_keys(void **state)
{
    (void)state;
    look_after("H");
    fake_snap(fake)->heat.n = 0;
    assert_int_equal(script_run(u, &c, fake_snap(fake), "t").kind, INTENT_TOGGLE);
    assert_int_equal(script_run(u, &c, fake_snap(fake), "<Left><Up><Enter>o").kind, INTENT_REDRAW);
    assert_int_equal(script_run(u, &c, fake_snap(fake), "ex<Enter>").kind, INTENT_EXPORT);
    assert_int_equal(script_run(u, &c, fake_snap(fake), "q").kind, INTENT_QUIT);
}

static void the_cursor_gives_a_moment(void **state)
{
    (void)state;
    struct view_query l = look_after("H<Left><Left>o");
    assert_false(l.heat);
    assert_int_equal(l.end_s, 3998);
    assert_int_equal(l.length_s, 1);
    assert_true(picture_has(&c, "TIER"));
    assert_int_equal(look_after("}").length_s, 0); /* `now` has its own length again */
    look_after("H<Home>");
    l = look_after("<Left>"); /* beyond the edge: the map scrolls */
    assert_int_equal(l.heat_end_s, 4000 - 46);
}

static void a_past_moment_has_its_own_slow_calls(void **state)
{
    (void)state;
    struct snapshot *s = fake_snap(fake);
    s->slow_ns = 20000000;
    look_after("S");
    assert_false(picture_has(&c, "SLOW (1)")); /* all of them */
    s->time.history = true;
    s->time.from_s = 3999;
    s->time.to_s = 4000;
    look_after("");
    assert_true(picture_has(&c, "SLOW (1)"));
    assert_true(picture_has(&c, "03:04:04"));
    s->time.from_s = 3000;
    s->time.to_s = 3001;
    look_after("");
    assert_true(picture_has(&c, "SLOW (0)"));
    assert_true(picture_has(&c, "before 02:47:26 only the slowest requests"));
    look_after("<Esc>"); /* the same in the pane of the table */
    assert_true(picture_has(&c, "before 02:47:26 only the slowest requests"));
    look_after("S/zzz<Enter>");
    assert_true(picture_has(&c, "no slow request in this time range contains this text"));
    s->time.history = false;
    look_after("");
    assert_true(picture_has(&c, "no slow request contains this text"));
}

/* The keys . and , go from event to event, also inside of a column; the line says each. */
static void the_cursor_tells_vm_events(void **state)
{
    (void)state;
    look_after("H,");
    assert_true(picture_has(&c, "no VM event in the time shown"));
    fake_snap(fake)->vm.state = VM_EVENTS_NOT_HERE;
    look_after(".");
    assert_true(picture_has(&c, "VMs report events from OTP 28 on"));
    fake_vm_events(fake);
    look_after("<Esc>H<End>");
    assert_true(
        picture_has(&c, "G 03:04:04.478 (1 of 2)  long GC of 84.0ms in <0.87.1> accounting"));
    look_after(",");
    assert_true(picture_has(&c, "S 03:04:04.468 (2 of 2)  ran for 73.0ms"));
    look_after(",");
    assert_true(picture_has(&c, "L 03:04:02.678  module loaded again: MyApp.Repo"));
    look_after("<Left>"); /* an empty column */
    assert_false(picture_has(&c, "MyApp.Repo"));
    look_after(".");
    assert_true(picture_has(&c, "MyApp.Repo"));
    look_after("..");
    assert_true(picture_has(&c, "G 03:04:04.478"));
    look_after(".");
    assert_true(picture_has(&c, "no later VM event is in sight"));
    look_after("<Home>,");
    assert_true(picture_has(&c, "no earlier VM event is in sight"));
}

static void a_waterfall_tells_vm_events(void **state)
{
    (void)state;
    look_after("S<Enter>");
    assert_false(picture_has(&c, "VM events"));
    look_after(".");
    assert_true(picture_has(&c, "no VM event in the time shown"));
    fake_vm_events(fake);
    look_after("");
    assert_true(picture_has(&c, "VM events"));
    assert_true(picture_has(&c, "G 03:04:05.698  long GC of 52.0ms"));
    look_after(".");
    assert_true(picture_has(&c, "S 03:04:05.738"));
    look_after(".");
    assert_true(picture_has(&c, "P 03:04:05.817  busy port #Port<0.5>: suspended <0.87.1>"));
    look_after(".");
    assert_true(picture_has(&c, "no later VM event during this request"));
    look_after(",,");
    assert_true(picture_has(&c, "G 03:04:05.698"));
}

/* A time filter from the heat map can be removed. */
static void esc_on_the_table_takes_the_time_off(void **state)
{
    (void)state;
    fake_snap(fake)->slow_ns = 20000000;
    look_after("H<Enter>S"); /* to the slow requests of a cell, and to the table */
    assert_true(picture_has(&c, "TIER"));
    assert_true(picture_has(&c, "in this time range (Esc: all)"));
    look_after("/db<Enter><Esc>"); /* the table's own filter first */
    assert_true(picture_has(&c, "in this time range (Esc: all)"));
    look_after("<Esc>");
    assert_false(picture_has(&c, "in this time range"));
    assert_false(picture_has(&c, "SLOW (1)"));
}

/* In a past time range, next and previous are those of the list. */
static void waterfalls_go_through_the_moment(void **state)
{
    (void)state;
    struct snapshot *s = fake_snap(fake);
    s->slow_ns = 20000000;
    s->time.history = true;
    s->time.from_s = 3999;
    s->time.to_s = 4000;
    look_after("S<Enter>");
    assert_true(picture_has(&c, " waits"));
    look_after("n");
    assert_true(picture_has(&c, "there is no older slow request"));
    s->time.history = false;
    look_after("n");
    assert_false(picture_has(&c, "there is no older slow request"));
}

static void from_a_cell_to_its_slow_calls(void **state)
{
    (void)state;
    fake_snap(fake)->slow_ns = 20000000;
    look_after("H<Enter>"); /* 03:04:04-03:04:05: one slow call ended then */
    struct view_query l = look_after("");
    assert_false(l.heat);
    assert_true(picture_has(&c, "SLOW (1)"));
    assert_true(picture_has(&c, "03:04:04"));
    look_after("<Esc><Esc>H<Home><Enter>");
    assert_true(picture_has(&c, "before 03:02:34 only the slowest requests"));
    struct snapshot *s = fake_snap(fake);
    ((struct snap_slow *)(uintptr_t)s->slow)[s->n_slow - 1].seq = 1; /* it is the only one */
    look_after("<Enter>");
    assert_true(picture_has(&c, "no call of 20.0ms or longer ended between 03:02:33 and 03:02:34"));
    s->slow_since_wall_ns = s->slow[0].wall_ns;
    look_after("<Enter>");
    assert_true(picture_has(&c, "not stored before 03:04:05: the threshold was set then"));
    fake_snap(fake)->slow_ns = 0;
    look_after("<Enter>");
    assert_true(picture_has(&c, "no slow-call threshold is set; s sets it"));
    struct intent in = script_run(u, &c, fake_snap(fake), "s30ms<Enter>"); /* here it does */
    assert_int_equal(in.kind, INTENT_SLOW);
    assert_string_equal(in.text, "30ms");
}

/* --- sparklines --- */

static void expect_spark(const float *v, size_t n, int cols, bool ascii, enum spark_by by,
                         const char *want)
{
    struct canvas k;
    struct buf got;
    canvas_init(&k, 1, 40, ascii);
    canvas_clear(&k);
    spark_draw(&k, 0, 0, cols, STYLE_NORMAL, v, n, by);
    buf_init(&got, 0);
    canvas_dump(&k, &got);
    assert_null(canvas_broken(&k));
    assert_int_equal(strncmp(got.data, want, strlen(want)), 0);
    assert_string_equal(got.data + strlen(want), "\n");
    buf_release(&got);
    canvas_release(&k);
}

static void series_in_a_few_cells(void **state)
{
    (void)state;
    static const float up[] = {0, 1, 2, 3, 4, 5, 6, 7};
    expect_spark(up, 8, 8, false, SPARK_MEAN, "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588");
    expect_spark(up, 8, 8, true, SPARK_MEAN, "_.:-=+*#");
    expect_spark(up, 8, 4, true, SPARK_MAX, ".-+#");
    expect_spark(up, 8, 20, true, SPARK_MAX, "_.:-=+*#"); /* no more cells than values */
    static const float gap[] = {0, 0, NAN, NAN, 7, NAN, -1, 7};
    expect_spark(gap, 8, 8, true, SPARK_MAX, "__  # _#");
    expect_spark(gap, 8, 4, true, SPARK_MAX, "_ ##");
    expect_spark(gap, 8, 4, true, SPARK_MEAN, "_ #=");
    static const float none[] = {NAN, NAN};
    expect_spark(none, 2, 2, true, SPARK_MAX, "");
    static const float zero[] = {0, 0};
    expect_spark(zero, 2, 2, true, SPARK_MAX, "__");
    expect_spark(zero, 2, 0, true, SPARK_MAX, "");
}

/* --- typed times --- */

static void times_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int kind;
        uint64_t length_s;
        int64_t from_s; /* to midnight of the day; now is 03:04:05 */
    } good[] = {
        {"now", TIME_NOW, 0, 0},
        {"  ", TIME_NOW, 0, 0},
        {"45m", TIME_LAST, 2700, 0},
        {" 90s ", TIME_LAST, 90, 0},
        {"3h", TIME_LAST, 10800, 0},
        {"2.5m", TIME_LAST, 150, 0},
        {"02:10-02:40", TIME_PAST, 1800, 7800},
        {"2:10 - 02:40:30", TIME_PAST, 1830, 7800},
        {"02:10", TIME_PAST, 0, 7800},
        {"03:00-", TIME_PAST, 245, 10800},
        {"03:00-now", TIME_PAST, 245, 10800},
        {"03:00-04:00", TIME_PAST, 245, 10800}, /* not later than now */
        {"23:50-00:10", TIME_PAST, 1200, -600},
        {"22:00-23:00", TIME_PAST, 3600, -7200}, /* yesterday's */
    };
    uint64_t midnight = NOW_WALL_S / 86400 * 86400;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct time_parsed p;
        char error[200] = "";
        if (!time_parse(good[i].text, NOW_WALL_S, &p, error, sizeof error)) {
            fail_msg("\"%s\": %s", good[i].text, error);
        }
        assert_int_equal(p.kind, good[i].kind);
        assert_int_equal(p.length_s, good[i].length_s);
        if (p.kind == TIME_PAST) {
            assert_int_equal((int64_t)(p.from_s - midnight), good[i].from_s);
            assert_int_equal(p.to_s, p.from_s + p.length_s);
        }
    }
}

static void times_of_another_zone(void **state)
{
    (void)state;
    struct time_parsed p;
    char error[200], text[FORMAT_BYTES];
    setenv("TZ", "XXX-05:30", 1); /* 5:30 ahead */
    tzset();
    assert_true(time_parse("08:00-08:30", NOW_WALL_S, &p, error, sizeof error));
    assert_int_equal(p.from_s, NOW_WALL_S / 86400 * 86400 + 2 * 3600 + 1800);
    format_time(NOW_WALL_S * 1000000000u, false, text);
    assert_string_equal(text, "08:34:05");
    setenv("TZ", "UTC0", 1);
    tzset();
}

static void nonsense_gets_a_sentence(void **state)
{
    (void)state;
    static const char *const bad[] = {"4 moons",
                                      "-5m",
                                      "0s",
                                      "0.2s",
                                      "4h",
                                      "24:00-25:00",
                                      "02:60",
                                      "02:10-02:4x",
                                      "02:10--",
                                      "02:10-45m",
                                      ":",
                                      "02:",
                                      "1:2:3:4",
                                      "\xff",
                                      "now-",
                                      "22:00-02:30",
                                      "45m-",
                                      "02:10-02:40 x",
                                      "1e9s",
                                      "99999999999999999999h",
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct time_parsed p;
        char error[200] = "";
        if (time_parse(bad[i], NOW_WALL_S, &p, error, sizeof error)) {
            fail_msg("\"%s\" was accepted", bad[i]);
        }
        assert_true(strlen(error) > 20);
    }
}

static void random_text_is_survived(void **state)
{
    (void)state;
    srandom((unsigned)time(NULL));
    for (int i = 0; i < 200000; i++) {
        static const char letters[] = "0123456789::--  .mhsnow\xff";
        char text[16], error[200];
        size_t n = (size_t)random() % sizeof text;
        struct time_parsed p;
        for (size_t k = 0; k < n; k++) {
            text[k] = letters[(size_t)random() % (sizeof letters - 1)];
        }
        text[n < sizeof text ? n : sizeof text - 1] = 0;
        if (time_parse(text, NOW_WALL_S, &p, error, sizeof error) && p.kind == TIME_PAST) {
            assert_true(p.from_s <= p.to_s && p.to_s <= NOW_WALL_S);
        }
    }
}

static void ages_and_lengths_are_words(void **state)
{
    (void)state;
    char text[FORMAT_BYTES];
    format_ago(34, text);
    assert_string_equal(text, "34 s ago");
    format_ago(12 * 60 + 59, text);
    assert_string_equal(text, "12 min ago");
    format_ago(72 * 60, text);
    assert_string_equal(text, "1 h 12 min ago");
    format_span(45 * 60, text);
    assert_string_equal(text, "45m");
    format_span(90, text);
    assert_string_equal(text, "90s");
    format_span(5400, text);
    assert_string_equal(text, "1h30m");
    format_span(7200, text);
    assert_string_equal(text, "2h");
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_of_moments),
        cmocka_unit_test(a_past_moment_is_always_said),
        cmocka_unit_test_setup_teardown(back_and_forth_by_a_window, setup, teardown),
        cmocka_unit_test_setup_teardown(the_run_has_no_moment_before, setup, teardown),
        cmocka_unit_test_setup_teardown(any_window_can_be_typed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reset_ends_a_pause, setup, teardown),
        cmocka_unit_test_setup_teardown(paused_stays_at_its_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(paused_is_the_run_up_to_its_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(the_map_says_what_it_needs, setup, teardown),
        cmocka_unit_test_setup_teardown(now_is_of_the_map_too, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_map_swallows_no_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(the_cursor_gives_a_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(a_past_moment_has_its_own_slow_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(the_cursor_tells_vm_events, setup, teardown),
        cmocka_unit_test_setup_teardown(a_waterfall_tells_vm_events, setup, teardown),
        cmocka_unit_test_setup_teardown(esc_on_the_table_takes_the_time_off, setup, teardown),
        cmocka_unit_test_setup_teardown(waterfalls_go_through_the_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(from_a_cell_to_its_slow_calls, setup, teardown),
        cmocka_unit_test(series_in_a_few_cells),
        cmocka_unit_test(times_are_understood),
        cmocka_unit_test(times_of_another_zone),
        cmocka_unit_test(nonsense_gets_a_sentence),
        cmocka_unit_test(random_text_is_survived),
        cmocka_unit_test(ages_and_lengths_are_words),
    };
    return cmocka_run_group_tests_name("ui_time", tests, NULL, NULL);
}
