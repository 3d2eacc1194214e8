/* Folded stacks as text: valid and invalid lines, in pieces of any size. */
#include "fake_stacks.h"
#include "rng.h"

#include <kprof/base/buf.h>
#include <kprof/core/flame.h>
#include <kprof/core/folded.h>
#include <kprof/export/stacks.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct folded_counts read_in_pieces(struct stack_profile *p, const char *s, size_t n,
                                           size_t most)
{
    struct folded *f = folded_new(p);
    for (size_t at = 0, step; at < n; at += step) {
        step = 1 + (size_t)rng_below(most);
        step = step < n - at ? step : n - at;
        folded_feed(f, s + at, step);
    }
    return folded_end(f);
}

static bool append(void *arg, const char *bytes, size_t n)
{
    buf_add(arg, bytes, n);
    return true;
}

static void write_folded(struct buf *out, struct stack_profile *p)
{
    struct stack_view *v = stack_profile_view(p);
    buf_init(out, 0);
    stacks_write(v, STACKS_FOLDED, &(struct stacks_options){0}, append, out);
    stack_view_release(v);
}

static void lines_are_read_in_any_pieces(void **state)
{
    static const char text[] = "# a comment\n"
                               "m:f/1;m:g/2 3\n"
                               "m:f/1;other text, blanks ;SLEEP 12\r\n"
                               "\n"
                               "no count here\n"
                               "m:f/1 -1\n"
                               " 7\n"
                               "m:f/1 1.5\n"
                               "m:f/1 99999999999999999999\n"
                               "<0.80.2>;m:f/1;m:g/2\n"
                               "<0.81.0>\n"
                               "<1.80.0>;x 2\n"
                               ";;m:f/1;;m:g/2; 5";
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct stack_profile *p = stack_profile_new(NULL);
        struct folded_counts n = read_in_pieces(p, text, sizeof text - 1, 1 + rng_below(40));
        assert_int_equal(n.lines, 6);
        assert_int_equal(n.bad, 5);
        assert_int_equal(n.deep, 0);
        struct buf out;
        write_folded(&out, p);
        assert_non_null(
            strstr(out.data, "m:f/1;m:g/2 9\n")); /* 3 and 5, and one in the format of eflame */
        assert_non_null(strstr(out.data, "m:f/1;other text, blanks ;SLEEP 12\n"));
        assert_non_null(strstr(out.data, "<1.80.0>;x 2\n"));
        assert_non_null(strstr(out.data, "all 1\n"));
        struct stack_view *v = stack_profile_view(p);
        struct flame *f = flame_build(v, &(struct flame_query){.group = FLAME_PROCESS});
        assert_int_equal(f->node[0].children, 3);
        assert_string_equal(flame_text(f, 1, NULL), "process not known");
        flame_free(f);
        stack_view_release(v);
        buf_release(&out);
        stack_profile_free(p);
    }
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    for (int hostile = 0; hostile < 2; hostile++) {
        struct stack_profile *p = fake_stacks(hostile), *q = stack_profile_new(NULL);
        struct buf one, two;
        write_folded(&one, p);
        struct folded_counts n = read_in_pieces(q, one.data, one.len, 1000);
        assert_int_equal(n.bad, 0);
        /* Samples without a stack are read as one frame, "all". */
        write_folded(&two, q);
        assert_int_equal(one.len, two.len);
        buf_release(&one);
        buf_release(&two);
        stack_profile_free(p);
        stack_profile_free(q);
    }
}

/* Stacks with a common beginning of the line, not always of whole frames. */
static void lines_that_begin_alike_stay_apart(void **state)
{
    static const char *const frames[] = {"a", "ab", "abc", "b", "m:a/1", "m:a/12", "", "a b"};
    (void)state;
    for (int round = 0; round < rng_rounds(300); round++) {
        char lines[40][80];
        uint64_t counts[40];
        size_t n = 0;
        struct stack_profile *p = stack_profile_new(NULL);
        struct buf text, out;
        buf_init(&text, 0);
        for (int k = 0; k < 60; k++) {
            char line[80] = "", bare[80] = "";
            for (uint64_t d = 1 + rng_below(5); d > 0; d--) {
                const char *frame = frames[rng_below(sizeof frames / sizeof *frames)];
                strcat(line, line[0] ? ";" : "");
                strcat(line, frame);
                strcat(bare, bare[0] && frame[0] ? ";" : "");
                strcat(bare, frame);
            }
            if (!bare[0])
                continue;
            size_t i = 0;
            while (i < n && strcmp(lines[i], bare) != 0)
                i++;
            if (i == 40)
                continue;
            if (i == n) {
                strcpy(lines[n], bare);
                counts[n++] = 0;
            }
            counts[i] += (uint64_t)k + 1;
            buf_addf(&text, "%s %d\n", line, k + 1);
        }
        assert_int_equal(read_in_pieces(p, text.data, text.len, 100).bad, 0);
        write_folded(&out, p);
        size_t bytes = 0;
        for (size_t i = 0; i < n; i++) {
            char want[120];
            int len =
                snprintf(want, sizeof want, "%s %llu\n", lines[i], (unsigned long long)counts[i]);
            const char *at = strstr(out.data, want);
            while (at && at != out.data && at[-1] != '\n')
                at = strstr(at + 1, want);
            if (!at)
                fail_msg("no line %s in:\n%s of:\n%s", want, out.data, text.data);
            bytes += (size_t)len;
        }
        assert_int_equal(bytes, out.len);
        buf_release(&text);
        buf_release(&out);
        stack_profile_free(p);
    }
}

static void long_lines_and_deep_stacks_are_bounded(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    struct buf text;
    buf_init(&text, 0);
    for (unsigned i = 0; i < FOLDED_LINE_MAX + 10; i++)
        buf_addch(&text, 'x');
    buf_adds(&text, " 3\nok 1\n");
    for (unsigned i = 0; i < FOLDED_DEPTH_MAX + 500; i++)
        buf_addf(&text, "f%u;", i);
    buf_adds(&text, "end 4\nlast 2");
    struct folded_counts n = read_in_pieces(p, text.data, text.len, 5000);
    assert_int_equal(n.bad, 1);
    assert_int_equal(n.lines, 3);
    assert_int_equal(n.deep, 1);
    struct stack_view *v = stack_profile_view(p);
    struct flame *f = flame_build(v, &(struct flame_query){0});
    assert_int_equal(f->depth, FOLDED_DEPTH_MAX);
    assert_int_equal(f->node[0].total, 7);
    flame_free(f);
    stack_view_release(v);
    buf_release(&text);
    stack_profile_free(p);
}

/* Folded stacks have no times: on a time line they follow each other, each as long as its count. */
static void a_time_line_without_times(void **state)
{
    static const char text[] = "a;b 3\nc 2\n<0.80.0>;d 4\n";
    static const char *const events[] = {
        "\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"process not known\"}",
        "\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":0.000,\"name\":\"a\"",
        "\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":0.000,\"name\":\"b\"",
        "\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3.000,\"name\":\"b\"",
        "\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3.000,\"name\":\"a\"",
        "\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":3.000,\"name\":\"c\"",
        "\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5.000,\"name\":\"c\"",
        "\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":0.000,\"name\":\"d\"",
        "\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":4.000,\"name\":\"d\""};
    struct stack_profile *p = stack_profile_new(NULL);
    struct buf out;

    (void)state;
    buf_init(&out, 0);
    assert_int_equal(read_in_pieces(p, text, sizeof text - 1, 100).bad, 0);
    struct stack_view *v = stack_profile_view(p);
    assert_true(stacks_write(v, STACKS_CHROME, &(struct stacks_options){0}, append, &out));
    const char *at = out.data;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        at = strstr(at, events[i]);
        if (!at)
            fail_msg("no event %zu in its place in %s", i, out.data);
    }
    stack_view_release(v);
    stack_profile_free(p);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_in_any_pieces),
        cmocka_unit_test(a_time_line_without_times),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(lines_that_begin_alike_stay_apart),
        cmocka_unit_test(long_lines_and_deep_stacks_are_bounded),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
