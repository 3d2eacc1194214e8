/* Files of stack samples: properties of every format. tests/node/test_flame_files.py reads them
 * with other programs. */
#include "fake_stacks.h"
#include "rng.h"

#include <kprof/base/buf.h>
#include <kprof/export/stacks.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct file {
    struct buf b;
    size_t limit, pieces; /* bytes that it accepts; 0: all */
};

static bool take(void *arg, const char *bytes, size_t n)
{
    struct file *f = arg;
    f->pieces++;
    if (f->limit && f->b.len + n > f->limit)
        return false;
    buf_add(&f->b, bytes, n);
    return true;
}

static void write_all(struct file *f, const struct stack_view *v, enum stacks_format how,
                      const struct stacks_options *o)
{
    *f = (struct file){0};
    buf_init(&f->b, 0);
    assert_true(stacks_write(v, how, o, take, f));
    assert_false(f->b.truncated);
}

static void formats_by_ending(void **state)
{
    (void)state;
    assert_int_equal(stacks_format_of_file("a.b/out.svg"), STACKS_SVG);
    assert_int_equal(stacks_format_of_file("x.speedscope.json"), STACKS_SPEEDSCOPE);
    assert_int_equal(stacks_format_of_file("x.trace.json"), STACKS_CHROME);
    assert_int_equal(stacks_format_of_file("x.pb.gz"), STACKS_PPROF);
    assert_int_equal(stacks_format_of_file("x.json"), STACKS_FORMATS);
    assert_int_equal(stacks_format_of_file(".svg"), STACKS_FORMATS);
    char endings[200];
    snprintf(endings, sizeof endings, "%s", stacks_endings());
    int known = 0;
    for (char *e = strtok(endings, " "); e; e = strtok(NULL, " "), known++) {
        char name[64];
        snprintf(name, sizeof name, "x%s", e);
        assert_int_not_equal(stacks_format_of_file(name), STACKS_FORMATS);
    }
    assert_int_equal(known, STACKS_FORMATS);
}

/* Every format works without samples. */
static void no_samples(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    struct stack_view *v = stack_profile_view(p);
    for (int how = 0; how < STACKS_FORMATS; how++)
        for (int group = 0; group < FLAME_GROUPS; group++) {
            struct file f;
            struct stacks_options o = {.query.group = (enum flame_group)group};
            write_all(&f, v, (enum stacks_format)how, &o);
            bool lines = how == STACKS_FOLDED || how == STACKS_EFLAME || how == STACKS_PERF;
            assert_int_equal(f.b.len == 0, lines);
            buf_release(&f.b);
        }
    stack_view_release(v);
    stack_profile_free(p);
}

static void a_full_disk_ends_it(void **state)
{
    (void)state;
    struct stack_profile *p = fake_stacks(true);
    struct stack_view *v = stack_profile_view(p);
    for (int how = 0; how < STACKS_FORMATS; how++) {
        struct file f = {.limit = 1};
        buf_init(&f.b, 0);
        assert_false(
            stacks_write(v, (enum stacks_format)how, &(struct stacks_options){0}, take, &f));
        assert_int_equal(f.pieces, 1);
        assert_int_equal(f.b.len, 0);
        buf_release(&f.b);
    }
    stack_view_release(v);
    stack_profile_free(p);
}

/* Text formats: valid UTF-8 without control characters, except those of the format. */
static void nothing_hostile_gets_out(void **state)
{
    (void)state;
    struct stack_profile *p = fake_stacks(true);
    struct stack_view *v = stack_profile_view(p);
    for (int how = 0; how < STACKS_FORMATS; how++) {
        struct file f;
        if (how == STACKS_PPROF)
            continue;
        write_all(&f, v, (enum stacks_format)how,
                  &(struct stacks_options){.title = "\x1b]0;x\a\xff"});
        for (size_t i = 0; i < f.b.len; i++) {
            unsigned char c = (unsigned char)f.b.data[i];
            assert_true(c >= ' ' || c == '\n' || (c == '\t' && how == STACKS_PERF));
            assert_true(c != 0x7f && c != 0xff);
        }
        buf_release(&f.b);
    }
    stack_view_release(v);
    stack_profile_free(p);
}

static uint64_t folded_sum(const struct buf *b)
{
    uint64_t sum = 0;
    char *copy = buf_dup(b->data);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        sum += strtoull(strrchr(line, ' ') + 1, NULL, 10);
    free(copy);
    return sum;
}

static void folded_lines_add_up(void **state)
{
    (void)state;
    struct stack_profile *p = fake_stacks(false);
    struct stack_view *v = stack_profile_view(p);
    for (int round = 0; round < 60; round++) {
        struct file f;
        struct stacks_options o = {.query = {.by = (enum flame_by)rng_below(4),
                                             .metric = (enum stack_metric)rng_below(STACK_METRICS),
                                             .group = (enum flame_group)rng_below(FLAME_GROUPS),
                                             .fold_recursion = rng_below(2),
                                             .lines = rng_below(2)}};
        if (rng_below(2))
            o.query.filter.statuses = 1u << rng_below(STACK_STATUSES);
        struct flame *g = flame_build(v, &o.query);
        write_all(&f, v, STACKS_FOLDED, &o);
        assert_int_equal(folded_sum(&f.b), g->node[0].total);
        buf_release(&f.b);
        flame_free(g);
    }
    stack_view_release(v);
    stack_profile_free(p);
}

/* A line of eflame is a millisecond: a sample with a weight in microseconds must not give that many
 * lines. */
static void eflame_lines_are_milliseconds(void **state)
{
    (void)state;
    static const struct {
        enum stack_unit unit;
        uint64_t weight, lines;
    } of[] = {{STACK_UNIT_SAMPLES, 3, 3},
              {STACK_UNIT_US, 99000, 99},
              {STACK_UNIT_US, 10, 1},
              {STACK_UNIT_NS, 5000000, 5}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct stack_profile *p = stack_profile_new(NULL);
        struct stack_profile_meta meta = {.unit = of[i].unit};
        stack_profile_set_meta(p, &meta);
        struct stack_frame f = {.function = stack_profile_text(p, "f", 1), .arity = 1};
        struct stack_sample s = {.weight = of[i].weight, .process = 42};
        s.stack = stack_profile_push(p, 0, stack_profile_frame(p, &f));
        assert_true(stack_profile_add(p, &s, NULL));
        struct stack_view *v = stack_profile_view(p);
        struct file out;
        write_all(&out, v, STACKS_EFLAME, &(struct stacks_options){0});
        uint64_t lines = 0;
        for (size_t k = 0; k < out.b.len; k++)
            lines += out.b.data[k] == '\n';
        assert_int_equal(lines, of[i].lines);
        buf_release(&out.b);
        stack_view_release(v);
        stack_profile_free(p);
    }
}

static void perf_lines(void **state)
{
    (void)state;
    struct stack_profile *p = fake_stacks(false);
    struct stack_view *v = stack_profile_view(p);
    struct file f;
    struct stacks_options o = {.query.filter = {.process = 83, .to_ns = UINT64_C(5000000100)},
                               .query.fold_recursion = true,
                               .integer_pid = true};
    write_all(&f, v, STACKS_PERF, &o);
    assert_non_null(strstr(f.b.data,
                           "garbage_collecting\t83 [000] 5.000000: cpu-clock:\tmetric_erlang_"
                           "reductions: 100, 0\tmetric_erlang_message_queue_len: 200, 0\t"));
    assert_non_null(strstr(
        f.b.data, "minor_gcs: 1600, 0\n"
                  "\tffffffff Elixir.MyApp.Walker:walk/2;9 (src/Elixir.MyApp.Walker.erl)\n\n"));
    buf_release(&f.b);
    stack_view_release(v);
    stack_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_by_ending),   cmocka_unit_test(no_samples),
        cmocka_unit_test(a_full_disk_ends_it), cmocka_unit_test(nothing_hostile_gets_out),
        cmocka_unit_test(folded_lines_add_up), cmocka_unit_test(eflame_lines_are_milliseconds),
        cmocka_unit_test(perf_lines),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
