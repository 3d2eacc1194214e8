/* The screen of findings: for every rule, Enter opens the screen that proves it, with its subject
 * selected; the hint at a finding on other screens; pictures. */
#include "ui_script.h"
#include "why_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/process_table.h>
#include <kprof/core/why.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/screens.h>
#include <ui/state.h>

static struct ui *u;
static struct canvas c;
static struct scene *scene;

static void begin(struct scene *of, int rows, int cols)
{
    u = ui_new(NULL);
    canvas_init(&c, rows, cols, false);
    scene = of;
    why_add(&scene->s, scene_who, NULL);
}

static void end(void)
{
    const char *why = canvas_broken(&c);
    if (why) {
        fail_msg("%s", why);
    }
    canvas_release(&c);
    ui_free(u);
    scene_free(scene);
}

static void keys(const char *script)
{
    script_run(u, &c, &scene->s, script);
}

/* ---- proofs ---- */

static const struct proof {
    const char *rule;
    enum screen_id screen;
    int tier, kind;      /* the row that must be selected; tier -1: any */
    const char *picture; /* text that must be on the screen */
    unsigned sort;       /* SCREEN_PROCESSES */
} proofs[] = {
    {"gap", SCREEN_LOG, -1, 0, "MESSAGES", 0},
    {"lost", SCREEN_INTERNALS, -1, 0, "lost", 0},
    {"queue", SCREEN_WATERFALL, ACC, KINDS, "acc", 0},
    {"lock", SCREEN_WATERFALL, ACC, KINDS, "acc", 0},
    {"run_queue", SCREEN_PROCESSES, -1, 0, "PROCESSES", PROCESS_SORT_RUN},
    {"gc", SCREEN_PARTS, DB, KINDS, "db", 0},
    {"dirty", SCREEN_PARTS, DB, KINDS, "db", 0},
    {"port", SCREEN_PARTS, DB, KINDS, "db", 0},
    {"tier", SCREEN_WATERFALL, DB, WRITE, "db", 0},
    {"differs", SCREEN_TABLE, DB, WRITE, "write", 0},
    {"repeats", SCREEN_TABLE, DB, READ, "read", 0},
    {"hangs", SCREEN_OPEN_CALLS, -1, 0, "db", 0},
    {"errors", SCREEN_TABLE, DB, WRITE, "write", 0},
    {"frequent", SCREEN_HEAT, TIERS, READ, "read", 0},
    {"slower", SCREEN_TABLE, DB, WRITE, "write", 0},
    {"memory", SCREEN_PROCESSES, -1, 0, "PROCESSES", PROCESS_MEMORY},
    {"dirty_queue", SCREEN_PROCESSES, -1, 0, "PROCESSES", PROCESS_SORT_RUN},
};

static void check_subject(const struct proof *p, const struct snap_finding *w)
{
    if (p->tier >= 0 &&
        rows_selected(&u->shared.rows, &scene->s) != scene_row(scene, p->tier, p->kind)) {
        fail_msg("%s: another row is selected", p->rule);
    }
    if (p->screen == SCREEN_WATERFALL && (!w->trace || u->waterfall.id != w->trace)) {
        fail_msg("%s: the waterfall is of another request", p->rule);
    }
    if (p->screen == SCREEN_OPEN_CALLS &&
        (u->open_calls.pid != w->pid || u->open_calls.start_ns != w->start_ns)) {
        fail_msg("%s: another call is selected", p->rule);
    }
    if (p->screen == SCREEN_PROCESSES) {
        assert_int_equal(u->processes.query.sort, p->sort);
    }
    if (!picture_has(&c, p->picture)) {
        fail_msg("%s: \"%s\" is not on the screen", p->rule, p->picture);
    }
}

static void every_rule_is_proved(void **state)
{
    (void)state;
    const struct why_rule_text *r;
    for (size_t i = 0; (r = why_rule(i)); i++) {
        const struct proof *p = &proofs[i];
        assert_true(i < sizeof proofs / sizeof *proofs);
        assert_string_equal(p->rule, r->name);
        begin(scene_of(r->name), 24, 80);
        keys("Y");
        assert_int_equal(u->screen, SCREEN_FINDINGS);
        struct snap_finding w = scene->s.why.of[0];
        keys("<Enter>");
        if (u->screen != p->screen) {
            fail_msg("%s: Enter opens %s", p->rule, screens_ops(u->screen)->name);
        }
        check_subject(p, &w);
        keys("<Esc>");
        assert_int_equal(u->screen, SCREEN_FINDINGS);
        end();
    }
    assert_int_equal(why_rule(sizeof proofs / sizeof *proofs), NULL);
}

/* The selected finding stays selected while its place in the list changes. */
static void the_selected_one(void **state)
{
    (void)state;
    begin(scene_of("errors"), 24, 80);
    scene->s.lost.ring = 1;
    why_add(&scene->s, scene_who, NULL);
    keys("Y<Down>");
    assert_string_equal(scene->s.why.of[1].rule, "lost");
    scene->s.gap_s = 5; /* a new one, above both */
    why_add(&scene->s, scene_who, NULL);
    keys("<Enter>");
    assert_int_equal(u->screen, SCREEN_INTERNALS);
    end();
}

/* The waterfall of a request that the snapshot has dropped since. */
static void the_waterfall_stays(void **state)
{
    (void)state;
    begin(scene_of("queue"), 24, 80);
    keys("Y<Enter>");
    assert_true(picture_has(&c, "of 30"));
    size_t n = scene->s.n_slow_traces;
    scene->s.n_slow_traces = 0;
    keys("<Down>");
    assert_true(picture_has(&c, "no longer stored: visible until you leave"));
    assert_true(picture_has(&c, "acc"));
    scene->s.n_slow_traces = n;
    keys("<Down>");
    assert_true(picture_has(&c, "of 30"));
    end();
}

/* ---- the hint ---- */

static void hint(void **state)
{
    (void)state;
    begin(scene_of("queue"), 24, 80);
    keys("<Down>");
    assert_true(picture_has(&c, "Y finding: waiting for a busy process"));
    keys("D");
    assert_true(picture_has(&c, "Y finding: waiting for a busy process"));
    keys("<Esc>Y");
    assert_false(picture_has(&c, "finding: waiting"));
    keys("<Esc>");
    scene->s.why.n = 0; /* missing for a moment */
    scene->s.wall_ns += 2 * SEC;
    keys("<Down>");
    assert_true(picture_has(&c, "Y finding: waiting for a busy process"));
    scene->s.wall_ns += 2 * SEC;
    keys("<Up>");
    assert_false(picture_has(&c, "finding:"));
    end();

    begin(scene_of("differs"), 24, 80); /* not important enough */
    assert_true(scene->s.why.of[0].score < 0.7);
    keys("<Down>");
    assert_false(picture_has(&c, "finding:"));
    end();

    begin(scene_of("queue"), 24, 80); /* a message comes first, and so does a new line of the log */
    scene->log[0] = (struct snap_log){.wall_ns = scene->s.wall_ns - SEC, .text = "tracing on"};
    scene->s.log = scene->log;
    scene->s.n_log = 1;
    keys("<Resize>");
    assert_true(picture_has(&c, "tracing on"));
    scene->s.wall_ns += 20 * SEC;
    keys("<Resize>");
    assert_true(picture_has(&c, "Y finding: waiting for a busy process"));
    ui_message(u, "attached", false);
    keys("<Resize>");
    assert_true(picture_has(&c, "attached"));
    scene->s.wall_ns += 20 * SEC;
    keys("<Resize>");
    assert_false(picture_has(&c, "attached"));
    ui_message(u, "refused", true); /* an error stays until the next key */
    keys("<Resize>");
    scene->s.wall_ns += 20 * SEC;
    keys("<Resize>");
    assert_true(picture_has(&c, "refused"));
    end();

    begin(scene_quiet(), 24, 80); /* without a finding, a message stays, too */
    ui_message(u, "attached", false);
    keys("<Resize>");
    scene->s.wall_ns += 20 * SEC;
    keys("<Resize>");
    assert_true(picture_has(&c, "attached"));
    end();
}

/* ---- pictures ---- */

static struct scene *several(void)
{
    struct scene *of = scene_of("queue");
    scene_row(of, DB, KINDS)->errors = 200;
    scene_row(of, DB, WRITE)->errors = 195;
    for (size_t i = 0; i < LOADS; i++) {
        of->load[i].memory_bytes += (uint64_t)i << 22;
    }
    of->s.detail.state = DETAIL_NOT_HERE;
    of->s.compared[0] = 0;
    return of;
}

static struct scene *nothing(void)
{
    struct scene *of = scene_quiet();
    of->s.slow_ns = 0;
    of->s.compared[0] = 0;
    return of;
}

static const struct golden {
    const char *name;
    struct scene *(*make)(void);
    int rows, cols;
    const char *keys;
} goldens[] = {
    {"findings_80x24", several, 24, 80, "Y<Down>"},
    {"findings_120x40", several, 40, 120, "Y"},
    {"findings_40x10", several, 10, 40, "Y"},
    {"findings_none_80x24", nothing, 24, 80, "Y"},
    {"findings_none_120x40", nothing, 40, 120, "Y"},
    {"findings_none_40x10", nothing, 10, 40, "Y"},
    {"findings_hint_80x24", several, 24, 80, "<Down>"},
    {"findings_hint_40x10", several, 10, 40, "<Down>"},
};

static void pictures(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const struct golden *g = &goldens[i];
        begin(g->make(), g->rows, g->cols);
        keys(g->keys);
        wrong += !picture_is_golden(&c, g->name);
        end();
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_is_proved),
        cmocka_unit_test(the_selected_one),
        cmocka_unit_test(the_waterfall_stays),
        cmocka_unit_test(hint),
        cmocka_unit_test(pictures),
    };
    return cmocka_run_group_tests_name("ui_findings", tests, NULL, NULL);
}
