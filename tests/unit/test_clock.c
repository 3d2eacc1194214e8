#include <kprof/base/clock.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

static void parses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"0", 0},
        {"0s", 0},
        {"1", 1000000000},
        {"1ns", 1},
        {"1500us", 1500000},
        {"20ms", 20000000},
        {"2s", 2000000000},
        {"2.5s", 2500000000},
        {"0.5", 500000000},
        {".5", 500000000},
        {"3m", 180000000000},
        {"1h", 3600000000000},
        {"1.5h", 5400000000000},
        {"0.000000001", 1},
        {"0.0000000019", 1},
        {"0.1us", 100},
        {"1.999999999999999999999999999999s", 1999999999},
        {"000000000000000000000000000020ms", 20000000},
        {"18446744073709551615ns", UINT64_MAX},
        {"5124095.576h", 18446744073600000000u},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t ns = 77;
        if (!clock_parse_duration(good[i].text, &ns) || ns != good[i].ns)
            fail_msg("%s: %llu", good[i].text, (unsigned long long)ns);
    }
}

static void refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "s",
        "ms",
        ".",
        "1.",
        "1.s",
        ".s",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1 s",
        "1S",
        "1sec",
        "1mss",
        "1e3",
        "0x10",
        "inf",
        "nan",
        "1,5",
        "1.5.5",
        "1s2",
        "1d",
        "\xc2\xb5s",
        "1\n",
        "1n",
        "1u",
        "--1",
        "1.-5",
        "20 ms",
        "18446744073709551616ns",
        "18446744074s",
        "5124096h",
        "99999999999999999999999999",
        "340282366920938463463374607431768211457", /* 2^128 + 1 */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t ns = 77;
        if (clock_parse_duration(bad[i], &ns))
            fail_msg("accepted: \"%s\" as %llu", bad[i], (unsigned long long)ns);
        assert_int_equal(ns, 77);
    }
}

static void takes_what_is_typed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"5 ms", 5000000},
                {"  2.5   s ", 2500000000},
                {"20ms", 20000000},
                {"7 ", 7000000000},
                {"45 m", 2700000000000}};
    static const char *const bad[] = {"",    " ",     "ms",  "5 0ms", "5 ms 3", "5 m s",
                                      "- 5", "5\tms", ". 5", "5 . 5", "5. ms"};
    char longest[200];
    uint64_t ns = 77;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (clock_parse_typed(bad[i], &ns))
            fail_msg("accepted: \"%s\" as %llu", bad[i], (unsigned long long)ns);
    memset(longest, '1', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_false(clock_parse_typed(longest, &ns));
    assert_int_equal(ns, 77);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!clock_parse_typed(good[i].text, &ns) || ns != good[i].ns)
            fail_msg("%s: %llu", good[i].text, (unsigned long long)ns);
}

static void formats(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0ns"},
        {853, "853ns"},
        {999, "999ns"},
        {1000, "1.00us"},
        {9994, "9.99us"},
        {9995, "10.0us"},
        {12345, "12.3us"},
        {99950, "100us"},
        {999499, "999us"},
        {999500, "1.00ms"},
        {4560000, "4.56ms"},
        {999499999, "999ms"},
        {999500000, "1.00s"},
        {1200000000, "1.20s"},
        {59949999999, "59.9s"},
        {59950000000, "1m00s"},
        {60000000000, "1m00s"},
        {123000000000, "2m03s"},
        {3599499999999, "59m59s"},
        {3599500000000, "1h00m"},
        {3720000000000, "1h02m"},
        {359969999999999, "99h59m"},
        {359970000000000, "4d04h"},
        {86398199999999999, "999d23h"},
        {86400000000000000, "1000d"},
        {UINT64_MAX, "213503d"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[32];
        clock_format_ns(rows[i].ns, text, sizeof text);
        assert_string_equal(text, rows[i].text);
        char small[4];
        clock_format_ns(rows[i].ns, small, sizeof small);
        assert_true(strlen(small) < sizeof small);
    }
}

/* For all durations: 3 to 7 columns, and never a smaller number for a larger duration in the same
 * unit. */
static void never_wider_than_seven(void **state)
{
    (void)state;
    for (uint64_t ns = 1; ns < UINT64_MAX / 2; ns += 1 + ns / 37) {
        char text[32];
        clock_format_ns(ns, text, sizeof text);
        if (strlen(text) < 3 || strlen(text) > 7)
            fail_msg("%llu: %s", (unsigned long long)ns, text);
        for (const char *p = text; *p; p++)
            assert_true(*p > 0x20 && *p < 0x7f);
    }
}

static void wall_clock(void **state)
{
    (void)state;
    char text[40];
    clock_format_wall(0, text, sizeof text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_format_wall(1795230245678999999u, text, sizeof text);
    assert_string_equal(text, "2026-11-21T03:04:05.678Z");
    clock_format_wall(951782399999000000u, text, sizeof text);
    assert_string_equal(text, "2000-02-28T23:59:59.999Z");
    clock_format_wall(UINT64_MAX, text, sizeof text);
    assert_int_equal(strlen(text), 24);
    clock_format_wall(0, text, 5);
    assert_string_equal(text, "1970");
}

static void clocks_go_forward(void **state)
{
    (void)state;
    uint64_t a = clock_mono_ns(), b = clock_mono_ns();
    assert_true(a > 0 && b >= a);
    assert_true(clock_wall_ns() > UINT64_C(1600000000) * 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(refuses),
        cmocka_unit_test(takes_what_is_typed),
        cmocka_unit_test(formats),
        cmocka_unit_test(never_wider_than_seven),
        cmocka_unit_test(wall_clock),
        cmocka_unit_test(clocks_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
