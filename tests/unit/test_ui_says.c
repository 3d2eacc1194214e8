/* Texts on the screen: why a key has no effect, the help, the key bar, menus, prompts, the message
 * line, words for missing names. */
#include "fake_capture.h"
#include "fake_snapshot.h"
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
#include <ui/columns.h>
#include <ui/header_help.h>
#include <ui/screens.h>
#include <ui/state.h>

static struct fake *fake;
static struct ui *u;
static struct canvas c;
static struct catalog *catalog;

static int setup(void **state)
{
    (void)state;
    fake = fake_standard(12);
    script_begin(&u, &c, false);
    catalog = catalog_new();
    catalog_module(catalog, "shop_web:", "shop", false);
    for (int i = 0; i < 3; i++) {
        catalog_function(catalog, (const char *[]){"index", "show", "edit"}[i], 1, 0);
    }
    catalog_set_status(catalog, &(struct catalog_status){.state = CATALOG_WHOLE});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    script_end(u, &c, fake);
    catalog_free(catalog);
    return 0;
}

static struct intent run(const char *keys)
{
    return script_run(u, &c, fake_snap(fake), keys);
}

static void see(const char *text)
{
    if (!picture_has(&c, text)) {
        struct buf b;
        buf_init(&b, 0);
        canvas_dump(&c, &b);
        print_message("%s", b.data);
        buf_release(&b);
        fail_msg("not in the picture: %s", text);
    }
}

static void assert_intent(const char *keys, enum intent_kind kind, const char *text)
{
    struct intent in = run(keys);
    if (in.kind != kind || strcmp(in.text, text) != 0) {
        fail_msg("keys %s: intent %d \"%s\", not %d \"%s\"", keys, in.kind, in.text, kind, text);
    }
}

/* --- keys without effect --- */

static struct fake *no_tier(void)
{
    struct fake *f = fake_new();
    fake_row(f, TIER_TOTAL, "_total", NULL, 0, 0);
    return f;
}

static struct fake *one_row(void)
{
    struct fake *f = fake_new();
    fake_row(f, 0, "db", NULL, 42, 1234);
    return f;
}

static struct fake *full(void)
{
    struct fake *f = fake_standard(12);
    const struct snapshot *s = fake_snap(f);
    fake_heat(f, &s->rows[s->n_rows - 5], 90, 1);
    fake_dist(f, &s->rows[s->n_rows - 5]);
    return f;
}

static struct fake *(*const states[])(void) = {full, one_row, no_tier};

static const struct way {
    enum screen_id screen;
    const char *keys;
} ways[] = {{SCREEN_TABLE, ""},       {SCREEN_TABLE, "<Tab>"},
            {SCREEN_SLOW, "S"},       {SCREEN_WATERFALL, "S<Enter>"},
            {SCREEN_HEAT, "H"},       {SCREEN_DIST, "D"},
            {SCREEN_LOG, "M"},        {SCREEN_HELP, "?"},
            {SCREEN_PICK, "a"},       {SCREEN_ARGUMENTS, "I"},
            {SCREEN_OPEN_CALLS, "O"}, {SCREEN_INTERNALS, "#"}};

static void dump(struct buf *b)
{
    buf_init(b, 0);
    picture(&c, b);
}

/* True: the picture has changed, or there is an intent. */
static bool has_effect(const struct way *w, struct fake *shown, int key)
{
    struct buf before, after;
    struct fake *whole = full();
    u = ui_new(NULL);
    canvas_resize(&c, 30, 100);
    script_run(u, &c, fake_snap(whole), w->keys);
    assert_int_equal(u->screen, w->screen);
    ui_set_catalog(u, catalog);
    if (w->screen == SCREEN_ARGUMENTS) {
        struct capture got = fake_capture();
        ui_set_capture(u, &got);
    }
    script_run(u, &c, fake_snap(shown), "");
    u->shared.message.text[0] = 0;
    script_run(u, &c, fake_snap(shown), "");
    dump(&before);
    enum intent_kind kind = ui_key(u, key, fake_snap(shown)).kind;
    ui_draw(u, &c, fake_snap(shown));
    dump(&after);
    bool effect = kind > INTENT_REDRAW || strcmp(before.data, after.data) != 0;
    buf_release(&before);
    buf_release(&after);
    ui_free(u);
    fake_free(whole);
    return effect;
}

static void a_key_that_does_nothing_says_why(void **state)
{
    (void)state;
    int silent = 0, every = 8 / rng_rounds(8);
    ui_free(u);
    for (size_t st = 0; st < sizeof states / sizeof *states; st++) {
        struct fake *shown = states[st]();
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            for (int key = 1; key <= KEY_F1_; key = key == 126 ? KEY_UP_ : key + 1) {
                bool none = key == KEY_RESIZE_ || ((size_t)key + i) % (size_t)every != 0 ||
                            has_effect(&ways[i], shown, key);
                silent += !none;
                if (!none) {
                    print_message("state %zu, %s%s: key %x gives no message\n", st,
                                  screens_ops(ways[i].screen)->name, ways[i].keys, (unsigned)key);
                }
            }
        }
        fake_free(shown);
    }
    u = ui_new(NULL);
    assert_int_equal(silent, 0);
}

static void why_is_in_words(void **state)
{
    (void)state;
    run("J");
    see("J has no effect here: ? shows the keys");
    run("<C-x>");
    see("^X has no effect here");
    run("<Home><Up>");
    see("this is the first line");
    run("<End><Down>");
    see("this is the last line");
    run("}");
    see("this is already the present time range");
    run("<Esc>"); /* the message */
    run("<Esc>");
    see("there is no previous screen; q quits");
    run("a<C-x>");
    see("^X has no effect here: F1 shows the keys");
    run("<Esc>");
    ui_set_catalog(u, NULL);
    run("a<Tab>");
    see("no function is selected");
}

/* --- help --- */

/* the text of a row of the picture */
static void row_text(int row, char *out, size_t cap)
{
    size_t n = 0;
    for (int col = 0; col < c.cols && n + 1 < cap; col++) {
        n += (size_t)snprintf(out + n, cap - n, "%s",
                              c.cells[(size_t)row * (size_t)c.cols + (size_t)col].utf8);
    }
}

static void help_opens_at_the_keys_of_the_screen(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *title;
    } of[] = {{"?", "kprof-top: how long"},
              {"S?", "SLOW AND OPEN CALLS, WATERFALLS"},
              {"S<Enter>?", "SLOW AND OPEN CALLS, WATERFALLS"},
              {"H?", "HEAT MAP, DISTRIBUTION"},
              {"D?", "HEAT MAP, DISTRIBUTION"},
              {"O?", "SLOW AND OPEN CALLS, WATERFALLS"},
              {"U?", "PROCESSES"},
              {"F?", "FLAME GRAPH"},
              {"I?", "ARGUMENT PICKER"},
              {"a<F1>", "FUNCTION PICKER"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char top[300];
        run(of[i].keys);
        row_text(0, top, sizeof top);
        if (strncmp(top, of[i].title, strlen(of[i].title)) != 0) {
            fail_msg("%s: help begins with %s", of[i].keys, top);
        }
        enum screen_id from = u->help.from;
        run("q");
        assert_int_equal(u->screen, from); /* not to the table */
        teardown(NULL);
        setup(NULL);
    }
}

/* A capture that ends while the help is shown is shown afterwards. */
static void help_keeps_the_screen_below(void **state)
{
    (void)state;
    struct capture got = fake_capture();
    run("I?");
    ui_set_capture(u, &got);
    assert_null(got.set);
    assert_intent("q", INTENT_REDRAW, "");
    see("ARGUMENT PICKER");
    see("RULE");
}

static void help_has_every_column_and_label(void **state)
{
    (void)state;
    size_t n;
    const struct header_label *l = header_labels(&n);
    canvas_resize(&c, 280, 100);
    run("?");
    see("COLUMNS (");
    see("HEADER");
    see("  (no name) requests to which the identity rule gives no name");
    for (size_t i = 0; i < columns_n(); i++) {
        see(column_at(i)->title);
        see(column_at(i)->help);
    }
    for (size_t i = 0; i < n; i++) {
        see(l[i].label);
        see(l[i].help);
    }
}

static void help_has_two_columns_where_they_fit(void **state)
{
    (void)state;
    canvas_resize(&c, 43, 132);
    run("?");
    see("VIEW");
    see("TRACING"); /* not on the first page of one column */
    char top[400];
    row_text(0, top, sizeof top);
    assert_true(strspn(top + 66, " ") < 60); /* something is drawn in the right half */
    canvas_resize(&c, 43, 100);
    run("");
    assert_false(picture_has(&c, "TRACING"));
    canvas_resize(&c, 40, 40); /* long text continues in the next line */
    run("");
    see("change the window: 1s 10s 1m");
    see("5m 30m 60m 3h run");
}

static void help_is_searched(void **state)
{
    (void)state;
    static const char *const fits[] = {"orphans", "age of the oldest"};
    for (size_t i = 0; i < 2; i++) {
        char keys[40];
        run("?");
        assert_false(picture_has(&c, fits[i]));
        snprintf(keys, sizeof keys, "/%s<Enter>", fits[i]);
        run(keys);
        see(fits[i]);
        run("q");
    }
    run("?/exception<Enter>");
    size_t first = u->help.found;
    assert_true(first > 0);
    run("n");
    size_t second = u->help.found;
    assert_true(second > first);
    run("N");
    assert_int_equal(u->help.found, first);
    run("N"); /* wraps around */
    assert_true(u->help.found >= second);
    run("/zzzz<Enter>n");
    see("nothing here contains \"zzzz\"");
    run("<Esc>n"); /* Esc clears the search, then leaves */
    see("search first: /");
    run("<Esc>");
    see("TRACING ON");
}

/* --- the key bar --- */

static void what_is_missing_is_on_the_key_bar(void **state)
{
    (void)state;
    canvas_resize(&c, 10, 40);
    run("");
    assert_false(picture_has(&c, "I identity"));
    fake_snap(fake)->has_identity = false;
    run("");
    see("I identity");
    assert_false(picture_has(&c, "P presets"));
    fake_free(fake);
    fake = no_tier();
    run("");
    see("P presets");
    see("a add");
    canvas_resize(&c, 24, 80);
    run("");
    see("? help  q quit  P presets  a add  I identity");
    struct mouse m = {.row = 23, .col = 17, .kind = MOUSE_CLICK};
    assert_int_equal(ui_mouse(u, &m, fake_snap(fake)).kind, INTENT_PRESETS);
}

/* --- menus --- */

static void typing_in_a_menu_jumps(void **state)
{
    (void)state;
    static const char *const items[] = {"checkout", "login", "nightly_report", "quick", "jobs"};
    run("sp99<Enter>");
    see("P99\xe2\x96\xbc");
    run("sp99.<Enter>");
    see("P99.9\xe2\x96\xbc");
    run("sp99.<BS><BS>5<Enter>");
    see("P95\xe2\x96\xbc");
    run("smedian<Enter>"); /* the description is searched, too, after the names */
    see("P50\xe2\x96\xbc");
    run("szzz");
    see("no item contains \"z\"");
    run("max<Enter>");
    see("MAX\xe2\x96\xbc");
    assert_intent("Edb<Enter>", INTENT_ENTRY, "db");
    assert_intent("Enone<Enter>", INTENT_ENTRY, "none");
    run("Cerr "); /* after the state of the column */
    see("show  ERR");
    run("<Esc>");
    assert_true(ui_choose(u, INTENT_LOAD, "Load profile", items, 5));
    assert_intent("q<Enter>", INTENT_LOAD, "quick"); /* an item begins with it */
    assert_true(ui_choose(u, INTENT_LOAD, "Load profile", items, 2));
    assert_intent("q", INTENT_REDRAW, ""); /* none does: the menu closes */
    assert_false(picture_has(&c, "Load profile"));
    assert_true(ui_choose(u, INTENT_LOAD, "Load profile", items, 2));
    assert_intent("j<Enter>", INTENT_LOAD, "login");
}

static void a_menu_begins_at_the_present_choice(void **state)
{
    (void)state;
    static const char *const profiles[] = {"checkout", "login", "nightly_report"};
    static const char *const presets[] = {"cowboy     Cowboy 2", "phoenix    Phoenix"};
    run("smax<Enter>s<Down><Enter>"); /* SELF is after MAX */
    see("SELF\xe2\x96\xbc");
    run("C ");
    see("show  SELF");
    run("<Esc>");
    fake_snap(fake)->entry = 3;
    assert_intent("E<Enter>", INTENT_ENTRY, "db");
    fake_snap(fake)->has_entry = false;
    assert_intent("E<Enter>", INTENT_ENTRY, "none");
    assert_true(ui_choose(u, INTENT_LOAD, "Load profile", profiles, 3));
    run("<Down><Enter>");
    assert_true(ui_choose(u, INTENT_LOAD, "Load profile", profiles, 3));
    assert_intent("<Enter>", INTENT_LOAD, "login");
    run("Wnightly_report<Enter>");
    assert_true(ui_choose(u, INTENT_LOAD, "Load profile", profiles, 3));
    assert_intent("<Enter>", INTENT_LOAD, "nightly_report");
    assert_true(ui_choose(u, INTENT_PRESET, "Presets for this node", presets, 2));
    run("phoe<Enter>");
    assert_true(ui_choose(u, INTENT_PRESET, "Presets for this node", presets, 2));
    assert_intent("<Enter>", INTENT_PRESET, "phoenix    Phoenix");
}

/* --- the message line --- */

static bool says(const char *text)
{
    return picture_has(&c, text);
}

static void the_message_line_shows_nothing_old(void **state)
{
    (void)state;
    run("");
    see("module kv_db was loaded again"); /* shown before any key */
    ui_message(u, "written to x.txt", false);
    run("");
    see("written to x.txt");
    run("r");
    assert_false(says("written to x.txt"));
    assert_false(says("was loaded again")); /* it is older */
    fake_log(fake, "tier db is added");
    run("");
    see("tier db is added"); /* this one is not */
    run("r");
    assert_false(says("tier db is added"));
    run("M");
    see("tier db is added");
}

/* --- words --- */

static void what_has_no_name_is_named_so(void **state)
{
    (void)state;
    fake_row(fake, 6, "web", NULL, 100, 10);
    fake_row(fake, 6, "web", "undefined", 60, 10);
    fake_row(fake, 6, "web", "<other>", 40, 10);
    fake_slow(fake, "web", "undefined", 9e6, 2);
    fake_slow(fake, "web", "<other>", 8e6, 2);
    canvas_resize(&c, 60, 120);
    run("/(no<Enter>");
    see("(no name)");
    run("/(oth<Enter>");
    see("(other)");
    run("<Esc>v");
    see("(no name)");
    run("S");
    see("(no name)");
    see("(other)");
    assert_false(says("undefined") || says("<other>"));
    run("/(other)<Enter>");
    see("SLOW (1)");
    run("<Esc>O");
    see("(no name)");
}

static void how_much_is_traced_is_in_words(void **state)
{
    (void)state;
    struct snapshot *s = fake_snap(fake);
    char text[SNAPSHOT_SAMPLING_BYTES];
    canvas_resize(&c, 30, 132);
    snapshot_sampling(s, text);
    assert_string_equal(text, "every request");
    s->sample = s->sample_asked = 2;
    snapshot_sampling(s, text);
    assert_string_equal(text, "1 of 2 requests");
    s->sample_asked = 1;
    s->sample_why = SAMPLE_COST;
    run("");
    see("tracing 1 of 2 requests (limit 5 % of the node)");
    s->has_entry = false;
    s->sample = 8;
    s->sample_asked = 2;
    s->sample_why = SAMPLE_FLOOD;
    snapshot_sampling(s, text);
    assert_string_equal(text, "1 of 8 calls, requested 1 of 2 (calls arrive too fast)");
    strcpy(s->compared, "15:56:45-15:56:55");
    run("");
    see("compared with 15:56:45-15:56:55");
}

static void titles_have_no_request_numbers(void **state)
{
    (void)state;
    run("S<Enter>");
    see("read  154ms  03:04:05.678  1 of 10");
    assert_false(says("request 7000"));
}

/* --- prompts --- */

static const struct {
    const char *keys, *text; /* keys that open it, initial text */
    bool proposed;           /* typing replaces it */
    const char *typed;       /* valid text, with blanks around it */
    enum intent_kind kind;
    const char *want;
} prompts[] = {
    {"e", "kprof-top-2026-11-21-030405.txt", true, " a.csv ", INTENT_EXPORT, "a.csv"},
    {"Se", "kprof-top-slow-2026-11-21-030405.txt", true, " a.txt ", INTENT_EXPORT, "a.txt"},
    {"He", "kprof-top-heat-2026-11-21-030405.txt", true, " a.txt ", INTENT_EXPORT, "a.txt"},
    {"A", "", false, " db:get/1 ", INTENT_TIER_ADD, "db:get/1"},
    {"i", "arg(1)", false, "", INTENT_IDENTITY, "arg(1)"},
    {"W", "night", true, " day ", INTENT_SAVE, "day"},
    {"/", "read", true, "form", INTENT_REDRAW, ""},
    {"S/", "upd", true, "read", INTENT_REDRAW, ""},
    {"Ss", "20ms", true, " 30ms ", INTENT_SLOW, "30ms"},
    {"c", "", false, " 45m ", INTENT_VIEW_QUERY, ""},
};

static void open_prompt(size_t i)
{
    teardown(NULL);
    setup(NULL);
    fake_snap(fake)->slow_ns = 20000000;
    ui_set_rule(u, "arg(1)");
    strcpy(u->profile, "night");
    strcpy(u->shared.rows.filter, "read");
    strcpy(u->shared.slow.filter.text, "upd");
    run(prompts[i].keys);
    assert_int_equal(u->shared.dialog.mode, DIALOG_PROMPT);
}

static void every_prompt_is_answered_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        open_prompt(i);
        const struct prompt *p = &u->shared.dialog.prompt;
        const char *name = prompts[i].keys;
        if (strcmp(p->text, prompts[i].text) != 0 || p->caret != p->len) {
            fail_msg("%s: \"%s\", the caret at %zu", name, p->text, p->caret);
        }
        if (p->proposed != prompts[i].proposed) {
            fail_msg("%s: proposed %d", name, p->proposed);
        }
        struct intent in = run(prompts[i].typed);
        in = run("<Enter>");
        if (in.kind != prompts[i].kind || strcmp(in.text, prompts[i].want) != 0) {
            fail_msg("%s: intent %d \"%s\"", name, in.kind, in.text);
        }
        open_prompt(i);
        run("<Esc>");
        assert_int_equal(u->shared.dialog.mode, DIALOG_NONE);
    }
}

static void enter_with_nothing_typed_says_so(void **state)
{
    (void)state;
    static const char *const empty[] = {"e", "Se", "A", "W", "Ss", "c"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        teardown(NULL);
        setup(NULL);
        fake_snap(fake)->slow_ns = 20000000;
        run(empty[i]);
        assert_int_equal(run("<C-u>  <Enter>").kind == INTENT_EXPORT, false);
        see("nothing was typed, so nothing has changed");
    }
}

static void the_filter_typed_replaces_the_one_before(void **state)
{
    (void)state;
    run("/form<Enter>/pars<Enter>");
    assert_string_equal(u->shared.rows.filter, "pars");
    run("/<Enter>");
    assert_string_equal(u->shared.rows.filter, "pars");
    run("/<BS><Enter>");
    assert_string_equal(u->shared.rows.filter, "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        T(a_key_that_does_nothing_says_why),
        T(why_is_in_words),
        T(help_opens_at_the_keys_of_the_screen),
        T(help_keeps_the_screen_below),
        T(help_has_every_column_and_label),
        T(help_has_two_columns_where_they_fit),
        T(help_is_searched),
        T(what_is_missing_is_on_the_key_bar),
        T(typing_in_a_menu_jumps),
        T(a_menu_begins_at_the_present_choice),
        T(the_message_line_shows_nothing_old),
        T(what_has_no_name_is_named_so),
        T(how_much_is_traced_is_in_words),
        T(titles_have_no_request_numbers),
        T(every_prompt_is_answered_alike),
        T(enter_with_nothing_typed_says_so),
        T(the_filter_typed_replaces_the_one_before),
    };
    return cmocka_run_group_tests_name("ui says", tests, NULL, NULL);
}
