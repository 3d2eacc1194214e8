/* Arguments that the agent sends, as text. */
#include <trace/args.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/erl/enc.h>
#include <string.h>

enum { VALUE, PREFIX, TUPLE, MAP, LIST, SLOTS };

static struct buf term, text;

static int setup(void **state)
{
    (void)state;
    buf_init(&term, 0);
    buf_init(&text, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_release(&term);
    buf_release(&text);
    return 0;
}

static void falses(int n)
{
    while (n-- > 0)
        enc_atom(&term, "false");
}

/* Begins an argument that is sent in one slot; the caller adds the term. */
static void arg(int slot)
{
    enc_tuple(&term, SLOTS);
    falses(slot);
}

static void done_arg(int slot)
{
    falses(SLOTS - 1 - slot);
}

static void value_atom(const char *a)
{
    enc_tuple(&term, 1);
    enc_atom(&term, a);
}

static void expect(size_t max, const char *want)
{
    struct etf c;
    etf_init(&c, term.data, term.len);
    buf_clear(&text);
    assert_true(args_print(&c, &text, max));
    assert_string_equal(text.data, want);
    assert_true(text.len <= max);
    assert_ptr_equal(c.p, c.end);
    buf_clear(&term);
}

static void of_every_kind(void **state)
{
    (void)state;
    enc_tuple(&term, 8);
    arg(VALUE);
    value_atom("update");
    done_arg(VALUE);
    arg(VALUE); /* the argument is the atom false */
    value_atom("false");
    done_arg(VALUE);
    arg(PREFIX);
    enc_tuple(&term, 2);
    enc_u64(&term, 1000000);
    enc_str(&term, "abc");
    done_arg(PREFIX);
    arg(TUPLE);
    enc_tuple(&term, 4);
    enc_u64(&term, 3);
    value_atom("get");
    falses(1);
    value_atom("x");
    done_arg(TUPLE);
    arg(TUPLE);
    enc_tuple(&term, 2);
    enc_u64(&term, 2);
    value_atom("state");
    done_arg(TUPLE);
    arg(MAP);
    enc_u64(&term, 3);
    done_arg(MAP);
    arg(LIST);
    enc_tuple(&term, 1);
    value_atom("a");
    done_arg(LIST);
    enc_atom(&term, "...");
    expect(
        200,
        "[update,false,<<\"abc\"...1000000 bytes>>,{get,...,x},{state,...},#{3 keys},[a|...],...]");
}

static void nothing_told(void **state)
{
    (void)state;
    enc_tuple(&term, 0);
    expect(200, "[]");
    enc_tuple(&term, 2);
    arg(SLOTS);
    arg(LIST);
    enc_tuple(&term, 1);
    falses(1);
    expect(200, "[...,[...|...]]");
    enc_atom(&term, "big");
    expect(200, "(omitted: too large)");
    enc_atom(&term, "over");
    expect(200, "(omitted: limit per second reached)");
    enc_atom(&term, "EXIT");
    expect(200, "...");
    enc_tuple(&term, 1);
    arg(TUPLE);
    enc_tuple(&term, 1);
    enc_u64(&term, 0);
    done_arg(TUPLE);
    expect(200, "[{}]");
}

static void cut_at_a_whole_character(void **state)
{
    (void)state;
    enc_tuple(&term, 8);
    for (int i = 0; i < 8; i++) {
        arg(VALUE);
        enc_tuple(&term, 1);
        enc_atom(&term, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
        done_arg(VALUE);
    }
    struct buf copy;
    buf_init(&copy, 0);
    buf_add(&copy, term.data, term.len);
    for (size_t max = 8; max < 200; max++) {
        struct etf c;
        etf_init(&c, copy.data, copy.len);
        buf_clear(&text);
        assert_true(args_print(&c, &text, max));
        assert_true(text.len <= max);
        if (text.len >= 3 && max < 100) {
            assert_string_equal(text.data + text.len - 3, "...");
            assert_int_not_equal((unsigned char)text.data[text.len - 4],
                                 0xc3); /* half of an argument */
        }
    }
    buf_release(&copy);
}

/* Any other term in their place is skipped; invalid bytes are refused. */
static void odd_terms(void **state)
{
    (void)state;
    enc_u64(&term, 7);
    expect(200, "...");
    enc_tuple(&term, 3);
    enc_u64(&term, 7);
    enc_tuple(&term, 2);
    falses(2);
    enc_tuple(&term, SLOTS);
    enc_u64(&term, 1);
    falses(4);
    expect(200, "[...,...,...]");
    enc_tuple(&term, 1);
    arg(TUPLE);
    enc_tuple(&term, 3);
    enc_atom(&term, "size");
    falses(2);
    done_arg(TUPLE);
    expect(200, "[...]");
    enc_tuple(&term, 1);
    arg(PREFIX);
    enc_tuple(&term, 2);
    enc_u64(&term, 5);
    enc_u64(&term, 6);
    done_arg(PREFIX);
    expect(200, "[6...5 bytes>>]");
    enc_tuple(&term, 2);
    value_atom("a");
    for (size_t n = 0; n < term.len; n++) {
        struct etf c;
        etf_init(&c, term.data, n);
        assert_false(args_print(&c, &text, 200));
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(of_every_kind),
        T(nothing_told),
        T(cut_at_a_whole_character),
        T(odd_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
