/* core/call_tree: against a model of programs that call, return, make tail calls, wait and
 * collect garbage; its sums for any events; and as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/call_tree.h>
#include <kprof/export/call_text.h>
#include <rng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_MAX 4000
#define EVENTS    20000

struct fixture {
    struct stack_profile *p;
    struct call_tree *t;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->p = stack_profile_new(NULL);
    f->t = call_tree_new(f->p);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    call_tree_free(f->t);
    stack_profile_free(f->p);
    free(f);
    return 0;
}

static uint32_t function(struct stack_profile *p, const char *name)
{
    struct stack_frame f = {.arity = 1};
    f.module = stack_profile_text(p, "m", 1);
    f.function = stack_profile_text(p, name, strlen(name));
    return stack_profile_frame(p, &f);
}

static void add(struct call_tree *t, enum call_event_kind kind, uint32_t f, uint32_t caller,
                uint64_t at)
{
    struct call_event e = {.time_ns = at, .kind = kind, .function = f, .caller = caller};
    call_tree_add(t, &e);
}

/* ---- what holds for every tree ---- */

static uint64_t weights(struct stack_profile *p)
{
    struct stack_view *v = stack_profile_view(p);
    uint64_t sum = 0;
    for (size_t i = 0; i < stack_view_count(v); i++)
        sum += stack_view_at(v, i)->weight;
    stack_view_release(v);
    return sum;
}

/* The tree is whole, and its sums add up. `active`: the time in which processes were traced. */
static void check_sums(struct call_tree *t, struct stack_profile *p, uint64_t active)
{
    const struct call_tree_hide none = {0}, all = {.sleep = true, .gc = true};
    uint32_t n = call_tree_nodes(t), seen = 0;
    uint64_t own = 0, calls = 0, paused = 0;
    uint64_t *sum = calloc(n, sizeof *sum);

    call_tree_sum(t, &none);
    for (uint32_t i = n; i-- > 0;) {
        const struct call_node *x = call_tree_node(t, i);
        assert_int_equal(x->total_ns, x->own_ns + sum[i]);
        own += x->own_ns;
        calls += x->kind == CALL_NODE_FUNCTION ? x->calls : 0;
        paused += x->kind == CALL_NODE_SLEEP || x->kind == CALL_NODE_GC ? x->own_ns : 0;
        if (i)
            sum[x->parent] += x->total_ns;
        assert_true(i == 0 || x->parent < i);
        assert_true(x->depth <= CALL_TREE_DEPTH_MAX + 2);
    }
    for (uint32_t i = call_tree_next(t, 0); i; i = call_tree_next(t, i))
        seen++;
    assert_int_equal(seen, n - 1);
    assert_int_equal(call_tree_node(t, 0)->total_ns, own);
    assert_int_equal(own, active);
    assert_int_equal(weights(p), own);
    assert_int_equal(calls + call_tree_counts(t)->cut, call_tree_counts(t)->calls);
    call_tree_sum(t, &all);
    assert_int_equal(call_tree_node(t, 0)->total_ns, own - paused);
    call_tree_sum(t, &none);
    free(sum);
}

/* ---- a model: programs without recursion, except functions that call themselves as a tail call
 * ----
 */

struct model {
    struct {
        uint32_t parent, frame;
        uint64_t calls, own;
    } node[MODEL_MAX];
    uint32_t n;
    struct call_event event[EVENTS];
    size_t events;
    uint64_t now;
    uint32_t fn[12][4], untraced[12], sleep[12][4], gc;
    bool pauses;
};

static uint32_t model_child(struct model *m, uint32_t parent, uint32_t frame)
{
    for (uint32_t i = 1; i < m->n; i++)
        if (m->node[i].parent == parent && m->node[i].frame == frame)
            return i;
    assert_true(m->n < MODEL_MAX);
    m->node[m->n].parent = parent;
    m->node[m->n].frame = frame;
    return m->n++;
}

static void emit(struct model *m, enum call_event_kind kind, uint32_t f, uint32_t caller)
{
    if (m->events < EVENTS)
        m->event[m->events++] =
            (struct call_event){.time_ns = m->now, .kind = kind, .function = f, .caller = caller};
}

static void spend(struct model *m, uint32_t node)
{
    uint64_t ns = rng_below(50);
    m->now += ns;
    m->node[node].own += ns;
}

static void pause_in(struct model *m, uint32_t node, unsigned depth, unsigned k)
{
    bool sleep = rng_below(2);
    uint32_t at = model_child(m, node, sleep ? m->sleep[depth][k] : m->gc);
    if (!m->pauses)
        return;
    emit(m, sleep ? CALL_EVENT_OUT : CALL_EVENT_GC, sleep ? m->fn[depth][k] : 0, 0);
    m->node[at].calls++;
    spend(m, at);
    emit(m, sleep ? CALL_EVENT_IN : CALL_EVENT_GC_END, sleep ? m->fn[depth][k] : 0, 0);
}

/* Runs function k of this depth, called in `parent`, which returns to `caller`. */
static void run(struct model *m, uint32_t parent, unsigned depth, unsigned k, uint32_t caller)
{
    uint32_t f = m->fn[depth][k], node = model_child(m, parent, f);
    emit(m, CALL_EVENT_CALL, f, caller);
    m->node[node].calls++;
    spend(m, node);
    for (uint64_t i = rng_below(3); depth < 8 && i > 0; i--) {
        bool through = rng_below(4) == 0;
        uint32_t from = through ? m->untraced[depth] : f;
        run(m, node, depth + 1, (unsigned)rng_below(4), from);
        emit(m, CALL_EVENT_RETURN_TO, from, 0);
        spend(m, node);
        if (rng_below(4) == 0)
            pause_in(m, node, depth, k);
    }
    switch (rng_below(5)) {
    case 0: /* a tail call of another function */
        if (depth < 8)
            run(m, node, depth + 1, (unsigned)rng_below(4), caller);
        break;
    case 1: /* a tail call of itself */
        if (m->n < MODEL_MAX / 2)
            run(m, parent, depth, k, caller);
        break;
    default:
        break;
    }
}

static void model_init(struct model *m, struct stack_profile *p)
{
    char name[40];
    memset(m, 0, sizeof *m);
    m->n = 1;
    m->now = 1000;
    for (unsigned d = 0; d < 12; d++) {
        for (unsigned k = 0; k < 4; k++) {
            struct stack_frame s = {.arity = STACK_NO_ARITY};
            snprintf(name, sizeof name, "f%u_%u", d, k);
            m->fn[d][k] = function(p, name);
            snprintf(name, sizeof name, "SLEEP m:f%u_%u/1", d, k);
            s.function = stack_profile_text(p, name, strlen(name));
            m->sleep[d][k] = stack_profile_frame(p, &s);
        }
        snprintf(name, sizeof name, "untraced%u", d);
        m->untraced[d] = function(p, name);
    }
    struct stack_frame gc = {.arity = STACK_NO_ARITY};
    gc.function = stack_profile_text(p, "GC", 2);
    m->gc = stack_profile_frame(p, &gc);
}

static uint32_t child_of(struct call_tree *t, uint32_t parent, uint32_t frame)
{
    for (uint32_t i = call_tree_node(t, parent)->first_child; i; i = call_tree_node(t, i)->next)
        if (call_tree_node(t, i)->frame == frame)
            return i;
    return 0;
}

/* Every node of the model is in the tree, with its calls and its time. */
static void compare(const struct model *m, struct call_tree *t)
{
    uint32_t *in = calloc(m->n, sizeof *in), process = call_tree_node(t, 0)->first_child;
    for (uint32_t i = 1; i < m->n; i++) {
        if (m->node[i].calls == 0)
            continue;
        uint32_t parent = m->node[i].parent ? in[m->node[i].parent] : process;
        in[i] = child_of(t, parent, m->node[i].frame);
        assert_int_not_equal(in[i], 0);
        const struct call_node *x = call_tree_node(t, in[i]);
        assert_int_equal(x->calls, m->node[i].calls);
        assert_int_equal(x->own_ns, m->node[i].own);
    }
    free(in);
}

static void programs_are_as_their_model(void **state)
{
    struct model *m = malloc(sizeof *m);
    (void)state;
    for (int round = rng_rounds(300); round > 0; round--) {
        struct stack_profile *p = stack_profile_new(NULL);
        struct call_tree *t = call_tree_new(p);
        model_init(m, p);
        m->pauses = round % 2;
        uint32_t base = function(p, "base");
        run(m, 0, 0, 0, base);
        m->event[0].kind = CALL_EVENT_BEGIN;
        if (m->events < EVENTS) { /* it fitted */
            emit(m, CALL_EVENT_END, m->fn[0][0], 0);
            for (size_t i = 0; i < m->events; i++)
                call_tree_add(t, &m->event[i]);
            compare(m, t);
            check_sums(t, p, m->now - 1000);
            assert_int_equal(call_tree_counts(t)->no_return, 0);
        }
        call_tree_free(t);
        stack_profile_free(p);
    }
    free(m);
}

/* Cut anywhere, the sums still add up. */
static void every_truncation_adds_up(void **state)
{
    struct model *m = malloc(sizeof *m);
    (void)state;
    for (int round = 0; round < rng_rounds(12); round++) {
        struct stack_profile *first = stack_profile_new(NULL);
        model_init(m, first);
        m->pauses = true;
        run(m, 0, 0, 0, function(first, "base"));
        m->event[0].kind = CALL_EVENT_BEGIN;
        size_t all = m->events < 400 ? m->events : 400;
        stack_profile_free(first);
        for (size_t n = 1; n <= all; n++) {
            struct stack_profile *p = stack_profile_new(NULL);
            struct call_tree *t = call_tree_new(p);
            struct model *names = calloc(1, sizeof *names);
            model_init(names, p); /* the same ids */
            for (size_t i = 0; i < n; i++)
                call_tree_add(t, &m->event[i]);
            check_sums(t, p, m->event[n - 1].time_ns - m->event[0].time_ns);
            free(names);
            call_tree_free(t);
            stack_profile_free(p);
        }
    }
    free(m);
}

/* Random events that no program makes. */
static void any_events_add_up(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(200); round++) {
        struct stack_profile *p = stack_profile_new(NULL);
        struct call_tree *t = call_tree_new(p);
        uint32_t fn[6];
        uint64_t now = 5, active = 0, last[3] = {0};
        bool on[3] = {0};
        for (unsigned i = 0; i < 6; i++) {
            char name[8];
            snprintf(name, sizeof name, "g%u", i);
            fn[i] = function(p, name);
        }
        for (unsigned i = 0; i < 2000; i++) {
            struct call_event e = {.time_ns = now += rng_below(9),
                                   .process = (uint32_t)rng_below(3),
                                   .kind = (enum call_event_kind)rng_below(CALL_EVENT_KINDS),
                                   .function = fn[rng_below(6)],
                                   .caller = rng_below(8) ? fn[rng_below(6)] : 0};
            bool ends = e.kind >= CALL_EVENT_END;
            if (on[e.process])
                active += e.time_ns - last[e.process];
            last[e.process] = e.time_ns;
            on[e.process] = ends ? false : true;
            call_tree_add(t, &e);
        }
        check_sums(t, p, active);
        call_tree_free(t);
        stack_profile_free(p);
    }
}

/* ---- single cases ---- */

static void hostile_events_are_counted(void **state)
{
    struct fixture *f = *state;
    struct call_event e = {.process = CALL_TREE_PROCESSES_MAX, .function = 1};
    call_tree_add(f->t, &e);
    e = (struct call_event){.kind = CALL_EVENT_KINDS};
    call_tree_add(f->t, &e);
    e = (struct call_event){.kind = CALL_EVENT_CALL}; /* of no function */
    call_tree_add(f->t, &e);
    e = (struct call_event){.kind = CALL_EVENT_END}; /* has not begun */
    call_tree_add(f->t, &e);
    assert_int_equal(call_tree_counts(f->t)->bad, 4);
    assert_false(call_tree_process(f->t, CALL_TREE_PROCESSES_MAX, 1, 0, 0));
    assert_int_equal(call_tree_nodes(f->t), 1);
    check_sums(f->t, f->p, 0);
}

/* Deeper than the limit: the time is that of the deepest that fits. */
static void deep_recursion_is_cut(void **state)
{
    struct fixture *f = *state;
    uint32_t a = function(f->p, "a"), n = CALL_TREE_DEPTH_MAX + 500;
    add(f->t, CALL_EVENT_BEGIN, a, 0, 10);
    for (uint32_t i = 1; i <= n; i++)
        add(f->t, CALL_EVENT_CALL, a, a, 10 + i);
    for (uint32_t i = 1; i <= n; i++)
        add(f->t, CALL_EVENT_RETURN_TO, a, 0, 10 + n + i);
    add(f->t, CALL_EVENT_END, a, 0, 20 + 2 * n);
    assert_int_equal(call_tree_counts(f->t)->cut, n + 1 - CALL_TREE_DEPTH_MAX);
    check_sums(f->t, f->p, 10 + 2 * n);
}

/* An exception is caught further up, and the VM reports no return (before OTP 27.1): the next call
 * of the function that caught it shows that the others have ended. */
static void a_missing_return_is_noticed(void **state)
{
    struct fixture *f = *state;
    uint32_t a = function(f->p, "a"), b = function(f->p, "b"), c = function(f->p, "c");
    add(f->t, CALL_EVENT_BEGIN, a, 0, 0);
    add(f->t, CALL_EVENT_CALL, b, a, 10);
    add(f->t, CALL_EVENT_CALL, c, b, 20); /* throws; a catches */
    add(f->t, CALL_EVENT_CALL, c, a, 50);
    add(f->t, CALL_EVENT_RETURN_TO, a, 0, 60);
    add(f->t, CALL_EVENT_END_EXCEPTION, a, 0, 70);
    uint32_t process = call_tree_node(f->t, 0)->first_child, na = child_of(f->t, process, a);
    uint32_t nb = child_of(f->t, na, b);
    assert_int_equal(call_tree_node(f->t, child_of(f->t, na, c))->calls, 1);
    assert_int_equal(call_tree_node(f->t, child_of(f->t, nb, c))->calls, 1);
    assert_int_equal(call_tree_counts(f->t)->no_return, 2);
    assert_int_equal(call_tree_node(f->t, na)->exceptions, 1);
    assert_int_equal(call_tree_node(f->t, na)->own_ns, 20);
    check_sums(f->t, f->p, 70);
}

/* u, which is not traced, catches what c throws; b goes on. */
static void an_untraced_function_catches(void **state)
{
    struct fixture *f = *state;
    uint32_t a = function(f->p, "a"), b = function(f->p, "b"), c = function(f->p, "c");
    uint32_t u = function(f->p, "u"), v = function(f->p, "v");
    add(f->t, CALL_EVENT_BEGIN, a, 0, 0);
    add(f->t, CALL_EVENT_CALL, b, a, 10);
    add(f->t, CALL_EVENT_CALL, c, v, 20);
    add(f->t, CALL_EVENT_RETURN_TO, u, 0, 30);
    add(f->t, CALL_EVENT_CALL, c, b, 50);
    add(f->t, CALL_EVENT_RETURN_TO, b, 0, 55);
    add(f->t, CALL_EVENT_RETURN_TO, a, 0, 60);
    add(f->t, CALL_EVENT_END, a, 0, 70);
    uint32_t process = call_tree_node(f->t, 0)->first_child, na = child_of(f->t, process, a);
    uint32_t nb = child_of(f->t, na, b), nc = child_of(f->t, nb, c);
    assert_int_equal(call_tree_node(f->t, na)->own_ns, 20);
    assert_int_equal(call_tree_node(f->t, nb)->own_ns, 35);
    assert_int_equal(call_tree_node(f->t, nc)->calls, 2);
    assert_int_equal(call_tree_node(f->t, nc)->own_ns, 15);
    assert_int_equal(call_tree_counts(f->t)->no_return, 1);
    check_sums(f->t, f->p, 70);
}

/* loop calls decode and decode calls loop, as tail calls; the caller is not traced. */
static void a_server_loop_is_one_node(void **state)
{
    struct fixture *f = *state;
    uint32_t u = function(f->p, "u"), loop = function(f->p, "loop");
    uint32_t decode = function(f->p, "decode"), work = function(f->p, "work");
    uint64_t now = 0;
    for (int i = 0; i < 5; i++) {
        add(f->t, CALL_EVENT_CALL, loop, u, now += 10);
        add(f->t, CALL_EVENT_CALL, decode, u, now += 10);
        add(f->t, CALL_EVENT_CALL, work, decode, now += 10);
        add(f->t, CALL_EVENT_RETURN_TO, decode, 0, now += 10);
    }
    uint32_t process = call_tree_node(f->t, 0)->first_child, at = child_of(f->t, process, loop);
    assert_int_equal(call_tree_node(f->t, at)->calls, 5);
    at = child_of(f->t, at, decode);
    assert_int_equal(call_tree_node(f->t, at)->calls, 5);
    assert_int_equal(call_tree_node(f->t, child_of(f->t, at, work))->calls, 5);
    assert_int_equal(call_tree_nodes(f->t), 5); /* root and process, too */
}

static bool into(void *arg, const char *bytes, size_t n)
{
    buf_add(arg, bytes, n);
    return true;
}

static void as_text(void **state)
{
    struct fixture *f = *state;
    const struct call_tree_hide sleep = {.sleep = true}, none = {0};
    struct buf out;
    uint32_t a = function(f->p, "a"), b = function(f->p, "b\x1b[2J");
    call_tree_process(f->t, 0, (uint64_t)2 << 32 | 77, 0, 0);
    add(f->t, CALL_EVENT_BEGIN, a, 0, 0);
    add(f->t, CALL_EVENT_CALL, b, a, 1000000);
    add(f->t, CALL_EVENT_OUT, b, 0, 2000000);
    add(f->t, CALL_EVENT_IN, b, 0, 52000000);
    add(f->t, CALL_EVENT_RETURN_TO, a, 0, 53000000);
    add(f->t, CALL_EVENT_CALL, b, a, 53000000);
    add(f->t, CALL_EVENT_RETURN_TO, a, 0, 54000000);
    add(f->t, CALL_EVENT_END, a, 0, 55000000);
    buf_init(&out, 0);
    call_tree_sum(f->t, &none);
    assert_true(call_text_write(f->t, &none, into, &out));
    assert_null(strchr(out.data, '\x1b'));
    assert_non_null(strstr(out.data, "<0.77.2>\n"));
    assert_non_null(strstr(out.data, " m:a/1\n"));
    assert_non_null(strstr(out.data, "SLEEP"));
    buf_clear(&out);
    call_tree_sum(f->t, &sleep);
    assert_true(call_text_write(f->t, &sleep, into, &out));
    assert_null(strstr(out.data, "SLEEP"));
    assert_int_equal(call_tree_node(f->t, 0)->total_ns, 5000000);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_as_their_model),
        cmocka_unit_test(every_truncation_adds_up),
        cmocka_unit_test(any_events_add_up),
        cmocka_unit_test_setup_teardown(hostile_events_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(deep_recursion_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_return_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(an_untraced_function_catches, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_loop_is_one_node, setup, teardown),
        cmocka_unit_test_setup_teardown(as_text, setup, teardown),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
