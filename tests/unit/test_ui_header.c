/* The header: two lines without problems, and a third line that shows problems; the internals; the
 * table without tiers. */
#include "fake_snapshot.h"
#include "rng.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/tier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/header.h>
#include <ui/internals.h>
#include <ui/start.h>

static struct fake *fake;
static struct snapshot *s;
static struct ui *u;
static struct canvas c;

static int setup(void **state)
{
    (void)state;
    fake = fake_standard(3);
    s = fake_snap(fake);
    script_begin(&u, &c, true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    script_end(u, &c, fake);
    return 0;
}

static bool shows(const char *text)
{
    script_run(u, &c, s, "");
    return picture_has(&c, text);
}

/* --- lines --- */

static void two_lines_while_all_is_well(void **state)
{
    (void)state;
    s->anomalies.orphan_returns = 12; /* normal state after a start */
    s->calls.unattributed = 500;
    s->anomalies.late = 2000; /* a tier that runs after its requests, by design */
    for (int rows = 6; rows < 80; rows++) {
        assert_int_equal(header_rows(s, rows, false), 2);
    }
    assert_int_equal(header_rows(s, 5, false), 1);
    assert_true(shows("TRACING ON  window 10s  req/s 611  sample 1/1  overhead 0.8%  breaker "
                      "closed"));
    static const char *const left_out[] = {"lost", "ring", "orphans", "unattributed", "folded",
                                           "lag",  "via",  "relay",   "aggregated"};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        assert_false(picture_has(&c, left_out[i]));
    }
}

/* With everything that the line can say, on a screen with room for it. */
static void a_full_line_has_the_breaker(void **state)
{
    (void)state;
    canvas_resize(&c, 15, 500);
    s->time.history = true;
    s->time.from_s = 3220;
    s->time.to_s = 3280;
    s->lost.ring = 12;
    snprintf(s->node.tls, sizeof s->node.tls, "not verified");
    snprintf(s->compared, sizeof s->compared, "before.json");
    s->gap_s = 2;
    s->sampling.state = SAMPLING_ON;
    s->sampling.percent = 0.5;
    s->breaker.trips = 3;
    ui_set_trigger(u, "waits", false);
    script_run(u, &c, s, "p/db<Enter>");
    static const char *const all[] = {"TRACING ON",
                                      "TLS not verified",
                                      "lost 12",
                                      "PAUSED",
                                      "compared with before.json",
                                      "filter db",
                                      "gap 2.00s",
                                      "req/s",
                                      "sample 1/1",
                                      "overhead",
                                      "stacks 0.5%",
                                      "trigger waits",
                                      "breaker closed (opened 3 times)"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!picture_has(&c, all[i])) {
            fail_msg("without \"%s\"", all[i]);
        }
    }
}

/* A trigger that waits or acts must not be forgotten; that all is well with the breaker can be. */
static void a_narrow_line_has_the_trigger(void **state)
{
    (void)state;
    canvas_resize(&c, 30, 80);
    ui_set_trigger(u, "node.run_queue>50", false);
    assert_true(shows("overhead 0.8%  trigger node.run"));
    assert_false(shows("breaker"));
    ui_set_trigger(u, "recording 12s web/create.p99>50ms", true);
    assert_true(shows("overhead 0.8%  trigger recor"));
    ui_set_trigger(u, "db.p99>5ms", false);
    assert_true(shows("trigger db.p99>5ms")); /* it fits as a whole */
    ui_set_trigger(u, "", false);
    assert_true(shows("breaker closed"));
}

static void an_open_breaker_has_its_place_before_the_trigger(void **state)
{
    (void)state;
    canvas_resize(&c, 30, 80);
    s->breaker.state = BREAKER_OPEN;
    ui_set_trigger(u, "node.run_queue>50", false);
    assert_true(shows("breaker open"));
    assert_false(shows("trigger"));
    canvas_resize(&c, 30, 94);
    assert_true(shows("trigger node.r"));
    assert_true(shows("breaker open"));
}

/* --- the line with problems --- */

static void lost_here(void)
{
    s->lost.ring = 12;
}

static void lost_there(void)
{
    s->lost.target = 8123;
}

static void cut_by_cost(void)
{
    s->sample = 8;
    s->sample_why = SAMPLE_COST;
}

static void cut_by_rate(void)
{
    s->sample = 4;
    s->sample_asked = 2;
    s->sample_why = SAMPLE_RATE;
    s->has_entry = false;
}

static void cut_by_flood(void)
{
    s->sample = 64;
    s->sample_why = SAMPLE_FLOOD;
}

static void for_part_of_the_time(void)
{
    s->sample = 800;
    s->sample_why = SAMPLE_PART_TIME;
}

static void cut_by_copies(void)
{
    s->sample = 20;
    s->sample_why = SAMPLE_COPIES;
}

static void late(void)
{
    s->anomalies.late = 10000;
}

static void unattributed(void)
{
    s->calls.unattributed = 10000;
}

static void expired(void)
{
    s->calls.expired = 400;
}

static void lag(void)
{
    s->lag_ms = 1700;
}

static void ring(void)
{
    s->ring_fill = 0.87;
}

static void clock_off(void)
{
    s->clock.error_us = 62000;
}

static void bad(void)
{
    s->anomalies.bad_events = 1;
}

static void full(void)
{
    s->anomalies.requests_full = 2;
}

static void breaker(void)
{
    s->breaker = (struct snap_breaker){.state = BREAKER_OPEN, .trips = 1, .reason = "too slow"};
}

static void half_open(void)
{
    s->breaker = (struct snap_breaker){.state = BREAKER_HALF_OPEN, .trips = 1};
}

static void silent(void)
{
    s->node.silent_s = 12;
    strcpy(s->node.state, "NO DATA from app@host for 12 s");
}

static const struct {
    void (*happens)(void);
    const char *term;
    enum style style;
} wrongs[] = {
    {lost_here, "lost 12 events", STYLE_BAD},
    {lost_there, "lost 8123 events", STYLE_BAD},
    {cut_by_cost, "tracing 1 of 8 requests (limit 5 % of the node)", STYLE_WARN},
    {cut_by_rate, "tracing 1 of 4 calls, requested 1 of 2 (limit --max-rate)", STYLE_WARN},
    {cut_by_flood, "tracing 1 of 64 requests (calls arrive too fast)", STYLE_WARN},
    {cut_by_copies, "tracing 1 of 20 requests (return values are large)", STYLE_WARN},
    {for_part_of_the_time, "tracing 1 of 800 requests (for part of the time)", STYLE_WARN},
    {late, "late 10000", STYLE_WARN},
    {unattributed, "unattributed 10000", STYLE_WARN},
    {expired, "expired 400", STYLE_WARN},
    {lag, "lag 1.70s", STYLE_BAD},
    {ring, "ring 87% full", STYLE_WARN},
    {clock_off, "clock +-62.0ms", STYLE_WARN},
    {bad, "bad 1", STYLE_WARN},
    {full, "full 2", STYLE_WARN},
    {breaker, "BREAKER OPEN: too slow", STYLE_BAD},
    {half_open, "BREAKER HALF-OPEN", STYLE_WARN},
    {silent, "NO DATA from app@host for 12 s", STYLE_BAD},
};

enum { WRONGS = sizeof wrongs / sizeof *wrongs };

/* The style of the last character of the text on the third row. */
static enum style style_of(const char *text)
{
    char row[101] = "";
    for (int col = 0; col < 100; col++) {
        row[col] = c.cells[2 * 100 + col].utf8[0];
    }
    const char *at = strstr(row, text);
    if (!at) {
        fail_msg("the header says \"%s\", not \"%s\"", row, text);
        return STYLE_COUNT;
    }
    return c.cells[2 * 100 + (at - row) + (long)strlen(text) - 1].style;
}

static void what_is_wrong_has_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < WRONGS; i++) {
        struct snapshot well = *s;
        wrongs[i].happens();
        assert_int_equal(header_rows(s, 24, false), 3);
        assert_int_equal(header_rows(s, 8, false), 3);
        assert_int_equal(header_rows(s, 7, false), 2);
        script_run(u, &c, s, "");
        assert_int_equal(style_of(wrongs[i].term), wrongs[i].style);
        *s = well;
    }
    assert_int_equal(header_rows(s, 24, false), 2);
}

/* Random combinations: at most four lines, and lost events are always shown. */
static void all_at_once(void **state)
{
    (void)state;
    for (unsigned mask = 0; mask < 1u << WRONGS; mask += rng_full_size() ? 7 : 59) {
        struct snapshot well = *s;
        for (size_t i = 0; i < WRONGS; i++) {
            if (mask & 1u << i) {
                wrongs[i].happens();
            }
        }
        for (int rows = 4; rows < 40; rows += 5) {
            int plain = rows < 6 ? 1 : 2;
            assert_in_range(header_rows(s, rows, false), plain,
                            plain + (rows < 8    ? 0
                                     : rows < 16 ? 1
                                                 : 2));
            canvas_resize(&c, rows, 40);
            script_run(u, &c, s, "");
            if (s->lost.target + s->lost.ring) {
                assert_true(picture_has(&c, "lost "));
            }
        }
        *s = well;
    }
}

/* In every size, also while the node is lost and with a time range. */
static void a_node_that_is_not_verified_is_always_shown(void **state)
{
    static const int cols[] = {40, 80, 200};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (int rows = 5; rows < 40; rows += 5) {
            canvas_resize(&c, rows, cols[i]);
            s->node.connected = i != 1;
            s->time.history = rows % 2 == 0;
            s->node.tls[0] = '\0';
            assert_false(shows("TLS"));
            strcpy(s->node.tls, "verified");
            assert_false(shows("TLS"));
            strcpy(s->node.tls, "not verified");
            assert_true(shows("TLS not verified"));
        }
    }
    canvas_resize(&c, 24, 100);
    s->time.history = false;
    script_run(u, &c, s, "H");
    assert_int_equal(c.cells[1 * 100 + 17].utf8[0], 'o'); /* TRACING ON  TLS not verified */
    assert_int_equal(c.cells[1 * 100 + 17].style, STYLE_BAD);
}

/* --- internals --- */

static const struct internal *named(const struct internal *list, size_t n, const char *label)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].meaning && strcmp(list[i].label, label) == 0) {
            return &list[i];
        }
    }
    fail_msg("no internal \"%s\"", label);
    return NULL;
}

static uint64_t value(const struct internal *list, size_t n, const char *label)
{
    return strtoull(named(list, n, label)->value, NULL, 10);
}

static void internals_hold_the_law_of_the_calls(void **state)
{
    (void)state;
    struct internal list[INTERNALS_MAX];
    s->calls.expired = 5;
    fake_snap(fake);
    size_t n = internals_list(s, list);
    assert_true(snapshot_conserves(s));
    assert_int_equal(value(list, n, "received"), value(list, n, "aggregated") + 7 +
                                                     value(list, n, "expired") +
                                                     value(list, n, "unattributed"));
    assert_int_equal(value(list, n, "received"), s->calls.received);
    for (size_t i = 0; i < n; i++) {
        assert_true(list[i].label[0]);
        assert_true(!list[i].meaning == !list[i].value[0]);
    }
}

/* Two lines for each value: the header shows exactly the values that the internals screen
 * highlights. */
static void the_header_tells_no_more_than_the_internals(void **state)
{
    (void)state;
    for (size_t k = 0; k < WRONGS; k++) {
        struct internal list[INTERNALS_MAX];
        struct snapshot well = *s;
        size_t told = 0;
        wrongs[k].happens();
        size_t n = internals_list(s, list);
        for (size_t i = 0; i < n; i++) {
            assert_true(list[i].in_header == (list[i].style != STYLE_NORMAL));
            told += list[i].in_header;
        }
        assert_int_equal(told, k < 15); /* the others are not values */
        *s = well;
    }
}

static void internals_scroll_and_go_back(void **state)
{
    (void)state;
    canvas_resize(&c, 12, 80);
    script_run(u, &c, s, "#");
    assert_true(picture_has(&c, "INTERNALS"));
    assert_true(picture_has(&c, "sample"));
    script_run(u, &c, s, "<End>");
    assert_true(picture_has(&c, "full"));
    script_run(u, &c, s, "<Down><Down><Down><Home>");
    assert_true(picture_has(&c, "sample"));
    script_run(u, &c, s, "#");
    assert_true(picture_has(&c, "_total"));
    assert_int_equal(script_run(u, &c, s, "#q").kind, INTENT_QUIT);
}

/* Without a problem, every explanation fits into 80 columns. */
static void internals_are_explained(void **state)
{
    (void)state;
    struct buf out;
    canvas_resize(&c, 60, 80);
    s->detail = (struct snap_detail){.state = DETAIL_ON, .every = 100, .every_asked = 100};
    s->cost.known = s->cost.assumed = true;
    s->cost.limit_percent = 5;
    script_run(u, &c, s, "#");
    buf_init(&out, 0);
    canvas_dump(&c, &out);
    buf_addch(&out, '\0');
    if (strstr(out.data, "..\n"))
        fail_msg("a text is cut:\n%s", out.data);
    buf_release(&out);
}

/* --- without tiers --- */

static struct catalog *counted_functions(void)
{
    static const struct {
        const char *module, *function;
        enum catalog_origin origin;
        bool exported;
        float per_s;
    } f[] = {{"shop_web:", "handle", CATALOG_OWN, true, 1204},
             {"shop_web:", "inner", CATALOG_OWN, false, 99999},
             {"shop_db:", "query", CATALOG_OWN, true, 4000},
             {"shop_db:", "idle", CATALOG_OWN, true, 0},
             {"lists:", "map", CATALOG_PLATFORM, true, 88888},
             {"cowboy:", "loop", CATALOG_LIBRARY, true, 3},
             {"shop_log:", "write", CATALOG_OWN, true, CATALOG_UNCOUNTED},
             {"shop_log:", "flush", CATALOG_OWN, true, 20},
             {"shop_log:", "new", CATALOG_OWN, true, -1}};
    struct catalog *k = catalog_new();
    struct catalog_status whole = {.state = CATALOG_WHOLE};
    for (uint32_t i = 0; i < sizeof f / sizeof *f; i++) {
        catalog_module(k, f[i].module, "shop", f[i].origin);
        catalog_function(k, f[i].function, 2, f[i].exported);
        if (f[i].per_s != -1) {
            catalog_set_rate(k, i, f[i].per_s);
        }
    }
    catalog_set_status(k, &whole);
    return k;
}

static void three_things_to_begin_with(void **state)
{
    (void)state;
    struct fake *empty = fake_new();
    struct catalog *k = counted_functions();
    s = fake_snap(empty);
    canvas_resize(&c, 24, 120);
    assert_true(shows("P   Presets found here: P lists them"));
    assert_true(shows("a   Busiest functions: the list shows calls per second"));
    assert_true(shows("/   Search: type parts of a function's name"));
    ui_set_presets(u, "");
    assert_true(shows("P   Presets found here: none"));
    ui_set_presets(u, "cowboy, phoenix (3 of 4 tiers)");
    assert_true(shows("P   Presets found here: cowboy, phoenix (3 of 4 tiers)"));
    ui_set_catalog(u, k);
    assert_true(shows("shop_db:query/2 4000/s, shop_web:handle/2 1204/s, shop_log:flush/2 20.0/s"));
    ui_set_catalog(u, NULL); /* known values stay known */
    assert_true(shows("shop_db:query/2 4000/s"));
    ui_set_suggested(u, "entry shop_web:handle/2, 4 tiers");
    assert_true(shows("P   Suggested: entry shop_web:handle/2, 4 tiers"));
    assert_true(shows("    Presets found here: cowboy"));
    s = fake_snap(fake);
    catalog_free(k);
    fake_free(empty);
}

static void slash_searches_where_there_is_nothing_to_filter(void **state)
{
    (void)state;
    struct fake *empty = fake_new();
    assert_int_equal(script_run(u, &c, fake_snap(empty), "/").kind, INTENT_CATALOG);
    assert_true(picture_has(&c, "Find"));
    assert_int_equal(script_run(u, &c, fake_snap(empty), "<Esc>").kind, INTENT_CATALOG_CLOSE);
    script_run(u, &c, s, "/");
    assert_true(picture_has(&c, "Filter"));
    fake_free(empty);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        T(two_lines_while_all_is_well),
        T(a_full_line_has_the_breaker),
        T(a_narrow_line_has_the_trigger),
        T(an_open_breaker_has_its_place_before_the_trigger),
        T(what_is_wrong_has_a_line),
        T(all_at_once),
        T(a_node_that_is_not_verified_is_always_shown),
        T(internals_hold_the_law_of_the_calls),
        T(the_header_tells_no_more_than_the_internals),
        T(internals_scroll_and_go_back),
        T(internals_are_explained),
        T(three_things_to_begin_with),
        T(slash_searches_where_there_is_nothing_to_filter),
    };
    return cmocka_run_group_tests_name("ui_header", tests, NULL, NULL);
}
