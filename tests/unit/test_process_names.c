/* Questions to the node for the names of processes: one at a time. */
#include <engine/state.h>

static uint64_t asked(struct control *c, enum control_ask what, uint16_t ix, const char *text,
                      const uint64_t *pids, size_t n);
#define control_ask asked
#include "../../src/engine/process_names.c"
#undef control_ask

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static unsigned questions;
static uint64_t last;

static uint64_t asked(struct control *c, enum control_ask what, uint16_t ix, const char *text,
                      const uint64_t *pids, size_t n)
{
    (void)c;
    (void)ix;
    (void)text;
    assert_int_equal(what, CONTROL_WHO);
    assert_int_equal(n, 1);
    last = pids[0];
    return ++questions;
}

static void shows(struct engine *g, uint64_t pid, uint64_t now_ns)
{
    struct snap_open open = {.pid = pid, .age_us = WHO_OPEN_US};
    struct snapshot *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->open = &open;
    s->n_open = 1;
    process_names_ask(g, s, now_ns);
    free(s);
}

static void answered(struct engine *g, uint64_t pid, const char *text)
{
    struct result r = {.kind = RESULT_WHO, .n = 1, .failed = !text, .pids = &pid};
    char line[100];

    snprintf(line, sizeof line, "%s", text ? text : "the node is too busy");
    r.text = line;
    process_names_take(g, &r);
}

/* A node that answers slowly gets no further question meanwhile: each waits for a place in the
 * queue of all requests. */
static void one_question_at_a_time(void **state)
{
    struct engine *g = calloc(1, sizeof *g);
    static char control; /* only its address is used */
    uint64_t now_ns = 1;

    (void)state;
    assert_non_null(g);
    g->control = (struct control *)(void *)&control;
    g->state = ENGINE_UP;
    shows(g, 7, now_ns);
    assert_int_equal(questions, 1);
    for (uint64_t pid = 8; pid < 20; pid++)
        shows(g, pid, now_ns += 10 * (uint64_t)WHO_ASK_NS);
    assert_int_equal(questions, 1);
    answered(g, 7, "seven\n");
    shows(g, 20, now_ns);
    assert_int_equal(questions, 2);
    assert_int_equal(last, 20);
    /* also if it has failed, but not more often than each half second */
    answered(g, 20, NULL);
    shows(g, 21, now_ns + WHO_ASK_NS - 1);
    assert_int_equal(questions, 2);
    shows(g, 20, now_ns + WHO_ASK_NS);
    assert_int_equal(questions, 3);
    assert_int_equal(last, 20);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_question_at_a_time),
    };
    return cmocka_run_group_tests_name("process_names", tests, NULL, NULL);
}
