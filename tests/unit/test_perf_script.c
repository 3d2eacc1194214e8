/* perf script: what kprof-top writes is read back whole; perf's own output; any bytes. KPROF_SEED=n
 * repeats a run. */
#include "fake_stacks.h"
#include "rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/buf.h>
#include <kprof/core/flame.h>
#include <kprof/core/perf_script.h>
#include <kprof/export/stacks.h>
#include <stdlib.h>
#include <string.h>

static bool append(void *arg, const char *bytes, size_t n)
{
    buf_add(arg, bytes, n);
    return true;
}

static struct perf_script_counts read_text(struct stack_profile *p, const char *s, size_t n)
{
    struct perf_script *f = perf_script_new(p);
    for (size_t i = 0; i < n;) {
        size_t piece = 1 + rng_below(200);
        piece = piece < n - i ? piece : n - i;
        perf_script_feed(f, s + i, piece);
        i += piece;
    }
    return perf_script_end(f);
}

static void expect_same(const struct stack_view *a, const struct stack_view *b,
                        const struct flame_query *q)
{
    struct flame *x = flame_build(a, q), *y = flame_build(b, q);
    assert_int_equal(x->nodes, y->nodes);
    for (uint32_t i = 0; i < x->nodes; i++) {
        assert_int_equal(x->node[i].total, y->node[i].total);
        assert_int_equal(x->node[i].self, y->node[i].self);
        assert_string_equal(flame_text(x, i, NULL), flame_text(y, i, NULL));
    }
    flame_free(x);
    flame_free(y);
}

static void what_is_written_is_read(void **state)
{
    static const struct flame_query queries[] = {
        {.group = FLAME_STATUS},
        {.group = FLAME_MEMORY, .lines = true},
        {.by = FLAME_GROWTH, .metric = STACK_BIN_VHEAP_SIZE},
        {.by = FLAME_SHRINKAGE, .metric = STACK_MEMORY},
        {.filter.from_ns = UINT64_C(5100000000), .filter.to_ns = UINT64_C(5300000000)},
    };
    (void)state;
    struct stack_profile *p = fake_stacks(false), *back = stack_profile_new(NULL);
    struct stack_view *v = stack_profile_view(p);
    struct buf text;
    buf_init(&text, 10000000);
    assert_true(stacks_write(v, STACKS_PERF, &(struct stacks_options){0}, append, &text));
    assert_true(perf_script_is(text.data, text.len));
    struct perf_script_counts n = read_text(back, text.data, text.len);
    assert_int_equal(n.samples, 300);
    assert_int_equal(n.bad, 0);
    struct stack_view *w = stack_profile_view(back);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        expect_same(v, w, &queries[i]);
    stack_view_release(v);
    stack_view_release(w);
    stack_profile_free(p);
    stack_profile_free(back);
    buf_release(&text);
}

static void output_of_perf(void **state)
{
    static const char text[] = "# a comment\n"
                               "my prog name  4711/4712 [003] 12.345678:     250000 cycles:u: \n"
                               "\t    7f12 leaf+0x3f (/usr/lib/lib x.so)\n"
                               "\t    7f13 caller (/usr/bin/prog)\n"
                               "\n"
                               "other 9 13.5: cpu-clock:\n"
                               "\n"
                               "\t7f14 without a header (x)\n"
                               "no time here\n";
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    assert_true(perf_script_is(text, sizeof text - 1));
    struct perf_script_counts n = read_text(p, text, sizeof text - 1);
    assert_int_equal(n.samples, 2);
    assert_int_equal(n.bad, 2);
    struct stack_view *v = stack_profile_view(p);
    const struct stack_sample *s = stack_view_at(v, 0);
    assert_int_equal(s->process, 4711);
    assert_int_equal(s->time_ns, UINT64_C(12345678000));
    struct flame *f = flame_build(v, &(struct flame_query){0});
    assert_string_equal(flame_text(f, 1, NULL), "caller");
    assert_string_equal(flame_text(f, 2, NULL), "leaf+0x3f");
    assert_int_equal(stack_view_at(v, 1)->time_ns, UINT64_C(13500000000));
    flame_free(f);
    stack_view_release(v);
    stack_profile_free(p);
}

static void folded_stacks_are_not_it(void **state)
{
    (void)state;
    assert_false(perf_script_is("a;b;c 12\n", 9));
    assert_false(perf_script_is("<0.80.0>;a:b/1;c\n", 17));
    assert_false(perf_script_is("", 0));
    assert_false(perf_script_is("\t7f 12.5: x\n", 12));
}

static void any_bytes_are_survived(void **state)
{
    static const char *const parts[] = {"waiting\t0.80.0 [000] 1.5: cpu-clock:",
                                        "\n",
                                        "\t",
                                        "ffffffff ",
                                        "(",
                                        ")",
                                        ";",
                                        "7",
                                        "metric_erlang_memory: ",
                                        "-",
                                        ", ",
                                        "lists:map/2",
                                        "\x1b",
                                        "\xff",
                                        " ",
                                        ":",
                                        "12345678901.1:"};
    (void)state;
    for (int i = 0; i < rng_rounds(2000); i++) {
        struct stack_profile *p = stack_profile_new(NULL);
        struct buf text;
        buf_init(&text, 100000);
        for (uint64_t k = rng_below(60); k > 0; k--)
            buf_adds(&text, parts[rng_below(sizeof parts / sizeof *parts)]);
        perf_script_is(text.data, text.len);
        struct perf_script_counts n = read_text(p, text.data, text.len);
        assert_int_equal(stack_profile_counts(p).added, n.samples);
        buf_release(&text);
        stack_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(output_of_perf),
        cmocka_unit_test(folded_stacks_are_not_it),
        cmocka_unit_test(any_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
