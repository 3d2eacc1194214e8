#include <kprof/base/buf.h>
#include <kprof/base/err.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

static void holds(const struct buf *b)
{
    assert_non_null(b->data);
    assert_int_equal(b->data[b->len], 0);
    assert_true(b->len <= b->max);
}

static void grows_and_keeps_everything(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 0);
    holds(&b);
    for (int i = 0; i < 10000; i++) {
        buf_addf(&b, "%04d", i);
        holds(&b);
    }
    assert_int_equal(b.len, 40000);
    assert_false(b.truncated);
    for (int i = 0; i < 10000; i++) {
        char want[12];
        snprintf(want, sizeof want, "%04d", i);
        assert_memory_equal(b.data + 4 * i, want, 4);
    }
    buf_clear(&b);
    holds(&b);
    assert_int_equal(b.len, 0);
    buf_add(&b, "a\0b", 3);
    buf_addch(&b, 'c');
    buf_adds(&b, "de");
    assert_int_equal(b.len, 6);
    assert_memory_equal(b.data, "a\0bcde", 7);
    buf_release(&b);
    holds(&b);
    buf_adds(&b, "again");
    assert_string_equal(b.data, "again");
    buf_release(&b);
}

static void stops_at_the_ceiling(void **state)
{
    (void)state;
    for (size_t max = 1; max < 200; max++) {
        struct buf b;
        buf_init(&b, max);
        for (size_t i = 0; i < 50; i++) {
            if (i % 2)
                buf_addf(&b, "%s", "0123456");
            else
                buf_add(&b, "0123456", 7);
            holds(&b);
            size_t want = 7 * (i + 1);
            assert_int_equal(b.truncated, want > max);
            assert_int_equal(b.len, want > max ? max : want);
        }
        for (size_t i = 0; i < b.len; i++)
            assert_int_equal(b.data[i], '0' + (int)(i % 7));
        buf_clear(&b);
        assert_false(b.truncated);
        buf_release(&b);
        assert_int_equal(b.max, max);
    }
}

static void nothing_added_is_an_empty_string(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    buf_add(&b, NULL, 0);
    buf_adds(&b, "");
    buf_addf(&b, "%s", "");
    buf_clear(&b);
    holds(&b);
    assert_int_equal(b.len, 0);
    assert_false(b.truncated);
    buf_release(&b);
}

static void error_is_cut_at_a_whole_character(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(err_set(&e, "cannot %s: %d", "do", 7), -1);
    assert_string_equal(e.text, "cannot do: 7");
    err_set(&e, "outer: %s", e.text);
    assert_string_equal(e.text, "outer: cannot do: 7");
    for (size_t before = 500; before < sizeof e.text + 2; before++) {
        char a[600];
        memset(a, 'a', before);
        strcpy(a + before, "\xf0\x9f\x98\x80\xe2\x82\xac");
        err_set(&e, "%s", a);
        size_t len = strlen(e.text);
        size_t room = sizeof e.text - 1; /* the last whole character that fits */
        assert_int_equal(len, before + 7 <= room   ? before + 7
                              : before + 4 <= room ? before + 4
                              : before <= room     ? before
                                                   : room);
        assert_memory_equal(e.text, a, len);
    }
}

static void copy_is_cut_at_a_whole_character(void **state)
{
    (void)state;
    char out[8];
    err_copy(out, sizeof out, "1234567");
    assert_string_equal(out, "1234567");
    err_copy(out, sizeof out, "12345678");
    assert_string_equal(out, "1234567");
    err_copy(out, sizeof out, "12345\xe2\x82\xac");
    assert_string_equal(out, "12345");
    err_copy(out, 1, "abc");
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_keeps_everything),
        cmocka_unit_test(stops_at_the_ceiling),
        cmocka_unit_test(nothing_added_is_an_empty_string),
        cmocka_unit_test(error_is_cut_at_a_whole_character),
        cmocka_unit_test(copy_is_cut_at_a_whole_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
