/* The store of stack samples, compared with a list of all samples. */
#include "rng.h"

#include <kprof/core/stack_profile.h>

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t text(struct stack_profile *p, const char *s)
{
    return stack_profile_text(p, s, strlen(s));
}

static uint32_t frame(struct stack_profile *p, const char *function, uint32_t line)
{
    struct stack_frame f = {.module = text(p, "m"),
                            .function = text(p, function),
                            .file = line ? text(p, "m.erl") : 0,
                            .line = line,
                            .arity = 1};
    return stack_profile_frame(p, &f);
}

static int64_t odd_number(void)
{
    uint64_t v = rng() >> rng_below(64);
    if (rng() % 16 == 0)
        v = rng() % 2 ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
    return rng() % 2 ? (int64_t)v : (int64_t)(0 - v);
}

static void stacks_and_frames_are_interned(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    uint32_t f = frame(p, "f", 12), g = frame(p, "g", 0), f2 = frame(p, "f", 13);
    assert_int_equal(frame(p, "f", 12), f);
    assert_int_not_equal(f, f2);
    assert_int_equal(stack_profile_function(p, f), stack_profile_function(p, f2));
    assert_int_equal(stack_profile_function(p, g), g);
    uint32_t s = stack_profile_push(p, stack_profile_push(p, 0, f), g);
    assert_int_equal(stack_profile_push(p, stack_profile_push(p, 0, f), g), s);
    assert_int_equal(stack_profile_leaf(p, s), g);
    assert_int_equal(stack_profile_leaf(p, stack_profile_caller(p, s)), f);
    assert_int_equal(stack_profile_caller(p, stack_profile_caller(p, s)), 0);
    struct stack_frame back = stack_profile_frame_of(p, f);
    assert_int_equal(back.line, 12);
    assert_string_equal(stack_profile_str(p, back.file, NULL), "m.erl");
    assert_int_equal(stack_profile_counts(p).cut_stacks, 0);
    stack_profile_free(p);
}

static void full_tables_cut_stacks(void **state)
{
    (void)state;
    struct stack_profile_limits l = {.max_stacks = 3, .max_frames = 4, .max_texts = 5};
    struct stack_profile *p = stack_profile_new(&l);
    uint32_t a = frame(p, "a", 0), b = frame(p, "b", 0);
    uint32_t s = 0;
    for (int i = 0; i < 6; i++)
        s = stack_profile_push(p, s, i % 2 ? b : a);
    assert_int_equal(s, 3); /* the deepest caller that fits */
    assert_int_equal(stack_profile_counts(p).cut_stacks, 3);
    assert_int_equal(stack_profile_push(p, s, 0), s);
    assert_int_equal(frame(p, "a", 1) != a, 1);
    frame(p, "b", 7);                      /* the fourth frame */
    assert_int_equal(frame(p, "b", 8), b); /* no room for the line: only the function */
    for (int i = 0; i < 9; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        frame(p, name, 0);
    }
    assert_true(stack_profile_counts(p).refused_texts > 0);
    stack_profile_free(p);
}

enum { LIST = 60000 };

static struct {
    struct stack_sample s;
    struct stack_metrics m;
} list[LIST];

static void add_random(struct stack_profile *p, size_t i, const uint32_t *stacks, size_t n)
{
    struct stack_metrics m = {.known = (uint32_t)rng() & ((1u << STACK_METRICS) - 1)};
    if (rng() % 4 == 0)
        m.known = 0;
    for (int k = 0; k < STACK_METRICS; k++)
        if (m.known >> k & 1) {
            m.value[k] = odd_number();
            m.delta[k] = odd_number();
        }
    list[i].m = m;
    list[i].s = (struct stack_sample){.time_ns = i,
                                      .weight = 1 + rng() % 3,
                                      .process = rng() % 5,
                                      .request = rng() % 2,
                                      .stack = stacks[rng() % n],
                                      .status = (uint32_t)(rng() % STACK_STATUSES)};
    stack_profile_add(p, &list[i].s, rng() % 2 || m.known ? &list[i].m : NULL);
}

static void expect_sample(const struct stack_view *v, size_t at, size_t i)
{
    struct stack_sample s = *stack_view_at(v, at);
    struct stack_metrics m;
    s.metrics_at = list[i].s.metrics_at;
    assert_memory_equal(&s, &list[i].s, sizeof s);
    stack_view_metrics(v, at, &m);
    assert_memory_equal(&m, &list[i].m, sizeof m);
    for (int k = 0; k < STACK_METRICS; k++) {
        int64_t value = 7, delta = 7;
        bool known = stack_view_metric(v, at, (enum stack_metric)k, &value, &delta);
        assert_int_equal(known, list[i].m.known >> k & 1);
        if (known) {
            assert_true(value == list[i].m.value[k]);
            assert_true(delta == list[i].m.delta[k]);
        }
    }
}

static void conserved(const struct stack_profile *p, const struct stack_view *v)
{
    struct stack_profile_counts n = stack_profile_counts(p);
    uint64_t weight = 0;
    for (size_t i = 0; i < stack_view_count(v); i++)
        weight += stack_view_at(v, i)->weight;
    assert_int_equal(n.added, stack_view_count(v) + n.dropped + n.left_out);
    assert_int_equal(n.added_weight, weight + n.dropped_weight + n.left_out_weight);
}

static void what_was_put_in_comes_out(void **state)
{
    (void)state;
    for (int keep_newest = 0; keep_newest < 2; keep_newest++)
        for (int run = 0; run < 4; run++) {
            struct stack_profile_limits l = {.keep_newest = keep_newest,
                                             .max_samples = run < 3 ? 0 : 9000};
            l.max_bytes = run == 1 ? 1 : run == 2 ? (size_t)5 << 20 : 0;
            struct stack_profile *p = stack_profile_new(&l);
            uint32_t stacks[8] = {0};
            for (size_t i = 1; i < 8; i++)
                stacks[i] = stack_profile_push(p, stacks[rng() % i], frame(p, "f", (uint32_t)i));
            struct stack_view *middle = NULL;
            for (size_t i = 0; i < LIST; i++) {
                add_random(p, i, stacks, 8);
                if (i == 7000)
                    middle = stack_profile_view(p);
            }
            struct stack_view *v = stack_profile_view(p);
            struct stack_profile_counts n = stack_profile_counts(p);
            conserved(p, v);
            assert_true(n.bytes <= (l.max_bytes ? (size_t)5 << 20 : (size_t)64 << 20));
            assert_true(keep_newest ? n.left_out == 0 : n.dropped == 0);
            assert_true(run == 0 || n.left_out + n.dropped > 0);
            for (size_t i = 0; i < stack_view_count(v); i++)
                expect_sample(v, i, i + n.dropped);
            /* A view does not change when samples are dropped later. */
            size_t first = 7001 - stack_view_count(middle);
            for (size_t i = 0; keep_newest && i < stack_view_count(middle); i++)
                expect_sample(middle, i, first + i);
            stack_view_release(middle);
            stack_view_release(v);
            stack_profile_free(p);
        }
}

struct reader {
    struct stack_view *view;
    uint64_t sum, lines, functions;
};

static void *read_view(void *arg)
{
    struct reader *r = arg;
    const struct stack_profile *p = stack_view_profile(r->view);
    for (size_t i = 0; i < stack_view_count(r->view); i++) {
        const struct stack_sample *s = stack_view_at(r->view, i);
        struct stack_metrics m;
        stack_view_metrics(r->view, i, &m);
        r->sum += s->weight;
        for (uint32_t at = s->stack; at != 0; at = stack_profile_caller(p, at)) {
            uint32_t leaf = stack_profile_leaf(p, at);
            r->lines += stack_profile_frame_of(p, leaf).line;
            r->functions += stack_profile_function(p, leaf) != 0;
        }
    }
    stack_view_release(r->view);
    return NULL;
}

/* The writer continues: adds samples, drops some, adds frames and stacks. */
static void another_thread_reads_a_view(void **state)
{
    (void)state;
    struct stack_profile_limits l = {.keep_newest = true, .max_samples = 9000};
    struct stack_profile *p = stack_profile_new(&l);
    uint32_t stack = 0;
    for (int round = 0; round < 8; round++) {
        struct reader r = {0};
        pthread_t thread;
        for (uint32_t i = 0; i < 5000; i++) {
            if (i % 10 == 0)
                stack = stack_profile_push(p, i % 100 ? stack : 0, frame(p, "f", 1 + i));
            struct stack_sample s = {.weight = 1 + i % 3, .stack = stack};
            stack_profile_add(p, &s, NULL);
            if (i == 2500) {
                r.view = stack_profile_view(p);
                assert_int_equal(pthread_create(&thread, NULL, read_view, &r), 0);
            }
        }
        pthread_join(thread, NULL);
        assert_true(r.sum > 2500 && r.lines > 0 && r.functions > 0);
    }
    stack_profile_free(p);
}

static void sums_stay_exact(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    struct stack_sample s = {.weight = UINT64_C(1) << 61};
    assert_true(stack_profile_add(p, &s, NULL));
    assert_true(stack_profile_add(p, &s, NULL));
    s.weight = 1;
    assert_false(stack_profile_add(p, &s, NULL));
    s.weight = 0;
    assert_false(stack_profile_add(p, &s, NULL));
    assert_int_equal(stack_profile_counts(p).left_out, 2);
    stack_profile_clear(p);
    struct stack_view *v = stack_profile_view(p);
    assert_int_equal(stack_view_count(v), 0);
    conserved(p, v);
    stack_view_release(v);
    stack_profile_free(p);
}

static void words_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (int m = 0; m < STACK_METRICS; m++) {
        const char *name = stack_metric_name((enum stack_metric)m);
        assert_int_equal(stack_metric_parse(name, strlen(name)), m);
    }
    assert_int_equal(stack_metric_parse("reduction", 9), STACK_METRICS);
    for (int s = 0; s < STACK_STATUSES; s++) {
        const char *name = stack_status_name((enum stack_status)s);
        assert_int_equal(stack_status_parse(name, strlen(name)), s);
    }
    assert_int_equal(stack_status_parse("burning", 7), STACK_STATUS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_and_frames_are_interned),
        cmocka_unit_test(full_tables_cut_stacks),
        cmocka_unit_test(what_was_put_in_comes_out),
        cmocka_unit_test(another_thread_reads_a_view),
        cmocka_unit_test(sums_stay_exact),
        cmocka_unit_test(words_are_read_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
