/* The function picker: pictures (golden files), keys; and a growing catalog does not move the
 * selection. */
#include "fake_snapshot.h"
#include "ui_script.h"

#include <kprof/core/tier.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

static struct ui *u;
static struct canvas c;
static struct catalog *catalog;

static void status(enum catalog_state state, unsigned done, unsigned of, const char *note)
{
    struct catalog_status st = {.state = state, .modules_done = done, .modules = of};
    snprintf(st.note, sizeof st.note, "%s", note);
    catalog_set_status(catalog, &st);
}

static void shop(void)
{
    catalog_module(catalog, "shop_db:", "shop", false);
    catalog_function(catalog, "query", 2, true);
    catalog_function(catalog, "query", 3, true);
    catalog_function(catalog, "pool_loop", 1, false);
    catalog_module(catalog, "Shop.Orders.", "shop", false);
    catalog_function(catalog, "create!", 1, true);
    catalog_function(catalog, "list_by_customer_and_month", 4, true);
    catalog_module(catalog, "lists:", "stdlib", true);
    catalog_function(catalog, "map", 2, true);
    catalog_function(catalog, "query_like", 2, true);
    catalog_set_rate(catalog, 0, 611.0f);
    catalog_set_rate(catalog, 1, 0.0f);
    catalog_set_rate(catalog, 3, CATALOG_UNCOUNTED);
    catalog_set_rate(catalog, 5, 12345.0f);
}

static void hostile(void)
{
    char huge[700];
    memset(huge, 'w', sizeof huge);
    huge[sizeof huge - 1] = 0;
    catalog_module(catalog, "'\x1b[31mred':", "\x1b]0;app\x07", false);
    catalog_function(catalog, "'\xe2\x80\xae rtl'", 1, false);
    catalog_function(catalog, "'\xff\xfe'", 0, true);
    catalog_module(catalog, "'\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e':", "\xe6\x97\xa5\xe6\x9c\xac",
                   false);
    catalog_function(catalog, huge, 255, true);
}

static void open_sized(int rows, int cols, bool ascii)
{
    u = ui_new("app@host");
    canvas_init(&c, rows, cols, ascii);
    catalog = catalog_new();
}

static int open_picker(void **state)
{
    (void)state;
    open_sized(24, 80, false);
    return 0;
}

static int close_picker(void **state)
{
    (void)state;
    ui_free(u);
    canvas_release(&c);
    catalog_free(catalog);
    return 0;
}

static struct intent run(const char *keys)
{
    struct intent in = script_run(u, &c, NULL, keys);
    const char *why = canvas_broken(&c);
    if (why)
        fail_msg("after %s: %s", keys, why);
    return in;
}

/* `a`, the present catalog, then keys */
static struct intent pick(const char *keys)
{
    struct intent in = run("a");
    assert_int_equal(in.kind, INTENT_CATALOG);
    ui_set_catalog(u, catalog);
    return run(keys);
}

/* --- pictures --- */

static const struct golden {
    const char *name;
    int rows, cols;
    bool ascii;
    void (*make)(void);
    enum catalog_state state;
    const char *note, *keys;
} goldens[] = {
    {"pick_80x24", 24, 80, false, shop, CATALOG_WHOLE, "", ""},
    {"pick_typed_80x24", 24, 80, false, shop, CATALOG_WHOLE, "", "query"},
    {"pick_ticked_80x24", 24, 80, false, shop, CATALOG_WHOLE, "", "<Tab><Down><Tab>ma"},
    {"pick_as_typed_80x24", 24, 80, false, shop, CATALOG_WHOLE, "", "web=shop_web:handle/1"},
    {"pick_nothing_80x24", 24, 80, true, shop, CATALOG_WHOLE, "", "zzz"},
    {"pick_loading_80x24", 24, 80, false, shop, CATALOG_LOADING, "", "q"},
    {"pick_waiting_80x24", 24, 80, false, NULL, CATALOG_WAITING,
     "not connected to app@host yet; its functions appear afterwards", ""},
    {"pick_40x10", 10, 40, true, shop, CATALOG_WHOLE, "", "<Tab>q"},
    {"pick_120x40", 40, 120, false, shop, CATALOG_WHOLE, "", "Shop"},
    {"pick_20x4", 4, 20, false, shop, CATALOG_WHOLE, "", "q"},
    {"pick_hostile_80x24", 24, 80, false, hostile, CATALOG_PART, "\x1b[2Jstopped", "<Tab>"},
    {"pick_hostile_80x24_ascii", 24, 80, true, hostile, CATALOG_PART, "\x1b[2Jstopped", "<Tab>"},
};

static void screens_are_as_their_goldens(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const struct golden *g = &goldens[i];
        open_sized(g->rows, g->cols, g->ascii);
        if (g->make)
            g->make();
        status(g->state, g->state == CATALOG_WHOLE ? 3 : 1, 3, g->note);
        pick(g->keys);
        wrong += !picture_is_golden(&c, g->name);
        close_picker(NULL);
    }
    assert_int_equal(wrong, 0);
}

/* --- keys --- */

static void picked_is(const char *first, const char *second)
{
    const char *a = ui_picked(u, 0), *b = a ? ui_picked(u, 1) : NULL;
    assert_string_equal(a ? a : "", first);
    assert_string_equal(b ? b : "", second);
}

static void enter_adds_the_best(void **state)
{
    (void)state;
    shop();
    assert_int_equal(pick("query<Enter>").kind, INTENT_PICKED);
    picked_is("shop_db:query/2", "");
    assert_false(picture_has(&c, "ADD TIERS")); /* back on the table */
    assert_int_equal(pick("zzz<Enter>").kind, INTENT_REDRAW);
    picked_is("", "");
}

static void several_are_ticked(void **state)
{
    (void)state;
    shop();
    assert_int_equal(pick("query<Tab><C-u>create<Tab><Enter>").kind, INTENT_PICKED);
    picked_is("shop_db:query/2", "Shop.Orders.create!/1");
    /* Space ticks after a movement in the list; before, it is a blank between words */
    assert_int_equal(pick("shop 3<Down><Up> <Enter>").kind, INTENT_PICKED);
    picked_is("shop_db:query/3", "");
    pick("<Down><Down> <Up>"); /* ticked, */
    assert_true(picture_has(&c, "[x] shop_db:pool_loop/1"));
    run(" "); /* and not */
    assert_false(picture_has(&c, "[x]"));
    run("<Tab>");
    assert_int_equal(run("<Esc>").kind, INTENT_CATALOG_CLOSE);
    picked_is("", "");
}

static void a_function_can_be_typed(void **state)
{
    (void)state;
    shop();
    assert_int_equal(pick("My.App.get!/2<Enter>").kind, INTENT_PICKED);
    picked_is("My.App.get!/2", "");
    assert_int_equal(pick("db=shop_db:query/2<Enter>").kind, INTENT_PICKED);
    picked_is("db=shop_db:query/2", "");
    pick("shop_db:query/2"); /* it is in the catalog, so it is not listed twice */
    assert_false(picture_has(&c, "as typed"));
    assert_int_equal(run("<Enter>").kind, INTENT_PICKED);
    picked_is("shop_db:query/2", "");
}

/* as pasted from a list, whose newlines are spaces */
static void several_functions_can_be_typed(void **state)
{
    (void)state;
    shop();
    pick("shop_db:query/2 web=my_web:handle/1 My.App.get!/2");
    assert_true(picture_has(&c, "[ ] as typed: shop_db:query/2"));
    assert_true(picture_has(&c, "[ ] as typed: web=my_web:handle/1"));
    assert_int_equal(run("<Enter>").kind, INTENT_PICKED);
    picked_is("shop_db:query/2", "web=my_web:handle/1");
    assert_string_equal(ui_picked(u, 2), "My.App.get!/2");
    pick("a:b/1 c:d/2<Down>"); /* one of them */
    assert_int_equal(run("<Enter>").kind, INTENT_PICKED);
    picked_is("c:d/2", "");
    assert_int_equal(pick("a:b/1 c:d/2 a:b/1<Enter>").kind, INTENT_PICKED); /* one twice */
    picked_is("a:b/1", "c:d/2");
    assert_null(ui_picked(u, 2));
    pick("a:b/1 shop"); /* parts of names */
    assert_false(picture_has(&c, "as typed"));
    run("<Esc>");
}

/* A tick that does not fit is reported, and those before it stay. */
static void too_many_ticks_are_told(void **state)
{
    char keys[32];

    (void)state;
    for (unsigned i = 0; i <= TIER_MAX; i++) {
        snprintf(keys, sizeof keys, "<C-u>m:f%u/1<Tab>", i);
        assert_false(picture_has(&c, "no more tiers fit"));
        i == 0 ? pick(keys) : run(keys);
    }
    assert_true(picture_has(&c, "no more tiers fit"));
    assert_int_equal(run("<Enter>").kind, INTENT_PICKED);
    assert_string_equal(ui_picked(u, TIER_MAX - 1), "m:f63/1");
    assert_null(ui_picked(u, TIER_MAX));
}

static void escape_stops_loading_first(void **state)
{
    (void)state;
    status(CATALOG_LOADING, 1, 640, "");
    pick("");
    assert_true(picture_has(&c, "loading 1 of 640 modules; Esc stops"));
    assert_int_equal(run("<Esc>").kind, INTENT_CATALOG_STOP);
    status(CATALOG_PART, 1, 640, "stopped");
    assert_int_equal(run("<Esc>").kind, INTENT_CATALOG_CLOSE);
    assert_int_equal(pick("q").kind, INTENT_REDRAW); /* text here */
    assert_int_equal(run("<C-r>").kind, INTENT_CATALOG);
    assert_true(picture_has(&c, "no functions yet"));
    assert_int_equal(run("<Esc>").kind, INTENT_CATALOG_CLOSE);
}

static void a_growing_catalog_moves_nothing(void **state)
{
    (void)state;
    status(CATALOG_LOADING, 1, 3, "");
    catalog_module(catalog, "zzz_long_own:", "z", false);
    catalog_function(catalog, "query", 1, true);
    catalog_function(catalog, "query", 2, true);
    pick("query<Down>");
    shop(); /* better and worse matches are added */
    ui_set_catalog(u, catalog);
    run("");
    assert_int_equal(run("<Enter>").kind, INTENT_PICKED);
    picked_is("zzz_long_own:query/2", "");
}

static void what_is_in_sight_is_wanted(void **state)
{
    (void)state;
    uint32_t ids[10];
    char name[16];
    assert_int_equal(ui_pick_wanted(u, ids, 10), 0);
    catalog_module(catalog, "m:", "", false);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "f%d", i);
        catalog_function(catalog, name, 1, true);
    }
    pick("");
    assert_int_equal(ui_pick_wanted(u, ids, 10), 10);
    assert_int_equal(ids[0], 0);
    run("<PgDn><PgDn>");
    ui_pick_wanted(u, ids, 10);
    assert_true(ids[0] > 0);
    run("f77");
    assert_int_equal(ui_pick_wanted(u, ids, 10), 1);
    assert_int_equal(ids[0], 77);
    run("<Esc>");
    assert_int_equal(ui_pick_wanted(u, ids, 10), 0);
}

/* The best matches are counted, not only those in sight, and are sorted by their calls. */
static void calls_sort_the_list(void **state)
{
    (void)state;
    uint32_t ids[500];
    char name[16];
    catalog_module(catalog, "m:", "", false);
    for (int i = 0; i < 450; i++) {
        snprintf(name, sizeof name, "f%03d", i);
        catalog_function(catalog, name, 1, true);
    }
    status(CATALOG_WHOLE, 1, 1, "");
    pick("f<C-t>");
    assert_true(picture_has(&c, "CALLS/S\xe2\x96\xbc"));
    assert_int_equal(ui_pick_wanted(u, ids, 400), 400);
    for (uint32_t i = 0; i < 400; i++)
        catalog_set_rate(catalog, i, i == 300 ? 70.0f : i == 200 ? 7.0f : 0.0f);
    run("<Down><Down>"); /* m:f002/1 stays selected */
    ui_set_catalog(u, catalog);
    run("");
    assert_int_equal(ui_pick_wanted(u, ids, 3), 3);
    assert_int_equal(ids[0], 300);
    assert_int_equal(ids[1], 200);
    assert_int_equal(ids[2], 0);
    assert_int_equal(run("<Enter>").kind, INTENT_PICKED);
    picked_is("m:f002/1", "");
    pick("f<C-t>");
    run("f30"); /* narrowed, and still by calls */
    ui_pick_wanted(u, ids, 2);
    assert_int_equal(ids[0], 300);
    run("<C-u>f<C-t>");
    assert_true(picture_has(&c, "sorted by match"));
    run("<Home>");
    assert_true(ui_pick_wanted(u, ids, 400) < 24);
    assert_int_equal(ids[0],
                     200); /* functions with calls first, by number of calls; then by match */
    assert_int_equal(ids[1], 300);
    assert_int_equal(ids[2], 0);
}

static void module(const char *shown, enum catalog_origin origin, const char *behaviours)
{
    catalog_module(catalog, shown, "app", origin);
    catalog_behaviours(catalog, behaviours);
    catalog_function(catalog, "init", 1, true);
    catalog_function(catalog, "handle_call", 3, true);
}

/* The prompt of a preset for one module proposes those that have its behaviour. */
static void the_module_of_a_preset_is_completed(void **state)
{
    (void)state;
    module("kernel_sup:", CATALOG_PLATFORM, "supervisor");
    module("net_kernel:", CATALOG_PLATFORM, "gen_server");
    module("shop_stock:", CATALOG_OWN, "shop_api gen_server");
    module("shop_fsm:", CATALOG_OWN, "gen_statem");
    module("Shop.Cart.", CATALOG_OWN, "Elixir.GenServer");
    module("shop_stats:", CATALOG_OWN, "gen_server");
    status(CATALOG_LOADING, 1, 6, "");
    ui_reprompt(u, INTENT_PRESET, "gen_server:", SIZE_MAX, "write the module");
    ui_set_catalog(u, catalog);
    run("<Tab>");
    assert_false(picture_has(&c, "gen_server:shop_stock"));
    status(CATALOG_WHOLE, 6, 6, "");
    ui_set_catalog(u, catalog);
    run("");
    assert_true(picture_has(&c, "gen_server:shop_stock"));
    assert_true(picture_has(&c, "gen_server:net_kernel"));
    assert_false(picture_has(&c, "shop_fsm"));
    assert_false(picture_has(&c, "kernel_sup"));
    struct intent in = run("shop<Tab><Tab><Tab><Enter>"); /* gen_server:shop_sto, then the items */
    assert_int_equal(in.kind, INTENT_PRESET);
    assert_string_equal(in.text, "gen_server:shop_stats");
    ui_reprompt(u, INTENT_PRESET, "gen_server:", SIZE_MAX, "write the module");
    assert_string_equal(run("Sh<Tab><Enter>").text, "gen_server:Shop.Cart");
    ui_reprompt(u, INTENT_PRESET, "gen_statem:", SIZE_MAX, "write the module");
    assert_string_equal(run("s<Tab><Enter>").text, "gen_statem:shop_fsm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens_are_as_their_goldens),
        cmocka_unit_test_setup_teardown(enter_adds_the_best, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(several_are_ticked, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(a_function_can_be_typed, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(several_functions_can_be_typed, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(too_many_ticks_are_told, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(escape_stops_loading_first, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(a_growing_catalog_moves_nothing, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(what_is_in_sight_is_wanted, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(calls_sort_the_list, open_picker, close_picker),
        cmocka_unit_test_setup_teardown(the_module_of_a_preset_is_completed, open_picker,
                                        close_picker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
