/* Choices of processes: what a text means, what is refused, and any text at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rng.h"
#include <kprof/core/stack_profile.h>
#include <kprof/trace/process_choice.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct process_choice parsed(const char *text)
{
    struct process_choice c;
    struct err e = {{0}};

    if (process_choice_parse(text, &c, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    assert_string_equal(c.text, text);
    return c;
}

static void top(void **state)
{
    static const struct {
        const char *text;
        uint32_t n;
        enum stack_top by;
    } want[] = {{"top", 100, STACK_TOP_REDUCTIONS},
                {"top:1", 1, STACK_TOP_REDUCTIONS},
                {"top:1000", 1000, STACK_TOP_REDUCTIONS},
                {"top:memory", 100, STACK_TOP_MEMORY},
                {"top:20:queue", 20, STACK_TOP_QUEUE},
                {"top:20:message_queue_len", 20, STACK_TOP_QUEUE},
                {"top:20:binary", 20, STACK_TOP_BINARY},
                {"top:100:reductions", 100, STACK_TOP_REDUCTIONS}};
    struct process_choice c;

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        c = parsed(want[i].text);
        assert_int_equal(c.kind, PROCESSES_TOP);
        assert_int_equal(c.n, want[i].n);
        assert_int_equal(c.by, want[i].by);
    }
    process_choice_default(&c);
    assert_memory_equal(&c, &(struct process_choice[]){parsed(c.text)}[0], sizeof c);
}

static void pids_and_names(void **state)
{
    struct process_choice c = parsed("<0.91.0>,0.92.3,<0.4294967295.4294967295>");
    const char *name;

    (void)state;
    assert_int_equal(c.kind, PROCESSES_PIDS);
    assert_int_equal(c.n, 3);
    assert_int_equal(c.pid[0], 91);
    assert_int_equal(c.pid[1], 3ull << 32 | 92);
    assert_int_equal(c.pid[2], UINT64_MAX);
    c = parsed("my_server,'odd, name',MyApp.Repo,:other,'all'");
    assert_int_equal(c.kind, PROCESSES_NAMES);
    assert_int_equal(c.n, 5);
    name = c.name;
    static const char *const names[] = {"my_server", "odd, name", "Elixir.MyApp.Repo", "other",
                                        "all"};
    for (size_t i = 0; i < 5; i++, name += strlen(name) + 1)
        assert_string_equal(name, names[i]);
    c = parsed("topology");
    assert_int_equal(c.kind, PROCESSES_NAMES);
    assert_string_equal(c.name, "topology");
}

static void other_kinds(void **state)
{
    struct process_choice c = parsed("MyApp.Worker.init/1");

    (void)state;
    assert_int_equal(c.kind, PROCESSES_INITIAL_CALL);
    assert_string_equal(c.name, "Elixir.MyApp.Worker");
    assert_string_equal(c.name + strlen(c.name) + 1, "init");
    assert_int_equal(c.n, 1);
    c = parsed("app:shop");
    assert_int_equal(c.kind, PROCESSES_APPLICATION);
    assert_string_equal(c.name, "shop");
    c = parsed("app:shop/1"); /* a function of the module app */
    assert_int_equal(c.kind, PROCESSES_INITIAL_CALL);
    assert_string_equal(c.name, "app");
    c = parsed("children:<0.91.0>");
    assert_int_equal(c.kind, PROCESSES_CHILDREN);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.pid[0], 91);
    c = parsed("children:my_sup");
    assert_int_equal(c.kind, PROCESSES_CHILDREN);
    assert_int_equal(c.n, 0);
    assert_string_equal(c.name, "my_sup");
    assert_int_equal(parsed("inside").kind, PROCESSES_INSIDE);
    assert_int_equal(parsed("all").kind, PROCESSES_ALL);
}

static void refused(void **state)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "top:0",
                                        "top:1001",
                                        "top:99999999999999999999",
                                        "top:5:",
                                        "top:5:messages",
                                        "top:memory:5",
                                        "<0.91.0",
                                        "<1.91.0>",
                                        "0.91",
                                        "0.4294967296.0",
                                        "<0.91.0>,",
                                        "<0.91.0>,name",
                                        "name,<0.91.0>",
                                        "name,",
                                        ",name",
                                        "name other",
                                        "'odd",
                                        "''",
                                        "m:f/256",
                                        "m:f",
                                        "app:",
                                        "app:a,b",
                                        "children:",
                                        "children:a,b",
                                        "_x",
                                        "\xff",
                                        "'a\xff'"};
    struct process_choice c;
    struct err e;
    char list[PROCESS_CHOICE_BYTES + 10] = "";

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        e.text[0] = '\0';
        if (process_choice_parse(texts[i], &c, &e) == 0)
            fail_msg("%s passes", texts[i]);
        assert_true(strlen(e.text) > 20);
    }
    for (int i = 0; i < PROCESS_CHOICE_LIST + 1; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%sa", i ? "," : "");
    assert_int_equal(process_choice_parse(list, &c, &e), -1);
    memset(list, 'a', sizeof list);
    list[PROCESS_CHOICE_BYTES] = '\0';
    assert_int_equal(process_choice_parse(list, &c, &e), -1);
}

static void statuses(void **state)
{
    uint32_t bits;
    struct err e;

    (void)state;
    assert_int_equal(process_choice_statuses("running", &bits, &e), 0);
    assert_int_equal(bits, 1u << STACK_RUNNING);
    assert_int_equal(process_choice_statuses("runnable,waiting,waiting", &bits, &e), 0);
    assert_int_equal(bits, 1u << STACK_RUNNABLE | 1u << STACK_WAITING);
    assert_int_equal(process_choice_statuses("all", &bits, &e), 0);
    assert_int_equal(bits, (1u << STACK_STATUSES) - 1);
    static const char *const texts[] = {"", "run", "running,", ",", "running, waiting", "runningg"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(process_choice_statuses(texts[i], &bits, &e), -1);
}

static size_t names_end(const struct process_choice *c, uint32_t n)
{
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        const char *end = memchr(c->name + at, 0, sizeof c->name - at);
        assert_non_null(end);
        assert_true(*(c->name + at) != '\0');
        at = (size_t)(end - c->name) + 1;
    }
    return at;
}

/* For any text: an accepted choice is within the limits; a refused one gives an error message. */
static void any_text(void **state)
{
    static const char *const pieces[] = {
        "top", ":",  "100", "memory", "<0.", "91",        ".0>",      ",",      "my_server", "'",
        "\\",  "m",  "f/2", "app:",   "all", "children:", "inside",   "My.App", " ",         "\xff",
        "/",   "<>", "0.",  "\x01",   "\n",  "\xc3\xa4",  "\\x{ff}'", "queue"};
    unsigned passed = 0;

    (void)state;
    for (int i = 0; i < rng_rounds(200000); i++) {
        char text[PROCESS_CHOICE_BYTES + 100] = "";
        struct process_choice c;
        struct err e = {{0}};
        for (uint64_t k = rng_below(i % 100 == 0 ? 120 : 8); k > 0; k--)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                     pieces[rng_below(sizeof pieces / sizeof *pieces)]);
        if (process_choice_parse(text, &c, &e) < 0) {
            assert_true(e.text[0] != '\0');
            continue;
        }
        passed++;
        assert_string_equal(c.text, text);
        switch (c.kind) {
        case PROCESSES_TOP:
            assert_in_range(c.n, 1, PROCESS_CHOICE_MOST);
            break;
        case PROCESSES_PIDS:
            assert_in_range(c.n, 1, PROCESS_CHOICE_LIST);
            break;
        case PROCESSES_NAMES:
            assert_in_range(c.n, 1, PROCESS_CHOICE_LIST);
            names_end(&c, c.n);
            break;
        case PROCESSES_INITIAL_CALL:
            assert_in_range(c.n, 0, 255);
            assert_in_range(names_end(&c, 2), 4, sizeof c.name);
            break;
        case PROCESSES_APPLICATION:
            names_end(&c, 1);
            break;
        case PROCESSES_CHILDREN:
            names_end(&c, c.n == 0);
            break;
        case PROCESSES_INSIDE:
        case PROCESSES_ALL:
            break;
        }
    }
    assert_true(passed > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top),     cmocka_unit_test(pids_and_names), cmocka_unit_test(other_kinds),
        cmocka_unit_test(refused), cmocka_unit_test(statuses),       cmocka_unit_test(any_text),
    };

    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
