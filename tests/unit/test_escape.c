/* Which input bytes are keys and which belong to a sequence; random bytes. */
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

/* As in term_key: an ESC before an introducer begins a sequence; any other ESC is a key (E). Pasted
 * text is in {}. */
static void typed(const char *bytes, char *out)
{
    struct escape e = {.state = ESCAPE_NONE};
    uint64_t now = 1000;

    for (; *bytes; bytes++, now += 1000) {
        bool was = e.pasting;
        bool eaten = escape_eats(&e, (unsigned char)*bytes, now);
        if (e.pasting != was)
            *out++ = was ? '}' : '{';
        if (eaten)
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
        {"a\033", "aE"},                          /* the Escape key */
        {"\033[1;5qa", "a"},                      /* Ctrl and a key of another terminal */
        {"x\033[?62;22cy", "xy"},                 /* the answer to a device attributes request */
        {"\033[<0;12;3M\033[<0;12;3mq", "q"},     /* an unrequested mouse report */
        {"\033Oq\033Opk", "k"},                   /* the numeric keypad */
        {"\033]10;rgb:ffff/ffff/ffff\007t", "t"}, /* a color */
        {"\033]11;rgb:0000/0000/0000\033\\t", "t"},
        {"\033P1+r636f=38\033\\w", "w"},
        {"\033as", "Eas"},                          /* Escape and keys, in one packet */
        {"\033[12\nq", "\nq"},                      /* cut off */
        {"a\033[200~qt\nz\033[201~b", "a{qt\nz}b"}, /* pasted: no keys */
        {"\033[200~q\033q\033[20q\033\033[201~q",
         "{qqq}q"},                                    /* the end sequence, after incomplete ones */
        {"\033[200~\033[31mq", "{31mq"},               /* no end, no keys */
        {"\033[201~q", "q"},                           /* an end without a beginning */
        {"\033[?200~q\033[1200~q\033[200;1~q", "qqq"}, /* other sequences */
        {"\033P\033[31qs", "s"},                       /* a sequence interrupted by another */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[128];
        typed(cases[i].bytes, out);
        assert_string_equal(out, cases[i].keys);
    }
}

/* A sequence without an end delays keys only for a limited time. */
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

/* Escape and a key that could begin a sequence, in one packet, with nothing after them. */
static void two_keys(void **state)
{
    static const char introducers[] = "[ONP]^_X";
    struct escape e = {.state = ESCAPE_NONE};
    uint64_t now = 1000;
    uint32_t cp = 0;

    (void)state;
    assert_false(escape_typed(&e, now, &cp));
    for (const char *k = introducers; *k; k++, now += ESCAPE_WAIT_NS) {
        escape_begin(&e, now);
        assert_true(escape_eats(&e, (unsigned char)*k, now));
        assert_false(escape_typed(&e, now + ESCAPE_WAIT_NS, &cp)); /* more may come */
        assert_true(escape_typed(&e, now + ESCAPE_WAIT_NS + 1, &cp));
        assert_int_equal(cp, *k);
        assert_false(escape_typed(&e, now + 3 * ESCAPE_WAIT_NS, &cp)); /* once */
        assert_false(escape_eats(&e, cp, now + ESCAPE_WAIT_NS + 2));
    }
    escape_begin(&e, now); /* a sequence that is cut off is not typed */
    assert_true(escape_eats(&e, '[', now));
    assert_true(escape_eats(&e, '1', now));
    assert_false(escape_typed(&e, now + 2 * ESCAPE_WAIT_NS, &cp));
    escape_begin(&e, now);
    for (const char *b = "[200~"; *b; b++)
        assert_true(escape_eats(&e, (unsigned char)*b, now));
    assert_false(escape_typed(&e, now + 2 * ESCAPE_WAIT_NS, &cp)); /* a paste has no time */
}

/* At any speed and with any content, no byte of a paste is a key. */
static void a_paste_has_no_time(void **state)
{
    static const char begin[] = "[200~", end[] = "\033[201~";
    uint32_t seed = (uint32_t)time(NULL);
    uint64_t now = 1000;

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    for (int run = 0; run < 1000; run++) {
        struct escape e = {.state = ESCAPE_NONE};
        escape_begin(&e, now);
        for (const char *b = begin; *b; b++)
            assert_true(escape_eats(&e, (unsigned char)*b, now));
        for (int i = rand() % 3 * ESCAPE_BYTES_MAX; i > 0; i--) {
            uint32_t cp = rand() % 4 ? (uint32_t)rand() % 0x110000 : (unsigned char)end[rand() % 5];
            now += (uint64_t)rand() % (3 * ESCAPE_WAIT_NS);
            bool eaten = escape_eats(&e, cp, now);
            assert_true(e.pasting);
            assert_true(!eaten || e.paste_end > 0);
        }
        for (const char *b = end; *b; b++)
            assert_true(escape_eats(&e, (unsigned char)*b, now += 3 * ESCAPE_WAIT_NS));
        assert_false(e.pasting);
        assert_false(escape_eats(&e, 'q', now));
    }
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
        bool was = e.state != ESCAPE_NONE || e.pasting;
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
        cmocka_unit_test(by_hand),   cmocka_unit_test(ends_by_itself),
        cmocka_unit_test(two_keys),  cmocka_unit_test(a_paste_has_no_time),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
