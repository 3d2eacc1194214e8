/* Every screen of the registry and every dialog, in each size and state: no data, one row, 500
 * rows, breaker open, node lost; in Unicode and ASCII. There is a file for each screen and state in
 * tests/golden/matrix/. The test fails for a registered screen that is not in `ways`. */
#include "fake_capture.h"
#include "fake_parts.h"
#include "fake_processes.h"
#include "fake_snapshot.h"
#include "fake_stacks.h"
#include "fake_trace.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/slow_trace.h>
#include <kprof/core/tier.h>
#include <kprof/core/why.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/screens.h>
#include <ui/state.h>

/* --- states --- */

static void over_time(struct fake *f)
{
    const struct snapshot *s = fake_snap(f);
    size_t i = s->n_rows - 1; /* the total of all rows, if there is one, is selected */
    while (i > 0 && (s->rows[i].tier != TIER_TOTAL || s->rows[i].ident)) {
        i--;
    }
    fake_heat(f, &s->rows[i], 112, 1);
    fake_dist(f, &s->rows[i]);
    fake_trends(f);
}

static struct fake *none(void)
{
    return fake_new();
}

static struct fake *one(void)
{
    struct fake *f = fake_new();
    fake_row(f, 0, "db", NULL, 42, 1234);
    fake_events(f, 1, 1, 1);
    over_time(f);
    return f;
}

static struct fake *many(void)
{
    struct fake *f = fake_many(499);
    fake_row(f, TIER_TOTAL, "_total", NULL, 1000000, 12345);
    fake_events(f, 64, 30, 16);
    fake_vm_events(f);
    over_time(f);
    return f;
}

static struct fake *breaker(void)
{
    struct fake *f = fake_tripped();
    fake_snap(f)->lost.target = 8123;
    over_time(f);
    fake_gap(f, 7.25, 0, GAP_OVERLOAD);
    fake_vm(f, VM_EVENT_BREAKER, 7.25, 7250000)->open = true;
    return f;
}

static struct fake *lost(void)
{
    struct fake *f = fake_standard(3);
    struct snap_node *n = &fake_snap(f)->node;
    n->connected = n->tracing = false;
    strcpy(n->state, "CONNECTION LOST, next try in 4 s: connection refused");
    over_time(f);
    return f;
}

static const struct state {
    const char *name;
    struct fake *(*make)(void);
    unsigned functions; /* functions in the catalog of the picker; 0: not loaded */
    enum catalog_state catalog;
    const char *note;
    int capture;  /* struct capture's state */
    bool dialogs; /* also drawn in this state */
} states[] = {
    {"none", none, 0, CATALOG_WAITING,
     "not connected to app@host yet; its functions appear afterwards", CAPTURE_RUNNING, true},
    {"one", one, 1, CATALOG_WHOLE, "", CAPTURE_DONE, false},
    {"many", many, 500, CATALOG_WHOLE, "", CAPTURE_DONE, true},
    {"breaker", breaker, 40, CATALOG_LOADING, "", CAPTURE_DONE, false},
    {"lost", lost, 40, CATALOG_PART, "the connection went", CAPTURE_FAILED, false},
};

enum { STATES = sizeof states / sizeof *states };

static struct catalog *functions(const struct state *st)
{
    struct catalog *c = catalog_new();
    char name[32];
    for (unsigned i = 0; i < st->functions; i++) {
        if (i % 20 == 0) {
            snprintf(name, sizeof name, i % 40 ? "Shop.Part%u." : "shop_part%u:", i / 20);
            catalog_module(c, name, "shop", i % 60 == 0);
        }
        snprintf(name, sizeof name, "function_%u", i);
        catalog_function(c, name, i % 5, i % 7);
        catalog_set_rate(c, i, i % 3 ? (float)(i * 7919 % 20000) : CATALOG_UNCOUNTED);
    }
    struct catalog_status status = {
        .state = st->catalog, .modules_done = st->functions / 20, .modules = 25};
    snprintf(status.note, sizeof status.note, "%s", st->note);
    catalog_set_status(c, &status);
    return c;
}

/* --- ways --- */

static void choose_profile(struct ui *u)
{
    static const char *const items[] = {"checkout", "login", "nightly_report"};
    ui_choose(u, INTENT_LOAD, "Load profile", items, 3);
}

static void choose_preset(struct ui *u)
{
    static const char *const items[] = {"cowboy     Cowboy 2: requests by method and path",
                                        "phoenix    Phoenix: controllers and actions"};
    ui_choose(u, INTENT_PRESET, "Presets for this node", items, 2);
}

static void preset_of(struct ui *u)
{
    ui_reprompt(u, INTENT_PRESET, "gen_server:", 11, "which module? write it after the colon");
}

static void overwrite(struct ui *u)
{
    ui_ask_overwrite(u, "kprof-top-20261121-030405.txt");
}

static void wrong_rule(struct ui *u)
{
    ui_reprompt(u, INTENT_IDENTITY, "fun ({M,F,[A}) -> A end", 14,
                "1:15: syntax error before: '}'");
}

static void complete(struct ui *u)
{
    static const char *const items[] = {"myapp_db:close/1", "myapp_db:get/2", "myapp_db:query/2",
                                        "'Elixir.MyApp.Repo':get/2"};
    ui_set_completions(u, "my", items, 4);
}

/* `keys` open the screen from the table if there are data of all kinds; `answer` is the answer of
 * app; keys_then are pressed in the state. */
static const struct way {
    const char *name;
    enum screen_id screen;
    const char *keys, *keys_then;
    void (*answer)(struct ui *u);
} ways[] = {
    {"table", SCREEN_TABLE, "", "", NULL},
    {"slow", SCREEN_SLOW, "S", "<Down>", NULL},
    {"fall", SCREEN_WATERFALL, "S<Enter>", "<Down>", NULL},
    {"heat", SCREEN_HEAT, "H", "", NULL},
    {"dist", SCREEN_DIST, "D", "", NULL},
    {"parts", SCREEN_PARTS, "B", "", NULL},
    {"log", SCREEN_LOG, "M", "", NULL},
    {"help", SCREEN_HELP, "?", "", NULL},
    {"pick", SCREEN_PICK, "a", "<Down>", NULL},
    {"point", SCREEN_ARGUMENTS, "I", "<Down><Down>", NULL},
    {"open", SCREEN_OPEN_CALLS, "O", "", NULL},
    {"flame", SCREEN_FLAME, "F", "<Down><Down>", NULL},
    {"subsecond", SCREEN_SUBSECOND, "FH", "v<Left><Up>", NULL},
    {"internals", SCREEN_INTERNALS, "#", "", NULL},
    {"processes", SCREEN_PROCESSES, "U", "<Down>", NULL},
    {"findings", SCREEN_FINDINGS, "Y", "<Down>", NULL},
    {"full_ask", SCREEN_FULL_ASK, "<Down>x", "<Down>", NULL},
    {"full", SCREEN_FULL, "X", "<Down><Down>", NULL},
    {"full_flame", SCREEN_FULL_FLAME, "Xf", "<Down><Down>", NULL},
    {"full_line", SCREEN_FULL_LINE, "Xt", "<Right><Right><Right><Down>", NULL},
};

static const struct way dialogs[] = {
    {"sort", SCREEN_TABLE, "", "s", NULL},
    {"columns", SCREEN_TABLE, "", "C<Down> ", NULL},
    {"entry", SCREEN_TABLE, "", "E", NULL},
    {"filter", SCREEN_TABLE, "", "/upd", NULL},
    {"type", SCREEN_TABLE, "Adb=my", "<Tab>", complete},
    {"identity", SCREEN_TABLE, "", "i", NULL},
    {"identity_wrong", SCREEN_TABLE, "", "", wrong_rule},
    {"remove", SCREEN_TABLE, "", "<Down>d", NULL},
    {"export", SCREEN_TABLE, "", "e", NULL},
    {"overwrite", SCREEN_TABLE, "", "", overwrite},
    {"window", SCREEN_TABLE, "", "c", NULL},
    {"save", SCREEN_TABLE, "", "W", NULL},
    {"load", SCREEN_TABLE, "", "", choose_profile},
    {"presets", SCREEN_TABLE, "", "", choose_preset},
    {"preset_of", SCREEN_TABLE, "", "", preset_of},
    {"slow_filter", SCREEN_SLOW, "S", "/create", NULL},
    {"slow_export", SCREEN_SLOW, "S", "e", NULL},
    {"threshold", SCREEN_SLOW, "S", "s", NULL},
    {"trigger", SCREEN_TABLE, "", "!", NULL},
    {"trigger_when", SCREEN_FLAME, "F", "!<Down><Enter>", NULL},
    {"sandwich", SCREEN_FLAME, "F", "<Down><Down>s", NULL},
};

static void give_capture(struct ui *u, const struct state *st)
{
    struct capture got = {.kept = 7, .seen = 7};
    if (st->capture == CAPTURE_DONE) {
        got = fake_capture();
    } else if (st->capture == CAPTURE_FAILED) {
        got.state = CAPTURE_FAILED;
        strcpy(got.why, "the function was not called within 5 s");
    } else {
        got.state = CAPTURE_RUNNING;
    }
    strcpy(got.function, "my_web:handle/2");
    ui_set_capture(u, &got);
}

/* --- pictures --- */

static const struct {
    int rows, cols;
} sizes[] = {{24, 80}, {40, 120}, {10, 40}};

static struct stack_profile *give_stacks(struct ui *u, const struct state *st)
{
    struct stack_profile *p = NULL;
    struct snap_sampling s = {.state = st->make == none   ? SAMPLING_NONE
                                       : st->make == lost ? SAMPLING_NO_NODE
                                                          : SAMPLING_ON,
                              .pause = st->make == breaker ? SAMPLING_BREAKER : SAMPLING_RUNS};
    if (st->make != none) {
        strcpy(s.who, "top:100:reductions");
        s.each_ms = s.each_ms_asked = 99;
        s.processes = s.matched = st->make == one ? 1 : 100;
        p = fake_stacks(st->make == many);
    }
    ui_set_sampling(u, &s);
    if (p) {
        ui_set_stacks(u, stack_profile_view(p), "app@host");
    }
    return p;
}

/* By state: no table yet; a table; grouped, and the connection lost; stopped by the breaker. */
static void give_processes(struct ui *u, const struct state *st)
{
    if (st->make == none) {
        ui_set_processes(u, NULL, "not connected to app@host yet");
        return;
    }
    struct process_table *t = fake_processes(st->make == one ? 1 : 200, false);
    t->head.gate = st->make == breaker ? PROCESS_GATE_BREAKER : PROCESS_GATE_OPEN;
    ui_set_processes(u, t, NULL);
    if (st->make == lost) {
        u->processes.query.group = PROCESS_BY_CALL;
        ui_set_processes(u, NULL, "the connection to app@host is lost");
    } else if (st->make == breaker) {
        u->processes.stack = 102;
        process_screen_set_stack(&u->processes, 102, "shop_mailbox:take/2 (shop.erl:7)\n", false);
    }
}

static bool is_full(enum screen_id screen)
{
    return screen == SCREEN_FULL || screen == SCREEN_FULL_FLAME || screen == SCREEN_FULL_LINE;
}

/* A result, so that the screens of it can be opened. */
static void give_trace(struct ui *u, bool many)
{
    struct full_now now = {.state = FULL_ENDED, .what = "a request named update"};
    struct stack_profile *p;
    struct call_tree *t = fake_trace(many, many, &p);
    strcpy(now.says, "shop_web:handle/1: 47 events");
    ui_set_full(u, &now);
    ui_set_full_result(u, t, p);
}

/* By state: no trace; a trace; a large one; no request was traced; waiting for a request. */
static void give_full(struct ui *u, const struct state *st)
{
    struct full_now now = {.state = FULL_NOT_CAUGHT, .what = "a request named update"};
    if (st->make == one || st->make == many) {
        give_trace(u, st->make == many);
        return;
    }
    full_state_release(&u->full);
    strcpy(now.says, "the breaker opened, so the full trace ended");
    if (st->make == lost) {
        now.state = FULL_ARMED;
        now.attempts = 3;
        now.waited_ns = UINT64_C(12000000000);
    }
    if (st->make == none) {
        now = (struct full_now){0};
    }
    ui_set_full(u, &now);
}

/* The node is not verified: every screen says so in red, and its picture is valid. */
static void draw_unverified(struct ui *u, struct canvas *c, struct snapshot *s, const char *name)
{
    strcpy(s->node.tls, "not verified");
    script_run(u, c, s, "");
    const char *why = canvas_broken(c);
    bool red = false;
    for (int i = 0; i < c->cols * 3; i++) {
        const struct cell *k = &c->cells[i];
        red = red || (k->style == STYLE_BAD && k[0].utf8[0] == 'n' && k[4].utf8[0] == 'v');
    }
    if (why || !red || !picture_has(c, "TLS not verified")) {
        fail_msg("%s, not verified, %dx%d: %s", name, c->cols, c->rows, why ? why : "not shown");
    }
    s->node.tls[0] = '\0';
}

static void draw(const struct way *w, const struct state *st, int size, bool ascii, struct buf *out)
{
    struct fake *full = fake_standard(3), *f = st->make();
    struct catalog *catalog = functions(st);
    struct ui *u = ui_new("app@host");
    struct canvas c;
    struct stack_profile *stacks =
        w->screen == SCREEN_FLAME || w->screen == SCREEN_SUBSECOND ? give_stacks(u, st) : NULL;
    canvas_init(&c, sizes[size].rows, sizes[size].cols, ascii);
    if (is_full(w->screen)) {
        give_trace(u, false);
    }
    script_run(u, &c, fake_snap(full), w->keys);
    if (u->screen != w->screen) {
        fail_msg("the keys %s do not open %s", w->keys, screens_ops(w->screen)->name);
    }
    if (w->screen == SCREEN_WATERFALL && fake_snap(f)->n_slow_traces) {
        u->waterfall.id = fake_snap(f)->slow_traces[0].request->id;
    }
    if (w->answer) {
        w->answer(u);
    }
    ui_set_catalog(u, catalog);
    if (w->screen == SCREEN_ARGUMENTS) {
        give_capture(u, st);
    }
    if (w->screen == SCREEN_PROCESSES) {
        give_processes(u, st);
    }
    if (w->screen == SCREEN_FINDINGS) {
        why_add(fake_snap(f), NULL, NULL);
    }
    if (is_full(w->screen)) {
        give_full(u, st);
    }
    struct fake_parts *parts = w->screen == SCREEN_PARTS ? fake_parts_give(fake_snap(f)) : NULL;
    script_run(u, &c, fake_snap(f), w->keys_then);
    buf_addf(out, "=== %dx%d %s\n", c.cols, c.rows, ascii ? "ASCII" : "Unicode");
    if (size == 0 && !ascii) {
        picture(&c, out);
    } else {
        canvas_dump(&c, out);
    }
    const char *why = canvas_broken(&c);
    if (why) {
        fail_msg("%s, %s, %dx%d: %s", w->name, st->name, c.cols, c.rows, why);
    }
    if (u->shared.dialog.mode == DIALOG_NONE) { /* a long menu covers the header while it is open */
        draw_unverified(u, &c, fake_snap(f), w->name);
    }
    canvas_release(&c);
    ui_free(u);
    stack_profile_free(stacks);
    catalog_free(catalog);
    fake_parts_free(parts);
    fake_free(f);
    fake_free(full);
}

static bool is_golden(const struct way *w, const struct state *st, struct buf *got)
{
    char name[100];
    for (int size = 0; size < 3; size++) {
        draw(w, st, size, false, got);
        draw(w, st, size, true, got);
    }
    snprintf(name, sizeof name, "matrix/%s_%s", w->name, st->name);
    return text_is_golden(got, name);
}

static const struct way *way_to(enum screen_id screen)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (ways[i].screen == screen) {
            return &ways[i];
        }
    }
    fail_msg("the screen \"%s\" is registered: add it to `ways`", screens_ops(screen)->name);
    return NULL;
}

static void every_screen_in_every_state(void **state)
{
    (void)state;
    int wrong = 0;
    size_t n = 0;
    for (enum screen_id screen = SCREEN_NONE + 1; screen < SCREEN_COUNT; screen++, n++) {
        for (size_t i = 0; i < STATES; i++) {
            struct buf got;
            buf_init(&got, 0);
            wrong += !is_golden(way_to(screen), &states[i], &got);
            buf_release(&got);
        }
    }
    assert_int_equal(n, sizeof ways / sizeof *ways);
    assert_int_equal(wrong, 0);
}

static void every_dialog(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < STATES * (sizeof dialogs / sizeof *dialogs); i++) {
        const struct way *w = &dialogs[i / STATES];
        struct buf got;
        if (!states[i % STATES].dialogs) {
            continue;
        }
        buf_init(&got, 0);
        wrong += !is_golden(w, &states[i % STATES], &got);
        buf_release(&got);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_screen_in_every_state),
        cmocka_unit_test(every_dialog),
    };
    return cmocka_run_group_tests_name("ui_matrix", tests, NULL, NULL);
}
