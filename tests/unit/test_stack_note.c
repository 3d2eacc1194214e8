/* A page of stack samples says which node they are from, and what is missing in them. */
#include "fake_stacks.h"

#include <app/flame_file.h>
#include <app/live_impl.h>
#include <app/stack_note.h>
#include <fake_snapshot.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/kprof-note-XXXXXX";

static void read_file(const char *path, struct buf *out)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    buf_init(out, 0);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(out, part, n);
    fclose(file);
    unlink(path);
}

static void what_is_missing(void **state)
{
    struct snap_sampling s = {.depth = 8};
    char note[STACK_NOTE_BYTES];

    (void)state;
    stack_note(&s, note);
    assert_string_equal(note, "");
    s.cut_share = 0.25;
    s.born = 30;
    s.born_s = 10;
    stack_note(&s, note);
    assert_string_equal(note, "25% of the stacks are deeper than the 8 functions that the node "
                              "reports (its backtrace_depth): their outer callers are missing; 3.0 "
                              "processes were started per second: those that ended before they "
                              "were chosen were not sampled");
    strcpy(s.who, "inside"); /* all processes inside requests are chosen at once */
    s.cut_share = 0;
    stack_note(&s, note);
    assert_string_equal(note, "");
}

static void processes_that_are_held_back(void **state)
{
    struct snap_sampling s = {.processes = 4};
    char note[STACK_NOTE_BYTES];

    (void)state;
    stack_note_held(&s, note);
    assert_string_equal(note, "");
    s.held = 2;
    stack_note_held(&s, note);
    assert_string_equal(note, "2 processes were not sampled because of faults of this VM "
                              "(--hazards lists the faults)");
    stack_note_none(&s, false, note); /* four could have been sampled */
    assert_string_equal(note, "no process was sampled: no process was chosen, or none had one of "
                              "the sampled statuses; try --profile wall, or --statuses all");
    s.held = 1;
    s.processes = 0;
    stack_note_held(&s, note);
    assert_string_equal(note, "1 process was not sampled because of faults of this VM (--hazards "
                              "lists the faults)");
    stack_note_none(&s, true, note);
    assert_string_equal(note, "no process was sampled: on this VM it is not safe to ask the chosen "
                              "process for a stack (--hazards lists the faults)");
    s.held = 0;
    stack_note_none(&s, true, note);
    assert_non_null(strstr(note, "proc_lib:init_p/5"));
}

static void a_page_from_the_screen(void **state)
{
    static const struct engine_hooks hooks;
    struct settings settings = {0};
    struct options o = {0};
    struct err e;
    struct fake *f = fake_new();
    struct stack_profile *p = fake_stacks(false);
    struct live l = {.o = &o, .ui = ui_new(NULL), .snap = fake_snap(f)};
    struct intent in = {.kind = INTENT_EXPORT_STACKS};
    struct buf page;

    (void)state;
    l.g = engine_new(&settings, &hooks, &e);
    assert_non_null(l.g);
    ui_set_stacks(l.ui, stack_profile_view(p), "app@host");
    ui_show_stacks(l.ui, false);
    snprintf(in.text, sizeof in.text, "%s/live.html", dir);
    live_dispatch(&l, &in);
    read_file(in.text, &page);
    assert_non_null(strstr(page.data, "<title>app@host</title>"));
    buf_release(&page);
    flame_file_export(l.ui, &in, "x.folded", "the rest is missing");
    read_file(in.text, &page);
    assert_non_null(strstr(page.data, "<title>x.folded</title>"));
    assert_non_null(strstr(page.data, "the rest is missing"));
    buf_release(&page);
    ui_free(l.ui);
    engine_free(l.g);
    stack_profile_free(p);
    fake_free(f);
}

static int made(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int removed(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(processes_that_are_held_back),
        cmocka_unit_test(a_page_from_the_screen),
    };
    return cmocka_run_group_tests(tests, made, removed);
}
