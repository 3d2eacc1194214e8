/* What of a row of bytes is typed and what belongs to a sequence; and any bytes at all. */
#include <ui/escape.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* As term_key does: an ESC that an introducer follows begins a sequence; any other is a key (E). */
static void typed(const char *bytes, char *out)
{
    struct escape e = {.state = ESCAPE_NONE};
    uint64_t now = 1000;

    for (; *bytes; bytes++, now += 1000) {
        if (escape_eats(&e, (unsigned char)*bytes, now))
            continue;
        if (*bytes == 27 && escape_introduces((unsigned char)bytes[1]))
            escape_begin(&e, now);
        else
            *out++ = *bytes == 27 ? 'E' : *bytes;
    }
    *out = 0;
}

static void by_hand(void **state)
{
    static const struct {
        const char *bytes, *keys;
    } cases[] = {
        {"abc", "abc"},
        {"a\033", "aE"},                          /* Escape, the key */
        {"\033[1;5qa", "a"},                      /* Ctrl and a key of another terminal */
        {"x\033[?62;22cy", "xy"},                 /* an answer to "what are you?" */
        {"\033[<0;12;3M\033[<0;12;3mq", "q"},     /* a mouse nobody asked for */
        {"\033Oq\033Opk", "k"},                   /* the number pad */
        {"\033]10;rgb:ffff/ffff/ffff\007t", "t"}, /* a colour */
        {"\033]11;rgb:0000/0000/0000\033\\t", "t"},
        {"\033P1+r636f=38\033\\w", "w"},
        {"\033as", "Eas"},              /* Escape and keys, in one packet */
        {"\033[12\nq", "\nq"},          /* cut off */
        {"\033[200~qt\033[201~", "qt"}, /* pasted: the text itself was meant */
        {"\033P\033[31qs", "s"},        /* one that ends in another */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[128];
        typed(cases[i].bytes, out);
        assert_string_equal(out, cases[i].keys);
    }
}

/* A sequence that never ends holds up no key for longer than its time. */
static void ends_by_itself(void **state)
{
    struct escape e = {.state = ESCAPE_NONE};

    (void)state;
    escape_begin(&e, 1000);
    assert_true(escape_eats(&e, ']', 1001));
    assert_true(escape_eats(&e, 'q', 1001 + ESCAPE_WAIT_NS));
    assert_false(escape_eats(&e, 'q', 1002 + 2 * ESCAPE_WAIT_NS));
    assert_false(escape_eats(&e, 'q', 1003 + 2 * ESCAPE_WAIT_NS));
    escape_begin(&e, 1000);
    assert_true(escape_eats(&e, ']', 1000));
    for (int i = 1; i < ESCAPE_BYTES_MAX; i++)
        assert_true(escape_eats(&e, 'x', 1000));
    assert_false(escape_eats(&e, 'q', 1000));
}

static void any_bytes(void **state)
{
    uint32_t seed = (uint32_t)time(NULL);
    struct escape e = {.state = ESCAPE_NONE};
    uint64_t now = 0;

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 200000; i++) {
        now += (uint64_t)rand() % 3000000;
        bool was = e.state != ESCAPE_NONE;
        if (rand() % 50 == 0)
            escape_begin(&e, now);
        else if (escape_eats(&e, (uint32_t)rand() % (rand() % 2 ? 0x80 : 0x110000), now))
            assert_true(was);
        assert_true(e.bytes <= ESCAPE_BYTES_MAX + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(ends_by_itself),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
