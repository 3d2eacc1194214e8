/* Lines on standard error: what a node sends must not be a command to the terminal. */
#include <app/notice.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BAD "\xef\xbf\xbd" /* U+FFFD, the replacement character */

static void printed(void (*print)(void), const char *line)
{
    char got[200] = "";
    int pipe_fd[2], saved = dup(STDERR_FILENO);

    assert_true(saved >= 0);
    assert_int_equal(pipe(pipe_fd), 0);
    assert_true(dup2(pipe_fd[1], STDERR_FILENO) >= 0);
    print();
    fflush(stderr);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(pipe_fd[1]);
    assert_true(read(pipe_fd[0], got, sizeof got - 1) > 0);
    close(pipe_fd[0]);
    close(saved);
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
