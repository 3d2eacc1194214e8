/* Lines on standard error: what a node sends must not be a command to the terminal. */
#include "stderr_text.h"

#include <app/notice.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BAD "\xef\xbf\xbd" /* U+FFFD, the replacement character */

static void printed(void (*print)(void), const char *line)
{
    struct stderr_text text;
    char got[200];

    stderr_text_begin(&text);
    print();
    stderr_text_end(&text, got, sizeof got);
    assert_string_equal(got, line);
}

static void plain(void)
{
    notice("no trigger fired");
}

static void hostile(void)
{
    notice_about("precaution\033]0;x\007", "two\nlines \033[2J\xc2\x9b"
                                           "2J");
}

static void lines(void **state)
{
    (void)state;
    printed(plain, "kprof-top: no trigger fired\n");
}

static void no_control_characters(void **state)
{
    (void)state;
    printed(hostile,
            "kprof-top: precaution" BAD "]0;x" BAD ": two" BAD "lines " BAD "[2J" BAD "2J\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(no_control_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
