/* Keys and the intents that they give; the table of keys. */
#include "fake_capture.h"
#include "fake_snapshot.h"
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
#include <ui/prompt.h>
#include <ui/screens.h>
#include <ui/state.h>

static struct fake *fake;
static struct ui *u;
static struct canvas c;

static int setup(void **state)
{
    (void)state;
    fake = fake_standard(12);
    script_begin(&u, &c, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    script_end(u, &c, fake);
    return 0;
}

static struct intent run(const char *keys)
{
    return script_run(u, &c, fake_snap(fake), keys);
}

static void assert_intent(const char *keys, enum intent_kind kind, const char *text)
{
    struct intent in = run(keys);
    if (in.kind != kind || strcmp(in.text, text) != 0) {
        fail_msg("keys %s: intent %d \"%s\", not %d \"%s\"", keys, in.kind, in.text, kind, text);
    }
}

/* --- single keys --- */

static void without_tiers_keys_say_how_to_get_some(void **state)
{
    (void)state;
    fake_free(fake);
    fake = fake_new();
    fake_row(fake, TIER_TOTAL, "_total", NULL, 0, 0);
    for (const char *k = "Idy"; *k; k++) {
        assert_intent((char[2]){*k}, INTENT_REDRAW, "");
        assert_true(picture_has(&c, "no tiers yet: press a to add some"));
        run("<Esc>");
    }
}

static void plain_keys_give_their_intents(void **state)
{
    (void)state;
    assert_intent("q", INTENT_QUIT, "");
    assert_intent("t", INTENT_TOGGLE, "");
    assert_intent(" ", INTENT_TOGGLE, "");
    assert_intent("+", INTENT_SAMPLE_UP, "");
    assert_intent("-", INTENT_SAMPLE_DOWN, "");
    assert_intent("j", INTENT_REDRAW, "");
    assert_intent("L", INTENT_PROFILES, "");
    assert_intent("n", INTENT_TEMPLATE, "");
    assert_intent("Wnight<Enter>", INTENT_SAVE, "night");
    assert_intent("x", INTENT_REDRAW, ""); /* a message says that it has no function */
    assert_intent("<Resize>", INTENT_REDRAW, "");
}

/* Two calls of one process are two lines; the answer to an older request is not shown. */
static void an_open_call_shows_its_stack(void **state)
{
    (void)state;
    struct snapshot *s = fake_snap(fake);
    run("O");
    for (size_t i = 0; i < s->n_open; i++) {
        struct intent in = run("<Enter>");
        assert_int_equal(in.kind, INTENT_STACK);
        assert_int_equal(in.pid, s->open[i].pid);
        run("<Down>");
    }
    ui_set_stack(u, 1, "wrong:one/0\n", false);
    ui_set_stack(u, s->open[2].pid, "kv_db:wait/2 (kv_db.erl:12)\ngen:loop/7\n", false);
    run("j");
    assert_true(picture_has(&c, "kv_db:wait/2 (kv_db.erl:12)") && picture_has(&c, "gen:loop/7"));
    assert_false(picture_has(&c, "wrong:one/0"));
    ui_set_stack(u, s->open[2].pid, "", true);
    run("k");
    assert_true(picture_has(&c, "is dead"));
}

static void windows_go_round(void **state)
{
    (void)state;
    struct snapshot *s = fake_snap(fake); /* window 10s; unchanged, because core answers late */
    for (unsigned i = 1; i <= 2 * WINDOW_COUNT; i++) {
        struct intent in = ui_key(u, 'w', s);
        assert_int_equal(in.kind, INTENT_WINDOW);
        assert_int_equal(in.window, (WINDOW_10S + i) % WINDOW_COUNT);
    }
}

static void before_the_first_snapshot_keys_are_harmless(void **state)
{
    (void)state;
    for (int key = 1; key < 127; key++) {
        struct ui *v = ui_new(NULL);
        struct intent in = ui_key(v, key, NULL);
        assert_true(in.kind != INTENT_WINDOW && in.kind != INTENT_TIER_REMOVE);
        ui_draw(v, &c, NULL);
        assert_false(ui_is_paused(v));
        assert_null(canvas_broken(&c));
        ui_free(v);
    }
}

static void pause_is_said_and_taken_back(void **state)
{
    (void)state;
    run("p");
    assert_true(ui_is_paused(u));
    assert_true(picture_has(&c, "PAUSED"));
    run("p");
    assert_false(ui_is_paused(u));
    assert_false(picture_has(&c, "PAUSED"));
}

/* --- selection --- */

/* The tier of the selected row, found with a key that needs it. */
static int selected_tier(void)
{
    struct intent in = ui_key(u, 'y', fake_snap(fake));
    return in.kind == INTENT_WHY ? in.tier : -1;
}

static void arrows_and_letters_move_alike(void **state)
{
    (void)state;
    run("<End>");
    assert_int_equal(selected_tier(), 4);
    run("k<Up>");
    assert_int_equal(selected_tier(), 2);
    run("j<Down>");
    assert_int_equal(selected_tier(), 4);
    run("<Home>");
    assert_int_equal(selected_tier(), -1);
    assert_true(picture_has(&c, "TIER"));
    run("G");
    assert_int_equal(selected_tier(), 4);
    run("g<PgDn><PgDn><PgDn>");
    assert_int_equal(selected_tier(), 4);
    run("<PgUp><PgUp><PgUp>");
    assert_int_equal(selected_tier(), -1);
}

static void selection_stays_with_its_row(void **state)
{
    (void)state;
    run("f<End>kkkkkkkk"); /* an identity of db */
    int tier = selected_tier();
    assert_int_equal(tier, 3);
    run("s<End><Up><Up><Up><Up><Up><Enter>"); /* sorted by P99: another order */
    assert_int_equal(selected_tier(), tier);
    run("r");
    assert_int_equal(selected_tier(), tier);
    run("vf");
    assert_int_equal(selected_tier(), tier);
    run("v");
    assert_int_equal(selected_tier(), tier);
    run("f"); /* folded: its tier is selected instead */
    assert_int_equal(selected_tier(), tier);
    run("f/delete<Enter>");
    run("<Esc>");
    fake_free(fake);
    fake = fake_standard(2);
    fake_row(fake, 9, "new", NULL, 5, 1e6);
    run("r");
    assert_true(selected_tier() >= 0);
}

/* The tiers and their P99; 0: the tier is not there. */
static int selected_of(unsigned a_us, unsigned b_us, unsigned c_us)
{
    const unsigned us[] = {a_us, b_us, c_us};
    static const char *const name[] = {"a", "b", "c"};
    fake_free(fake);
    fake = fake_new();
    for (unsigned i = 0; i < 3; i++) {
        if (us[i]) {
            fake_row(fake, i, name[i], NULL, 100, us[i]);
        }
    }
    fake_row(fake, TIER_TOTAL, "_total", NULL, 300, 1);
    ui_draw(u, &c, fake_snap(fake));
    const struct snap_row *r = rows_selected(&u->shared.rows, fake_snap(fake));
    return r ? r->tier : -1;
}

/* The row that takes its place is then the selected one, wherever it goes. */
static void a_lost_row_leaves_one_selected(void **state)
{
    (void)state;
    selected_of(100, 200, 300);
    run("sP99<Enter><Down>");
    assert_int_equal(selected_of(100, 200, 300), 2);
    assert_int_equal(selected_of(100, 200, 0), 1);
    assert_int_equal(selected_of(200, 100, 0), 1);
    assert_int_equal(selected_of(200, 100, 300), 1);
    run("/a"); /* a filter hides it */
    assert_int_equal(selected_of(200, 100, 300), 0);
    run("<Esc>");
    assert_int_equal(selected_of(100, 200, 300), 0);
    assert_int_equal(selected_of(0, 0, 0), TIER_TOTAL);
}

/* Paths, and functions with their modules, differ at the end. */
static void long_names_are_told_apart(void **state)
{
    (void)state;
    canvas_resize(&c, 24, 80);
    fake_row(fake, 6, "shop_checkout_controller", NULL, 100, 10);
    fake_row(fake, 6, "shop_checkout_controller", "GET /api/v1/shops/1/orders/new", 50, 10);
    fake_row(fake, 6, "shop_checkout_controller", "GET /api/v1/shops/1/orders/all", 50, 10);
    run("/orders<Enter>");
    assert_true(picture_has(&c, "ders/new"));
    assert_true(picture_has(&c, "ders/all"));
    fake_slow(fake, "shop_checkout_controller", "GET /api/v1/shops/1/orders/new", 90000, 0);
    run("S<End>");
    assert_true(picture_has(&c, "s/new"));
}

static void selection_survives_an_empty_table(void **state)
{
    (void)state;
    run("<End>");
    struct fake *none = fake_new();
    ui_key(u, 'j', fake_snap(none));
    ui_draw(u, &c, fake_snap(none));
    fake_free(none);
    run("k");
    assert_int_equal(selected_tier(), 3); /* the row was there again and selected; then one up */
}

/* --- folding --- */

static void enter_folds_and_unfolds(void **state)
{
    (void)state;
    canvas_resize(&c, 60, 100); /* everything fits: nothing is folded automatically */
    run("");
    assert_true(picture_has(&c, "\xe2\x96\xbe db"));
    run("<End>kkkkkkkkk<Enter>"); /* db */
    assert_true(picture_has(&c, "\xe2\x96\xb8 db"));
    run("<Enter>");
    assert_true(picture_has(&c, "\xe2\x96\xbe db"));
    run("h");
    assert_true(picture_has(&c, "\xe2\x96\xb8 db"));
    run("l");
    assert_true(picture_has(&c, "\xe2\x96\xbe db"));
    run("lh"); /* to the first identity, and back to the tier */
    assert_true(picture_has(&c, "\xe2\x96\xbe db"));
    run("h");
    assert_true(picture_has(&c, "\xe2\x96\xb8 db"));
    run("f");
    assert_true(picture_has(&c, "\xe2\x96\xb8 handle"));
    run("f");
    assert_true(picture_has(&c, "\xe2\x96\xbe handle"));
}

static void what_does_not_fit_is_folded_until_a_hand_folds(void **state)
{
    (void)state;
    canvas_resize(&c, 24, 80);
    run("");
    assert_true(picture_has(&c, "\xe2\x96\xbe _total"));
    assert_true(picture_has(&c, "\xe2\x96\xb8 accounting"));
    canvas_resize(&c, 60, 80);
    run("");
    assert_true(picture_has(&c, "\xe2\x96\xbe accounting"));
    canvas_resize(&c, 24, 80);
    run("<Down><Down><Down><Down><Down><Right>"); /* unfold parsing */
    assert_true(picture_has(&c, "\xe2\x96\xbe parsing"));
    assert_true(picture_has(&c, "\xe2\x96\xb8 handle"));
}

/* --- sorting, filter --- */

static void sort_keys_go_through_all_columns(void **state)
{
    (void)state;
    canvas_resize(&c, 30, 60); /* most columns do not fit, but the sort column must be visible */
    run("");
    assert_false(picture_has(&c, "OLDEST"));
    run("<");
    assert_true(picture_has(&c, "OLDEST\xe2\x96\xbc"));
    run("r");
    assert_true(picture_has(&c, "OLDEST\xe2\x96\xb2"));
    run(">>");
    assert_true(picture_has(&c, "TIER\xe2\x96\xb2"));
    run(">");
    assert_true(picture_has(&c, "COUNT\xe2\x96\xbc"));
}

static void filter_is_live_and_esc_clears(void **state)
{
    (void)state;
    run("/form");
    assert_true(picture_has(&c, "formatter"));
    assert_false(picture_has(&c, "\xe2\x96\xb8 parsing"));
    run("<Enter>");
    assert_false(picture_has(&c, "\xe2\x96\xb8 parsing"));
    run("<Esc>");
    assert_true(picture_has(&c, "\xe2\x96\xb8 parsing"));
    run("/FORM<Esc>");
    assert_true(picture_has(&c, "\xe2\x96\xb8 parsing"));
    assert_intent("/q<Enter>", INTENT_REDRAW, ""); /* q is text here */
}

/* --- pasted text --- */

static struct intent paste(const char *text)
{
    struct intent last = {.kind = INTENT_NONE};
    for (int key; (key = script_key(&text));) {
        last = ui_key(u, key | KEY_PASTED_, fake_snap(fake));
        assert_true(last.kind == INTENT_REDRAW || last.kind == INTENT_COMPLETE);
    }
    ui_draw(u, &c, fake_snap(fake));
    return last;
}

static void a_pasted_newline_is_a_blank(void **state)
{
    (void)state;
    run("i");
    paste("\nweb:handle/1\r\n\t\telement(1,\033[2J\narg(1))\n");
    assert_intent("<Enter>", INTENT_IDENTITY, "web:handle/1 element(1,[2J arg(1))");
    run("/");
    paste("form\n");
    assert_true(picture_has(&c, "formatter"));
    assert_false(picture_has(&c, "\xe2\x96\xb8 parsing")); /* like typed text */
    run("<Esc>A");
    assert_int_equal(paste("db:get/1").kind, INTENT_COMPLETE);
    paste("\n");
    assert_intent("<Enter>", INTENT_TIER_ADD, "db:get/1");
    run("ip");
    paste("\nq");
    assert_intent("<C-u><Enter>", INTENT_IDENTITY, "");
}

/* As keys, q quits, z resets, e and y export and overwrite; not in pasted text. */
static void elsewhere_a_paste_does_nothing(void **state)
{
    (void)state;
    static const char *const where[] = {"", "S", "H", "D", "O", "M", "?", "s", "C", "<End>d", "I"};
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        struct buf before, after;
        buf_init(&before, 0);
        buf_init(&after, 0);
        run(where[i]);
        canvas_dump(&c, &before);
        paste("q\nzey\n+-twpIdvfr\033 ");
        assert_true(strcmp(where[i], "?") == 0 || picture_has(&c, "pasted text is ignored here") ||
                    picture_has(&c, "y/n"));
        run("<Resize>");
        canvas_dump(&c, &after);
        size_t n = (before.len < after.len ? before.len : after.len) / 2;
        before.data[n] = after.data[n] = 0; /* above the message */
        if (strcmp(where[i], "I") != 0)     /* the second line has the message */
            assert_string_equal(before.data, after.data);
        buf_release(&before);
        buf_release(&after);
        teardown(NULL);
        setup(NULL);
    }
}

/* --- dialogs --- */

static void adding_a_tier_completes_and_submits(void **state)
{
    (void)state;
    static const char *const items[] = {"db_a:get/1", "db_a:put/2"};
    assert_intent("A", INTENT_COMPLETE, "");
    assert_intent("db", INTENT_COMPLETE, "db");
    ui_set_completions(u, "d", items, 2); /* an answer too late */
    run("");
    assert_false(picture_has(&c, "db_a:get/1"));
    ui_set_completions(u, "db", items, 2);
    run("");
    assert_true(picture_has(&c, "db_a:get/1"));
    assert_intent("<Tab>", INTENT_COMPLETE, "db_a:"); /* their common prefix */
    ui_set_completions(u, "db_a:", items, 2);
    assert_intent("<Tab><Tab>", INTENT_REDRAW, "");
    assert_intent("<Enter>", INTENT_TIER_ADD, "db_a:put/2");
}

static void a_name_before_the_function_is_kept(void **state)
{
    (void)state;
    static const char *const items[] = {"m:f/1", "m:g/1"}, *const whole[] = {"x=m:f/1"};
    assert_intent("Ax=m", INTENT_COMPLETE, "m");
    ui_set_completions(u, "m", items, 2);
    assert_intent("<Down><Down><Enter>", INTENT_TIER_ADD, "x=m:g/1");
    run("Ax=");
    ui_set_completions(u, "", whole, 1);
    assert_intent("<Tab>", INTENT_COMPLETE, "m:f/1");
    assert_intent("<Enter>", INTENT_TIER_ADD, "x=m:f/1");
    assert_intent("A<Enter>", INTENT_COMPLETE, ""); /* nothing typed, nothing added */
}

static void removing_a_tier_is_asked(void **state)
{
    (void)state;
    assert_intent("<End>d", INTENT_REDRAW, "");
    assert_intent("n", INTENT_REDRAW, "");
    struct intent in = run("dxy");
    assert_int_equal(in.kind, INTENT_TIER_REMOVE);
    assert_int_equal(in.tier, 4);
    assert_intent("<Home>d", INTENT_REDRAW, ""); /* not _total */
    assert_true(picture_has(&c, "select a tier"));
}

/* No data is lost. A tier without calls only in this window is different. */
static void an_empty_tier_goes_without_a_question(void **state)
{
    (void)state;
    fake_row(fake, 6, "never", NULL, 0, 0);
    struct intent in = run("<End>d");
    assert_int_equal(in.kind, INTENT_TIER_REMOVE);
    assert_int_equal(in.tier, 6);
    assert_true(picture_has(&c, "tier never is removed: it had no calls"));
    fake_row(fake, 7, "earlier", NULL, 0, 0)->run_count = 5;
    assert_int_equal(run("<End>d").kind, INTENT_REDRAW);
    assert_true(picture_has(&c, "Remove tier earlier"));
    run("n");
    fake_row(fake, 8, "open", NULL, 0, 0)->oldest_open_us = 3;
    assert_int_equal(run("<End>d").kind, INTENT_REDRAW);
    run("n");
    fake_row(fake, 9, "counted", NULL, 0, 0)->counted = 3;
    assert_int_equal(run("<End>d").kind, INTENT_REDRAW);
}

static void forgetting_all_figures_is_asked(void **state)
{
    (void)state;
    assert_intent("z", INTENT_REDRAW, "");
    assert_true(picture_has(&c, "Reset all statistics"));
    assert_intent("n", INTENT_REDRAW, "");
    assert_intent("z<Esc>", INTENT_REDRAW, "");
    assert_intent("zxz<Enter>", INTENT_REDRAW, ""); /* only y confirms */
    assert_intent("y", INTENT_ZERO, "");
    assert_intent("Szy", INTENT_ZERO, "");
}

static void entry_is_picked_from_the_tiers(void **state)
{
    (void)state;
    assert_intent("E<Down><Down><Down><Enter>", INTENT_ENTRY, "db");
    assert_intent("E<End><Enter>", INTENT_ENTRY, "none");
    assert_intent("E<Esc>", INTENT_REDRAW, "");
}

/* Names may be equal; if there is room, the function is shown beside. */
static void functions_stand_beside_their_tiers(void **state)
{
    (void)state;
    struct snap_row *r = fake_row(fake, 6, "index", NULL, 100, 10);
    r->tier_mfa = "ShopWeb.OrderController.index/2";
    r = fake_row(fake, 7, "UserController.index", NULL, 100, 10);
    r->tier_mfa = "ShopWeb.UserController.index/2\033[2J";
    fake_dist(fake, r);
    run("<End>d");
    assert_true(
        picture_has(&c, "Remove tier UserController.index (ShopWeb.UserController.index/2"));
    assert_true(picture_has(&c, "and its statistics? y/n"));
    run("nE");
    assert_true(picture_has(&c, "index                   ShopWeb.OrderController.index/2"));
    assert_true(picture_has(&c, "UserController.index    ShopWeb.UserController.index/2"));
    assert_intent("<End><Up><Enter>", INTENT_ENTRY, "UserController.index");
    run("D");
    assert_true(picture_has(&c, "UserController.index  ShopWeb.UserController.index/2"));
    canvas_resize(&c, 24, 50); /* no room: existing text is not shortened */
    run("");
    assert_false(picture_has(&c, "ShopWeb"));
    run("<Esc>d");
    assert_true(picture_has(&c, "Remove tier UserController.index and its"));
    run("nE");
    assert_false(picture_has(&c, "ShopWeb"));
    assert_intent("<End><Up><Up><Enter>", INTENT_ENTRY, "index");
}

static void identity_rule_is_typed_and_remembered(void **state)
{
    (void)state;
    assert_intent("ielement(1,arg(1))<Enter>", INTENT_IDENTITY, "element(1,arg(1))");
    assert_intent("i<Enter>", INTENT_IDENTITY, "element(1,arg(1))");
    assert_intent("i<C-u><Enter>", INTENT_IDENTITY, "");
    ui_reprompt(u, INTENT_IDENTITY, "fun (X -> X end", 7, "syntax error before: '->'");
    run("");
    assert_true(picture_has(&c, "syntax error before"));
    assert_int_equal(c.cursor_col, (int)strlen("Identity rule: ") + 7);
    assert_intent(")<Enter>", INTENT_IDENTITY, "fun (X )-> X end");
}

/* The node refuses a rule: Esc discards it. Later edits and messages are about the rule in use. */
static void a_refused_rule_is_discarded(void **state)
{
    (void)state;
    ui_set_rule(u, "path(arg(1))");
    assert_intent("i<C-u>garbage<Enter>", INTENT_IDENTITY, "garbage");
    ui_reprompt(u, INTENT_IDENTITY, "garbage", 7, "syntax error");
    run("<Esc>");
    assert_intent("i<Enter>", INTENT_IDENTITY, "path(arg(1))");
    assert_intent("i<C-u>late<Enter>", INTENT_IDENTITY, "late");
    run("s"); /* another dialog is open when the answer comes */
    ui_reprompt(u, INTENT_IDENTITY, "late", 4, "syntax error");
    run("<Esc>i");
    assert_true(picture_has(&c, "Identity rule: late"));
    run("<Esc>i");
    assert_true(picture_has(&c, "Identity rule: path(arg(1))"));
    run("<Esc>");
}

static void the_rule_in_force_is_edited(void **state)
{
    (void)state;
    char longer[PROMPT_BYTES + 1];
    ui_set_rule(u, "web:handle/1 element(1, arg(1))");
    assert_intent("i<Enter>", INTENT_IDENTITY, "web:handle/1 element(1, arg(1))");
    ui_set_rule(u, "fun ({M, F, [X]}) ->\n\t  X;\r\n (_) -> $\\\" end\n");
    assert_intent("i<Enter>", INTENT_IDENTITY, "fun ({M, F, [X]}) -> X; (_) -> $\\\" end ");
    ui_set_rule(u, "a % to the end");
    assert_intent("i<Enter>", INTENT_IDENTITY, "a % to the end");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    const char *const never[] = {longer, "% why\n{a}", "{\"a\nb\"}", "{'a\\'\nb'}", "{$\n}"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        ui_set_rule(u, never[i]);
        assert_intent("i<Enter>", INTENT_REDRAW, ""); /* no prompt, which would truncate it */
        run("i");
        assert_true(picture_has(&c, "edit it in a profile"));
    }
    longer[PROMPT_BYTES - 1] = 0; /* one byte less fits */
    ui_set_rule(u, longer);
    assert_intent("i<Enter>", INTENT_IDENTITY, longer);
    longer[PROMPT_BYTES - 1] = 'x';
    ui_reprompt(u, INTENT_IDENTITY, longer, 3, "it is wrong"); /* no part of it is offered */
    run("");
    assert_true(picture_has(&c, "it is wrong"));
    assert_false(picture_has(&c, "Identity rule"));
    ui_set_rule(u, "");
    assert_intent("i<Enter>", INTENT_IDENTITY, "");
}

/* A late menu opens only on its screen, and not over another dialog. */
static void a_late_menu_takes_nothing_over(void **state)
{
    (void)state;
    static const char *const items[] = {"cowboy     Cowboy 2", "phoenix    Phoenix"};
    static const char *const busy[] = {"Pafun", "PE", "PAx", "PS", "PH", "Pa"};
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        run(busy[i]);
        assert_false(ui_choose(u, INTENT_PRESET, "Presets for this node", items, 2));
        run("");
        assert_false(picture_has(&c, "Presets for this node"));
        run("<Esc><Esc>");
    }
    assert_intent("P", INTENT_PRESETS, "");
    assert_true(ui_choose(u, INTENT_PRESET, "Presets for this node", items, 2));
    assert_intent("<Down><Enter>", INTENT_PRESET, "phoenix    Phoenix");
    assert_intent("SL", INTENT_PROFILES, ""); /* profiles can be loaded on any screen */
    assert_true(ui_choose(u, INTENT_LOAD, "Load profile", items, 2));
}

/* Items that come later, in another order, do not move the cursor to another preset. */
static void a_menu_is_brought_up_to_date(void **state)
{
    (void)state;
    static const char *const items[] = {"cowboy     Cowboy 2", "rabbitmq   RabbitMQ", "suggested"};
    static const char *const counted[] = {"rabbitmq   900/s  RabbitMQ", "suggested",
                                          "cowboy       2/s  Cowboy 2"};
    run("P");
    ui_choose_again(u, INTENT_PRESET, "With calls/s", counted, 3); /* there is no menu */
    run("");
    assert_false(picture_has(&c, "With calls/s"));
    assert_true(ui_choose(u, INTENT_PRESET, "Presets for this node", items, 3));
    ui_choose_again(u, INTENT_LOAD, "Load profile", counted, 3); /* another menu */
    ui_choose_again(u, INTENT_PRESET, "With calls/s", counted, 3);
    run("");
    assert_true(picture_has(&c, "With calls/s") && !picture_has(&c, "Load profile"));
    assert_intent("<Enter>", INTENT_PRESET, "cowboy       2/s  Cowboy 2");
    run("P");
    assert_true(ui_choose(u, INTENT_PRESET, "Presets for this node", items, 3));
    run("su");
    ui_choose_again(u, INTENT_PRESET, "With calls/s", counted, 3);
    run("");
    assert_true(picture_has(&c, "With calls/s   find: su"));
    assert_intent("<Up><Enter>", INTENT_PRESET, "rabbitmq   900/s  RabbitMQ");
}

/* Each line has a checkbox; the lines left out are reported by position. */
static void lines_are_ticked_and_left_out(void **state)
{
    (void)state;
    static const char *const items[] = {"entry web", "tier  db", "names requests by path"};
    run("");
    assert_true(ui_tick(u, INTENT_SUGGESTED, "Suggested", items, 3));
    run("");
    assert_true(picture_has(&c, "[x] entry web") && picture_has(&c, "[x] names requests"));
    run("<Down> ");
    assert_true(picture_has(&c, "[ ] tier  db"));
    assert_intent("<Down><Tab><Tab><Up><Enter>", INTENT_SUGGESTED, "101");
    assert_true(ui_tick(u, INTENT_SUGGESTED, "Suggested", items, 3)); /* all ticked again */
    assert_false(ui_tick(u, INTENT_SUGGESTED, "Suggested", items, 3));
    assert_intent("<Enter>", INTENT_SUGGESTED, "111");
    assert_true(ui_tick(u, INTENT_SUGGESTED, "Suggested", items, 3));
    run("<Esc>");
    assert_false(picture_has(&c, "[x] entry web"));
}

static void what_is_typed_replaces_the_proposed_name(void **state)
{
    (void)state;
    assert_intent("ex.json<Enter>", INTENT_EXPORT, "x.json");
    assert_intent("e<BS>x<Enter>", INTENT_EXPORT, "x");
    assert_intent("e<Del>x<Enter>", INTENT_EXPORT, "x");
    assert_intent("e<End><BS><BS><BS>csv<Enter>", INTENT_EXPORT, "kprof-top-2026-11-21-030405.csv");
    assert_intent("e<Home>my-<Enter>", INTENT_EXPORT, "my-kprof-top-2026-11-21-030405.txt");
    run("e");
    paste("\nall.csv\n");
    assert_intent("<Enter>", INTENT_EXPORT, "all.csv");
    ui_reprompt(u, INTENT_EXPORT, "x.jsn", SIZE_MAX, "unknown extension"); /* it is edited */
    run("");
    assert_int_equal(c.cursor_col, (int)strlen("Export to file: x.jsn"));
    assert_intent("<BS>on<Enter>", INTENT_EXPORT, "x.json");
}

/* A refused text is edited at its end. */
static void a_refused_text_has_the_caret_behind_it(void **state)
{
    (void)state;
    ui_reprompt(u, INTENT_SLOW, "5 moons", SIZE_MAX, "it is not a duration");
    assert_intent("<BS><BS><BS><BS><BS>ms<Enter>", INTENT_SLOW, "5 ms");
}

/* The export of a screen stays the same when the name is requested again. */
static void an_export_is_of_its_screen(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *name;
        bool slow_only, picture;
    } of[] = {{"e<Enter>", "kprof-top-2026-11-21-030405.txt", false, false},
              {"Se<Enter>", "kprof-top-slow-2026-11-21-030405.txt", true, false},
              {"He<Enter>", "kprof-top-heat-2026-11-21-030405.txt", false, true}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct intent in = run(of[i].keys);
        for (int again = 0; again < 3; again++) {
            assert_int_equal(in.kind, INTENT_EXPORT);
            assert_string_equal(in.text, of[i].name);
            assert_int_equal(in.slow_only, of[i].slow_only);
            assert_int_equal(in.picture, of[i].picture);
            if (again == 0) {
                ui_reprompt(u, INTENT_EXPORT, in.text, SIZE_MAX, "another");
                in = run("<Enter>");
            } else if (again == 1) {
                ui_ask_overwrite(u, in.text);
                in = run("y");
            }
        }
        run("<Esc>");
    }
}

static void export_asks_for_a_name_and_before_overwriting(void **state)
{
    (void)state;
    assert_intent("e<Enter>", INTENT_EXPORT, "kprof-top-2026-11-21-030405.txt");
    struct intent in = run("e<C-u>my file.txt<Enter>");
    assert_int_equal(in.kind, INTENT_EXPORT);
    assert_false(in.force);
    assert_string_equal(in.text, "my file.txt");
    ui_ask_overwrite(u, in.text);
    run("");
    assert_true(picture_has(&c, "my file.txt exists"));
    in = run("y");
    assert_int_equal(in.kind, INTENT_EXPORT);
    assert_true(in.force);
    assert_string_equal(in.text, "my file.txt");
    ui_ask_overwrite(u, in.text);
    assert_intent("n", INTENT_REDRAW, "");
    assert_intent("q", INTENT_QUIT, "");
}

static void messages_go_with_the_next_key(void **state)
{
    (void)state;
    ui_message(u, "written to x.txt\x1b[2J", false);
    run("");
    assert_true(picture_has(&c, "written to x.txt"));
    run("x");
    assert_false(picture_has(&c, "written to x.txt"));
}

/* --- screens --- */

static void every_screen_opens_and_closes(void **state)
{
    (void)state;
    run("?");
    assert_true(picture_has(&c, "how long each layer takes"));
    run("q"); /* closes the help, does not quit */
    assert_true(picture_has(&c, "TRACING ON"));
    run("S");
    assert_true(picture_has(&c, "TOTAL"));
    run("S");
    assert_true(picture_has(&c, "_total"));
    run("M");
    assert_true(picture_has(&c, "MESSAGES (3)"));
    run("<Esc>");
    assert_true(picture_has(&c, "_total"));
    run("<Tab><Down><Enter>");
    assert_true(picture_has(&c, "create  77.2ms"));
    assert_intent("t", INTENT_TOGGLE, "");
    run("<Esc>");
    assert_intent("q", INTENT_QUIT, "");
}

static void selected_slow_call_stays_when_new_ones_come(void **state)
{
    (void)state;
    run("S<Down><Down>");
    assert_true(picture_has(&c, "update  51.4ms"));
    struct snapshot s = *fake_snap(fake);
    s.slow++; /* two newer ones arrive: the cursor stays at its line */
    s.n_slow--;
    struct snapshot older = s;
    ui_draw(u, &c, &older);
    assert_true(picture_has(&c, "update  51.4ms"));
    run("<Home>");
    ui_draw(u, &c, &older); /* at the top, the cursor follows the newest */
    assert_true(picture_has(&c, "create  77.2ms"));
}

/* The one that takes its place stays selected, too. */
static void a_lost_slow_call_leaves_one_selected(void **state)
{
    (void)state;
    struct snapshot s = *fake_snap(fake);
    run("S<Down><Down>");
    uint64_t gone = u->shared.slow.seq, next = s.slow[3].seq;
    assert_int_equal(s.slow[2].seq, gone);
    struct snap_slow left[2] = {s.slow[1], s.slow[3]};
    s.slow = left;
    s.n_slow = 2;
    ui_draw(u, &c, &s);
    assert_int_equal(u->shared.slow.seq, next);
    run("");
    ui_draw(u, &c, fake_snap(fake));
    assert_int_equal(u->shared.slow.seq, next);
    assert_int_equal(u->shared.slow.at.sel, 3);
}

static void the_table_shows_the_newest_slow_requests(void **state)
{
    (void)state;
    run("S<End><Esc>");
    assert_true(picture_has(&c, "03:04:05.678"));
    run("S");
    assert_true(picture_has(&c, "03:04:05.678"));
}

static void slow_calls_are_filtered(void **state)
{
    (void)state;
    run("S/upd");
    assert_true(picture_has(&c, "with \"upd\" (Esc: all)"));
    assert_true(picture_has(&c, "update"));
    assert_false(picture_has(&c, "create"));
    run("<Enter><Down><Down><Down><Down><Down>");
    assert_true(picture_has(&c, "SLOW (3)"));
    assert_true(picture_has(&c, "update  14.0ms"));
    struct intent in = run("e<C-u>calls.txt<Enter>");
    assert_int_equal(in.kind, INTENT_EXPORT);
    assert_true(in.slow_only);
    assert_string_equal(in.text, "calls.txt");
    assert_string_equal(in.filter.text, "upd");
    ui_ask_overwrite(u, "calls.txt");
    in = run("y");
    assert_true(in.force && in.slow_only);
    assert_string_equal(in.filter.text, "upd");
    run("/zzz<Enter>");
    assert_true(picture_has(&c, "SLOW (0)"));
    run("<Down><Esc>");
    assert_true(picture_has(&c, "SLOW (12)"));
    run("<Esc>");
    assert_true(picture_has(&c, "_total"));
    in = run("e<C-u>all.txt<Enter>");
    assert_false(in.slow_only);
    run("<Tab>/upd<Enter>"); /* also in the pane; the names of the table stay */
    assert_true(picture_has(&c, "with \"upd\"") && picture_has(&c, "create"));
}

static void a_slow_call_opens_its_waterfall(void **state)
{
    (void)state;
    run("S<Enter>");
    assert_true(picture_has(&c, "read  154ms"));
    assert_true(picture_has(&c, "LATE: 2 calls"));
    assert_true(picture_has(&c, "waiting for db of <0.124.0>"));
    run("n");
    assert_true(picture_has(&c, "create  77.2ms"));
    run("nnN");
    assert_true(picture_has(&c, "update  51.4ms"));
    run("nn"); /* 7004 has not ended */
    assert_true(picture_has(&c, "create  25.7ms"));
    run("NNNNNNN");
    assert_true(picture_has(&c, "read  154ms"));
    assert_true(picture_has(&c, "this is the newest slow request"));
    run("<End><Down><Home><Down><Down>");
    assert_true(picture_has(&c, "db of <0.124.0>: self"));
    run("nn<Esc>"); /* the selection of the list has moved, too */
    assert_true(picture_has(&c, "update  51.4ms"));
    run("<Home><Down><Down><Down><Down><Enter>");
    assert_true(picture_has(&c, "its request has not ended yet"));
    run("/upd<Enter><Home><Enter>");
    assert_true(picture_has(&c, "update  51.4ms"));
    run("n"); /* only those that match the filter */
    assert_true(picture_has(&c, "update  22.0ms"));
    struct snapshot none = *fake_snap(fake);
    none.n_slow_traces = 0; /* newer ones have removed it while it was shown */
    ui_draw(u, &c, &none);
    assert_true(picture_has(&c, "update  22.0ms"));
    assert_true(picture_has(&c, "no longer stored: visible until you leave"));
    ui_key(u, 'n', &none);
    ui_key(u, KEY_DOWN_, &none);
    ui_key(u, 27, &none);
    ui_key(u, '\n', &none);
    ui_draw(u, &c, &none);
    assert_true(picture_has(&c, "of this request are no longer stored"));
}

/* Functions that the selected function calls can be added to explain its self time; Esc returns. */
static void a_waterfall_offers_what_is_called(void **state)
{
    (void)state;
    run("S<Enter><Down><Down>");
    struct intent in = run("a");
    assert_int_equal(in.kind, INTENT_CALLEES);
    assert_int_equal(in.tier, 3);
    assert_true(picture_has(&c, "ADD TIERS: called by db"));
    struct catalog *catalog = catalog_new();
    struct catalog_status st = {.state = CATALOG_WHOLE,
                                .modules = 1,
                                .modules_done = 1,
                                .note = "functions that m:f/1 calls"};
    catalog_module(catalog, "pgo:", "pgo", CATALOG_LIBRARY);
    catalog_function(catalog, "query", 2, true);
    catalog_set_status(catalog, &st);
    ui_set_catalog(u, catalog);
    in = run("<C-r>"); /* the same again */
    assert_int_equal(in.kind, INTENT_CALLEES);
    assert_int_equal(in.tier, 3);
    ui_set_catalog(u, catalog);
    run("<Down>");
    assert_true(picture_has(&c, "functions that m:f/1 calls: 1"));
    assert_int_equal(run("<Esc>").kind, INTENT_CATALOG_CLOSE);
    assert_true(picture_has(&c, "read  154ms"));
    run("aquery");
    ui_set_catalog(u, catalog);
    assert_int_equal(run("<Enter>").kind, INTENT_PICKED);
    assert_string_equal(ui_picked(u, 0), "pgo:query/2");
    assert_true(picture_has(&c, "_total"));
    assert_int_equal(run("a").kind, INTENT_CATALOG); /* from the table: all functions */
    assert_false(picture_has(&c, "called by"));
    run("<Esc>");
    ui_set_catalog(u, NULL);
    catalog_free(catalog);
}

static void the_threshold_is_typed(void **state)
{
    (void)state;
    fake_snap(fake)->slow_ns = 20000000;
    run("Ss");
    assert_true(picture_has(&c, "Slow-call threshold (P99 is "));
    assert_intent("<Enter>", INTENT_SLOW, "20ms");
    assert_intent("s<C-u>1500us<Enter>", INTENT_SLOW, "1500us");
    assert_intent("s<C-u>off<Enter>", INTENT_SLOW, "off");
    assert_intent("s<C-u><Enter>", INTENT_REDRAW, "");
    run("<Esc><Tab>s");
    assert_true(picture_has(&c, "Slow-call threshold (P99 is "));
    run("<Esc><Esc>s");
    assert_true(picture_has(&c, "Sort by"));
}

/* Enter leaves it as it is. */
static void any_threshold_is_proposed_exactly(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } of[] = {{500, "500ns"}, {999999, "999999ns"},   {1500, "1500ns"},       {1500000, "1500us"},
              {1000, "1us"},  {1000001, "1000001ns"}, {1500000000, "1500ms"}, {2000000000, "2s"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fake_snap(fake)->slow_ns = of[i].ns;
        assert_intent("Ss<Enter>", INTENT_SLOW, of[i].text);
        run("<Esc>");
    }
}

/* Without a threshold the present P99 is offered: Enter accepts it, typing replaces it. */
static void the_present_p99_is_offered(void **state)
{
    (void)state;
    fake_snap(fake)->slow_ns = 0;
    run("Ss");
    assert_true(picture_has(&c, "Slow-call threshold (P99 is 46.8 ms): "));
    assert_true(picture_has(&c, "Enter: 46ms"));
    assert_intent("<Enter>", INTENT_SLOW, "46ms");
    assert_intent("s30ms<Enter>", INTENT_SLOW, "30ms");
    assert_intent("/db<Enter>", INTENT_REDRAW, ""); /* the offer is only for that prompt */
    assert_intent("e<C-u><Enter>", INTENT_REDRAW, "");
}

/* Sorted by each column in both directions: the first line is selected; its tiers are below the
 * list. */
static void slow_requests_are_sorted(void **state)
{
    (void)state;
    static const char *const first[][2] = {
        {"read  154ms", "delete  12.9ms"},    /* time */
        {"create  77.2ms", "update  14.0ms"}, /* identity */
        {"read  154ms", "create  12.3ms"},    /* took */
        {"read  154ms", "delete  12.9ms"},    /* tier: the same for all */
        {"read  154ms", "create  12.3ms"},    /* self: not known for open requests */
        {"read  154ms", "create  12.3ms"},    /* its share */
        {"read  154ms", "delete  12.9ms"},    /* process */
    };
    run("S");
    for (size_t i = 0; i < 8; i++) {
        for (size_t reverse = 0; reverse < 2; reverse++) {
            if (!picture_has(&c, first[i % 7][reverse]))
                fail_msg("column %zu, reverse %zu", i % 7, reverse);
            run("r");
        }
        run(">");
    }
    run("<<<"); /* the sort column: from IDENTITY back to TIME, PROCESS, and the share */
    run("r");
    assert_true(picture_has(&c, "create  12.3ms"));
}

static void line_under(const char *title, char *out, size_t cap)
{
    struct buf text;
    buf_init(&text, 0);
    picture(&c, &text);
    buf_addch(&text, 0);
    const char *at = strstr(text.data, title);
    assert_non_null(at);
    at += strcspn(at, "\n") + 1;
    snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
    buf_release(&text);
}

/* Four requests, newest first; each column puts another one at the top. */
static void each_column_sorts_slow_requests_by_its_values(void **state)
{
    (void)state;
    static const struct {
        const char *ident, *tier;
        double took_us, self_us;
        uint64_t pid;
    } of[] = {{"delta", "c_tier", 300000, 60000, 4},
              {"bravo", "d_tier", 400000, 40000, 3},
              {"alpha", "b_tier", 100000, 90000, 2},
              {"charlie", "a_tier", 60000, 55000, 1}};
    static const char *const first[][2] = {
        {"delta", "charlie"}, /* time */
        {"alpha", "delta"},   /* identity */
        {"bravo", "charlie"}, /* took */
        {"charlie", "bravo"}, /* tier */
        {"alpha", "bravo"},   /* self */
        {"charlie", "bravo"}, /* its share */
        {"charlie", "delta"}, /* process */
    };
    struct snap_slow_sum sum[4];
    fake_free(fake);
    fake = fake_new();
    fake_row(fake, 0, "a_tier", NULL, 100, 1000);
    fake_row(fake, TIER_TOTAL, "_total", NULL, 100, 1000);
    fake_snap(fake)->slow_ns = 1000000;
    for (size_t i = 0; i < 4; i++) {
        struct snap_slow *s = fake_slow(fake, "a_tier", of[i].ident, of[i].took_us, 1);
        sum[i] = s->sums[0];
        sum[i].name = of[i].tier;
        sum[i].self_us = of[i].self_us;
        sum[i].pid = of[i].pid;
        s->sums = &sum[i];
        s->request_us = of[i].took_us;
    }
    run("S");
    for (size_t i = 0; i < sizeof first / sizeof *first; i++, run(">")) {
        for (size_t reverse = 0; reverse < 2; reverse++, run("r")) {
            char line[200];
            line_under("SLOW (4)", line, sizeof line);
            if (!strstr(line, first[i][reverse]))
                fail_msg("column %zu, reverse %zu: %s", i, reverse, line);
        }
    }
}

/* Which kind is slow must be readable. */
static void slow_requests_have_their_whole_names(void **state)
{
    (void)state;
    static const char *const names[] = {"GET Shopex.CartHandler", "GET Shopex.ItemHandler"};
    fake_free(fake);
    fake = fake_new();
    fake_row(fake, 0, "request", NULL, 100, 1000);
    fake_row(fake, TIER_TOTAL, "_total", NULL, 100, 1000);
    for (size_t i = 0; i < 2; i++) {
        fake_row(fake, TIER_TOTAL, "_total", names[i], 50, 1000);
        fake_slow(fake, "request", names[i], 50000, 1);
    }
    fake_snap(fake)->slow_ns = 1000000;
    run("S");
    assert_true(picture_has(&c, "GET Shopex.CartHandler  62.5ms"));
    assert_true(picture_has(&c, "GET Shopex.ItemHandler  62.5ms"));
}

/* --- the prompt --- */

static void type(struct prompt *p, const char *keys)
{
    for (int key; (key = script_key(&keys));) {
        prompt_key(p, key);
        assert_true(p->len < sizeof p->text && p->caret <= p->len && p->text[p->len] == 0);
    }
}

static void prompt_edits_whole_characters(void **state)
{
    (void)state;
    struct prompt p = {.title = "x"};
    prompt_open(&p, "x", NULL, "");
    type(&p, "a\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80z");
    assert_string_equal(p.text, "a\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80z");
    type(&p, "<Left><BS>");
    assert_string_equal(p.text, "a\xc3\xa4\xe6\x97\xa5z");
    type(&p, "<Home><Right><Del>");
    assert_string_equal(p.text, "a\xe6\x97\xa5z");
    type(&p, "<C-e> two words <C-w>");
    assert_string_equal(p.text, "a\xe6\x97\xa5z two ");
    type(&p, "<C-a><Right><C-k>");
    assert_string_equal(p.text, "a");
    type(&p, "bc<C-u>");
    assert_string_equal(p.text, "");
    type(&p, "<BS><Del><Left><Right><C-w><C-k><C-u>\x01\x1f");
    assert_string_equal(p.text, "");
    prompt_release(&p);
}

static void prompt_is_bounded_and_scrolls(void **state)
{
    (void)state;
    struct prompt p = {.title = "x"};
    prompt_open(&p, "Rule", NULL, "");
    for (int i = 0; i < 3000; i++) {
        type(&p, "x");
    }
    assert_int_equal(p.len, PROMPT_BYTES - 1);
    type(&p, "<C-u>");
    for (int i = 0; i < 3000; i++) {
        type(&p, "\xe6\x97\xa5");
    }
    assert_in_range(p.len, PROMPT_BYTES - 4, PROMPT_BYTES - 1);
    canvas_resize(&c, 3, 20);
    for (int i = 0; i < 1000; i++) {
        prompt_draw(&p, &c, 2);
        assert_null(canvas_broken(&c));
        assert_int_equal(c.cursor_row, 2);
        prompt_key(&p, i % 3 ? KEY_LEFT_ : KEY_BACKSPACE_);
    }
    prompt_release(&p);
}

/* In a replay, keys that change the node are refused at once; the others work. */
static void nothing_is_set_on_a_recording(void **state)
{
    (void)state;
    struct snapshot *s = fake_snap(fake);
    s->node.replay = true;
    for (const char *k = "aAEidWL"; *k; k++) {
        char key[] = {*k, 0};
        run("<Home>");
        struct intent in = script_run(u, &c, s, key);
        assert_int_equal(in.kind, INTENT_REDRAW);
        if (!picture_has(&c, "not possible in a replay"))
            fail_msg("key %c is not refused", *k);
        script_run(u, &c, s, "<Esc>");
        assert_true(picture_has(&c, "TIER"));
    }
    assert_int_equal(script_run(u, &c, s, "t").kind, INTENT_TOGGLE);
    assert_int_equal(script_run(u, &c, s, "+").kind, INTENT_SAMPLE_UP);
    assert_int_equal(script_run(u, &c, s, "S").kind, INTENT_REDRAW);
    assert_intent("s<C-u>20ms<Enter>", INTENT_SLOW, "20ms");
}

/* --- the table of keys --- */

static bool shares_key(const struct key_def *a, const struct key_def *b)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            if (a->key[i] && a->key[i] == b->key[j]) {
                return true;
            }
        }
    }
    return false;
}

static void pointed_at(const char *keys)
{
    struct capture got = fake_capture();

    run("<Esc><Home>I");
    ui_set_capture(u, &got);
    run(keys);
}

static void pointing_writes_the_rule(void **state)
{
    (void)state;
    struct intent in = run("I");
    assert_int_equal(in.kind, INTENT_CAPTURE);
    uint16_t tier = in.tier;
    assert_intent("<Esc>", INTENT_CAPTURE_END, "");
    pointed_at("jj");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(2, arg(1))");
    assert_true(picture_has(&c, "TIER")); /* back on the table */
    pointed_at("jjj");                    /* paths with numbers */
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 path(element(3, arg(1)))");
    pointed_at("jjjn<Tab>");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 shape(element(3, arg(1)))");
    pointed_at("jjj<Tab><Tab>");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(3, arg(1))");
    pointed_at("jjj<Tab><Tab><Tab>");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 path(element(3, arg(1)))");
    pointed_at("jjj-+"); /* all of it */
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(3, arg(1))");
    pointed_at("jj<Tab>"); /* an atom */
    assert_true(picture_has(&c, "has a shape"));
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(2, arg(1))");
    pointed_at("jjj<<");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 prefix(7, element(3, arg(1)))");
    pointed_at("jjj<<><Right>");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 prefix(8, element(3, arg(1)))");
    pointed_at("jjj<<>>-");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 prefix(10, element(3, arg(1)))");
    pointed_at("jjj<<k"); /* the prefix was of that part only */
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(2, arg(1))");
    pointed_at("jjj<+++++++++");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(3, arg(1))");
    pointed_at("jjj-n"); /* there is a shorter one in the next call: all of it */
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(3, arg(1))");
    pointed_at("jjjj<Right>j");
    assert_intent("<Enter>", INTENT_IDENTITY,
                  "my_web:handle/2 name(map_get(user, element(4, arg(1))))");
    pointed_at("jjnnnN");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(2, arg(1))");
    pointed_at("jj<Left>");
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 arg(1)");
    pointed_at("jjjj"); /* a map: no change, and a message says why */
    assert_intent("<Enter>", INTENT_REDRAW, "");
    assert_true(picture_has(&c, "a map cannot be a name"));
    pointed_at("jji");
    assert_intent("<BS><BS>)<Enter>", INTENT_IDENTITY, "my_web:handle/2 element(2, arg(1)");
    assert_true(picture_has(&c, "TIER"));
    pointed_at("N"); /* the last call has no such part: back to its first */
    assert_intent("<Enter>", INTENT_IDENTITY, "my_web:handle/2 arg(1)");
    run("I");
    in = run("r");
    assert_int_equal(in.kind, INTENT_CAPTURE);
    assert_int_equal(in.tier, tier);
}

/* A result that nothing waits for is not shown; the caller frees it. */
static void a_late_capture_is_ignored(void **state)
{
    (void)state;
    struct capture got = fake_capture();
    run("I<Esc>");
    ui_set_capture(u, &got);
    assert_non_null(got.set);
    value_tree_free(got.set);
    assert_false(picture_has(&c, "POINT"));
}

static void a_key_means_one_thing(void **state)
{
    (void)state;
    size_t n;
    const struct key_def *k = keys_all(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if ((k[i].contexts & k[j].contexts) && shares_key(&k[i], &k[j]) &&
                k[i].act != k[j].act) {
                fail_msg("\"%s\" and \"%s\" share a key", k[i].shown, k[j].shown);
            }
        }
    }
}

static void every_screen_key_is_in_the_table(void **state)
{
    (void)state;
    size_t n;
    const struct key_def *k = keys_all(&n);
    for (size_t i = 0; i < n; i++) {
        if (k[i].act == ACT_SCREEN) {
            assert_int_not_equal(screens_by_key(k[i].key[0]), SCREEN_NONE);
        }
    }
    assert_int_equal(screens_by_key(0), SCREEN_NONE);
    assert_int_equal(screens_by_key('?'), SCREEN_HELP);
    assert_int_equal(keys_find(CTX_TABLE, '?'), ACT_HELP);
    assert_int_equal(keys_find(CTX_TABLE, 0), ACT_NONE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        T(without_tiers_keys_say_how_to_get_some),
        T(plain_keys_give_their_intents),
        T(an_open_call_shows_its_stack),
        T(windows_go_round),
        T(before_the_first_snapshot_keys_are_harmless),
        T(pause_is_said_and_taken_back),
        T(arrows_and_letters_move_alike),
        T(selection_stays_with_its_row),
        T(a_lost_row_leaves_one_selected),
        T(long_names_are_told_apart),
        T(selection_survives_an_empty_table),
        T(enter_folds_and_unfolds),
        T(what_does_not_fit_is_folded_until_a_hand_folds),
        T(sort_keys_go_through_all_columns),
        T(filter_is_live_and_esc_clears),
        T(a_pasted_newline_is_a_blank),
        T(elsewhere_a_paste_does_nothing),
        T(adding_a_tier_completes_and_submits),
        T(a_name_before_the_function_is_kept),
        T(removing_a_tier_is_asked),
        T(an_empty_tier_goes_without_a_question),
        T(forgetting_all_figures_is_asked),
        T(entry_is_picked_from_the_tiers),
        T(nothing_is_set_on_a_recording),
        T(functions_stand_beside_their_tiers),
        T(identity_rule_is_typed_and_remembered),
        T(the_rule_in_force_is_edited),
        T(a_refused_rule_is_discarded),
        T(a_late_menu_takes_nothing_over),
        T(a_menu_is_brought_up_to_date),
        T(lines_are_ticked_and_left_out),
        T(what_is_typed_replaces_the_proposed_name),
        T(a_refused_text_has_the_caret_behind_it),
        T(an_export_is_of_its_screen),
        T(export_asks_for_a_name_and_before_overwriting),
        T(messages_go_with_the_next_key),
        T(every_screen_opens_and_closes),
        T(selected_slow_call_stays_when_new_ones_come),
        T(a_lost_slow_call_leaves_one_selected),
        T(the_table_shows_the_newest_slow_requests),
        T(slow_calls_are_filtered),
        T(a_slow_call_opens_its_waterfall),
        T(a_waterfall_offers_what_is_called),
        T(the_threshold_is_typed),
        T(any_threshold_is_proposed_exactly),
        T(the_present_p99_is_offered),
        T(slow_requests_are_sorted),
        T(each_column_sorts_slow_requests_by_its_values),
        T(slow_requests_have_their_whole_names),
        T(prompt_edits_whole_characters),
        T(prompt_is_bounded_and_scrolls),
        T(pointing_writes_the_rule),
        T(a_late_capture_is_ignored),
        T(a_key_means_one_thing),
        T(every_screen_key_is_in_the_table),
    };
    return cmocka_run_group_tests_name("ui keys", tests, NULL, NULL);
}
