/* The engine where no node is there to be asked, and what is left of a question that was dropped.
 */
#include "../../src/app/engine_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct heard {
    char message[200], stack[200];
    uint64_t pid;
};

static void on_message(void *arg, const char *text, bool is_error)
{
    struct heard *h = arg;
    assert_true(is_error);
    snprintf(h->message, sizeof h->message, "%s", text);
}

static void on_stack(void *arg, uint64_t pid, const char *lines, bool dead)
{
    struct heard *h = arg;
    assert_false(dead);
    h->pid = pid;
    snprintf(h->stack, sizeof h->stack, "%s", lines);
}

static struct engine *engine(struct heard *h)
{
    struct engine *g = calloc(1, sizeof *g);
    assert_non_null(g);
    memset(h, 0, sizeof *h);
    g->hooks = (struct engine_hooks){.arg = h, .message = on_message, .stack = on_stack};
    return g;
}

/* Who asks where there is no node is told so: nobody waits for ever. */
static void questions_without_a_node_are_answered(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    g->state = ENGINE_LOST;
    engine_stack(g, 77);
    assert_int_equal(h.pid, 77);
    assert_string_equal(h.stack, "not known: the node cannot be asked: it is not connected");
    engine_why(g, 0);
    assert_string_equal(h.message, "the node cannot be asked: it is not connected");
    g->replay = (struct replay *)(uintptr_t)g; /* never looked into */
    g->state = ENGINE_UP;
    engine_stack(g, 78);
    assert_int_equal(h.pid, 78);
    assert_string_equal(h.stack, "not known: the node cannot be asked: this is a recording");
    engine_why(g, 0);
    assert_string_equal(h.message, "the node cannot be asked: this is a recording");
    free(g);
}

/* Stopped while it loads: calls that are counted are waited for, a question that was dropped is
 * not, or no other would ever be asked. */
static void a_stopped_catalog_waits_for_no_answer(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    struct catalog_status loading = {.state = CATALOG_LOADING};
    g->look.catalog = catalog_new();
    catalog_set_status(g->look.catalog, &loading);
    g->look.counted_n = 3;
    g->look.take_at_ns = 1;
    engine_catalog_stop(g);
    assert_int_equal(g->look.counted_n, 3);
    catalog_set_status(g->look.catalog, &loading);
    g->look.take_at_ns = 0;
    engine_catalog_stop(g);
    assert_int_equal(g->look.counted_n, 0);
    catalog_free(g->look.catalog);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_without_a_node_are_answered),
        cmocka_unit_test(a_stopped_catalog_waits_for_no_answer),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
