/* The flame graph of a node: how it is opened and left, what is asked of app, the line with the
 * cost, why there are no samples. The samples are those of fake_stacks, each of 1 us: 300 us, of
 * which 180 us are of processes that run. */
#include "fake_snapshot.h"
#include "fake_stacks.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/ui/keys.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/state.h>

struct show {
    struct ui *u;
    struct canvas c;
    struct fake *fake;
    struct stack_profile *p;
    struct snap_sampling sampling;
};

static const struct snap_sampling well = {.state = SAMPLING_ON,
                                          .who = "top:100:reductions",
                                          .percent = 0.42,
                                          .each_ms = 99,
                                          .each_ms_asked = 99,
                                          .processes = 100,
                                          .matched = 100};
static const struct snap_sampling busy = {.state = SAMPLING_ON,
                                          .who = "all",
                                          .percent = 4.9,
                                          .each_ms = 396,
                                          .each_ms_asked = 99,
                                          .less_often = true,
                                          .processes = 1000,
                                          .matched = 123456,
                                          .late = 12,
                                          .skipped = 345,
                                          .lost = 6,
                                          .held = 7};

static void begin(struct show *w, int rows, int cols)
{
    w->u = ui_new("app@host");
    w->fake = fake_standard(12);
    w->p = fake_stacks(false);
    w->sampling = well;
    struct stack_profile_meta meta = *stack_profile_meta(w->p);
    meta.unit = STACK_UNIT_US;
    stack_profile_set_meta(w->p, &meta);
    canvas_init(&w->c, rows, cols, false);
}

static void end(struct show *w)
{
    canvas_release(&w->c);
    ui_free(w->u);
    fake_free(w->fake);
    stack_profile_free(w->p);
}

static struct intent keys(struct show *w, const char *script)
{
    return script_run(w->u, &w->c, fake_snap(w->fake), script);
}

/* What app does about once a second. */
static void tell(struct show *w, const struct snap_sampling *s, bool samples)
{
    w->sampling = *s;
    ui_set_sampling(w->u, s);
    if (samples) {
        ui_set_stacks(w->u, stack_profile_view(w->p), "app@host");
    }
    keys(w, "");
}

#define GOLDEN(w, name) assert_true(picture_is_golden(&(w)->c, name))

static const struct {
    int rows, cols;
    const char *name;
} sizes[] = {{24, 80, "80x24"}, {40, 120, "120x40"}, {10, 40, "40x10"}};

static void picture_of(const char *name, const struct snap_sampling *s, bool samples,
                       const char *script)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct show w;
        char golden[100];
        begin(&w, sizes[i].rows, sizes[i].cols);
        keys(&w, "F");
        tell(&w, s, samples);
        keys(&w, script);
        assert_null(canvas_broken(&w.c));
        snprintf(golden, sizeof golden, "flame_live_%s_%s", name, sizes[i].name);
        GOLDEN(&w, golden);
        end(&w);
    }
}

static void pictures(void **state)
{
    (void)state;
    picture_of("samples", &well, true, "<Down><Down>");
    picture_of("busy", &busy, true, "");
    picture_of("menu", &(struct snap_sampling){0}, false, "w");
    picture_of("none", &(struct snap_sampling){0}, false, "");
    picture_of("typed", &(struct snap_sampling){0}, false, "w<End><Enter>app:kernel");
}

static void says(const struct snap_sampling *s, const char *line, const char *why)
{
    struct show w;
    begin(&w, 24, 120);
    keys(&w, "F");
    tell(&w, s, false);
    if (!picture_has(&w.c, line) || !picture_has(&w.c, why)) {
        struct buf b;
        buf_init(&b, 0);
        canvas_dump(&w.c, &b);
        fail_msg("neither \"%s\" nor \"%s\":\n%s", line, why, b.data);
    }
    end(&w);
}

static void without_samples_it_says_why(void **state)
{
    (void)state;
    struct snap_sampling s = {.state = SAMPLING_NONE};
    says(&s, "w chooses processes", "No samples yet: nothing is sampled. w chooses the processes.");
    s.replay = true;
    says(&s, "recording", "No samples yet: the recording has contained no stack samples so far.");
    s = well;
    s.state = SAMPLING_NO_NODE;
    says(&s, "WAITING for the node", "No samples yet: the node is not connected.");
    s.state = SAMPLING_ASKED;
    says(&s, "asking the node", "No samples yet: the node has not answered.");
    s.state = SAMPLING_ON;
    says(&s, "SAMPLING  overhead 0.4%  every 99.0ms", "the first samples arrive within a second");
    s.pause = SAMPLING_BREAKER;
    says(&s, "PAUSED: the breaker is open", "No samples yet: the breaker is open.");
    s.pause = SAMPLING_LEASE;
    says(&s, "PAUSED", "No samples yet: the node receives nothing from kprof-top.");
    s.pause = SAMPLING_RUN_QUEUE;
    says(&s, "PAUSED", "No samples yet: the run queue of the node is long.");
    s.pause = SAMPLING_RUNS;
    s.processes = s.matched = 0;
    says(&s, "SAMPLING", "No samples yet: no process matches; the node checks again every 5 s.");
    strcpy(s.who, "<0.123.0>");
    says(&s, "<0.123.0>", "No samples yet: the process has ended; w chooses others, for example");
    strcpy(s.who, "inside");
    says(&s, "inside", "No samples yet: no call of a tier was seen in the last 2 s.");
    s.held = 3;
    says(&s, "left out (--hazards) 3", "left out because of a fault of this VM");
    s = well;
    s.lost = 5;
    says(&s, "lost 5", "No samples yet: all samples so far were lost.");
    s.state = SAMPLING_FAILED;
    strcpy(s.why, "the node cannot sample stacks: invalid choice of processes");
    says(&s, "the node cannot sample", "No samples: the node cannot sample stacks: invalid choice");
    s.state = SAMPLING_OFF;
    s.why[0] = 0;
    says(&s, "OFF (t: on)", "No samples: sampling is off. t switches it on.");
}

static void assert_intent(struct show *w, const char *script, enum intent_kind kind,
                          const char *text)
{
    struct intent in = keys(w, script);
    if (in.kind != kind || strcmp(in.text, text) != 0) {
        fail_msg("keys %s: intent %d \"%s\", not %d \"%s\"", script, in.kind, in.text, kind, text);
    }
}

static void keys_ask_app(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80);
    assert_false(ui_shows_stacks(w.u));
    assert_intent(&w, "F", INTENT_FLAME, "");
    assert_true(ui_shows_stacks(w.u));
    ui_ask_sampling(w.u);
    assert_intent(&w, "<Down><Enter>", INTENT_SAMPLING, "top:100:memory");
    tell(&w, &well, true);
    assert_intent(&w, "w<Enter>", INTENT_SAMPLING, "top:100:reductions");
    assert_intent(&w, "w<End><Enter>0.91.0", INTENT_REDRAW, "");
    assert_intent(&w, "<Enter>", INTENT_SAMPLING, "0.91.0");
    ui_reprompt(w.u, INTENT_SAMPLING, "<0.91", SIZE_MAX, "not a pid of the node");
    keys(&w, "");
    assert_true(picture_has(&w.c, "not a pid of the node"));
    keys(&w, "<Esc>");
    assert_intent(&w, "t", INTENT_SAMPLING_TOGGLE, "");
    assert_intent(&w, " ", INTENT_SAMPLING_TOGGLE, "");
    assert_intent(&w, "+", INTENT_SAMPLING_MORE, "");
    assert_intent(&w, "-", INTENT_SAMPLING_LESS, "");
    keys(&w, "?");
    assert_true(ui_shows_stacks(w.u)); /* behind the help: it is not left */
    ui_ask_sampling(w.u);
    assert_int_equal(w.u->shared.dialog.mode, DIALOG_NONE);
    end(&w);
}

/* It says whether the sampling goes on, and one key ends it. */
static void it_is_left(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80);
    keys(&w, "F");
    tell(&w, &well, true);
    assert_false(ui_keeps_sampling(w.u));
    keys(&w, "K");
    assert_true(ui_keeps_sampling(w.u));
    assert_true(picture_has(&w.c, "KEEP"));
    keys(&w, "F");
    assert_false(ui_shows_stacks(w.u));
    fake_snap(w.fake)->sampling = well;
    keys(&w, "");
    assert_true(picture_has(&w.c, "stacks 0.4%"));
    fake_snap(w.fake)->sampling.pause = SAMPLING_BREAKER;
    keys(&w, "");
    assert_true(picture_has(&w.c, "stacks paused"));
    assert_intent(&w, "K", INTENT_SAMPLING_END, "");
    assert_false(ui_keeps_sampling(w.u));
    end(&w);
}

static void it_goes_back_to_where_it_was_opened(void **state)
{
    (void)state;
    static const struct {
        const char *way, *back;
        enum screen_id screen;
    } all[] = {{"F", "<Esc>", SCREEN_TABLE},  {"F", "F", SCREEN_TABLE},
               {"SF", "<Esc>", SCREEN_SLOW},  {"Of", "<Esc>", SCREEN_OPEN_CALLS},
               {"HF", "<Esc>", SCREEN_HEAT},  {"S<Enter>F", "F", SCREEN_WATERFALL},
               {"F?q", "<Esc>", SCREEN_TABLE}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct show w;
        begin(&w, 24, 80);
        keys(&w, all[i].way);
        assert_int_equal(w.u->screen, SCREEN_FLAME);
        struct intent in = keys(&w, all[i].back);
        assert_int_equal(w.u->screen, all[i].screen);
        assert_int_equal(in.kind, all[i].screen == SCREEN_HEAT ? INTENT_VIEW_QUERY : INTENT_REDRAW);
        end(&w);
    }
}

static void a_process_of_another_screen(void **state)
{
    (void)state;
    struct show w;
    char pid[SNAPSHOT_PID_BYTES];
    begin(&w, 24, 80);
    fake_events(w.fake, 3, 3, 0);
    const struct snapshot *s = fake_snap(w.fake);
    snapshot_pid(s->open[1].pid, pid);
    assert_intent(&w, "O<Down>f", INTENT_SAMPLING, pid);
    assert_int_equal(w.u->screen, SCREEN_FLAME);
    snapshot_pid(slow_pid(&s->slow[0]), pid);
    assert_intent(&w, "<Esc>Sf", INTENT_SAMPLING, pid);
    assert_int_equal(w.u->screen, SCREEN_FLAME);
    keys(&w, "<Esc>");
    fake_snap(w.fake)->node.replay = true;
    assert_intent(&w, "f", INTENT_REDRAW, "");
    assert_int_equal(w.u->screen, SCREEN_SLOW);
    assert_true(picture_has(&w.c, "not possible in a replay"));
    end(&w);
}

static uint64_t shown(const struct show *w)
{
    return w->u->flame.pane[0].graph->node[0].total;
}

/* If many processes are sampled, most of them wait: only those that run are shown at first. */
static void running_processes_first(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80);
    keys(&w, "F");
    tell(&w, &well, true);
    assert_int_equal(shown(&w), 180);
    assert_true(picture_has(&w.c, "180us of time, running"));
    keys(&w, "a");
    assert_int_equal(shown(&w), 300);
    tell(&w, &well, true); /* what the operator chose stays */
    assert_int_equal(shown(&w), 300);
    keys(&w, "a");
    assert_int_equal(shown(&w), 180);
    struct snap_sampling one = well;
    strcpy(one.who, "<0.91.0>");
    tell(&w, &one, true);
    assert_int_equal(shown(&w), 300);
    end(&w);
}

static void another_choice_is_another_graph(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80);
    keys(&w, "F");
    tell(&w, &well, true);
    keys(&w, "dz");
    assert_true(w.u->flame.frozen && w.u->flame.compare);
    tell(&w, &well, true);
    assert_true(w.u->flame.frozen && w.u->flame.compare);
    tell(&w, &busy, true);
    assert_false(w.u->flame.frozen || w.u->flame.compare);
    assert_int_equal(shown(&w), 180);
    end(&w);
}

static void a_file_is_not_sampled(void **state)
{
    (void)state;
    struct show w;
    begin(&w, 24, 80);
    ui_set_stacks(w.u, stack_profile_view(w.p), "x.folded");
    ui_show_stacks(w.u, true);
    for (const char *k = "wtK+-"; *k; k++) {
        keys(&w, (char[2]){*k});
        assert_true(picture_has(&w.c, "nothing is sampled: the samples are from a file"));
    }
    keys(&w, "F");
    assert_true(ui_shows_stacks(w.u));
    struct snap_sampling s = {.state = SAMPLING_ON, .replay = true};
    tell(&w, &s, true);
    keys(&w, "t");
    assert_true(picture_has(&w.c, "the samples are from a recording"));
    end(&w);
}

int main(void)
{
    setenv("TZ", "UTC0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures),
        cmocka_unit_test(without_samples_it_says_why),
        cmocka_unit_test(keys_ask_app),
        cmocka_unit_test(it_is_left),
        cmocka_unit_test(it_goes_back_to_where_it_was_opened),
        cmocka_unit_test(a_process_of_another_screen),
        cmocka_unit_test(running_processes_first),
        cmocka_unit_test(another_choice_is_another_graph),
        cmocka_unit_test(a_file_is_not_sampled),
    };
    return cmocka_run_group_tests_name("ui_flame_live", tests, NULL, NULL);
}
