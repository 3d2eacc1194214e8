/* Names of the files of samples, and how many are kept. */
#include <app/stack_files.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define AT_NS 1790000000123456789u

static void names(void **state)
{
    (void)state;
    struct stack_files f;
    struct err e;
    char path[STACK_FILES_PATH_BYTES];

    setenv("TZ", "UTC-2", 1); /* two hours before UTC */
    tzset();
    stack_files_init(&f, "dir.%/app-%t.perf", 0);
    assert_int_equal(stack_files_name(&f, AT_NS, 0, path, &e), 0);
    assert_string_equal(path, "dir.%/app-20260921-161320.perf");
    assert_int_equal(stack_files_name(&f, AT_NS, 2, path, &e), 0);
    assert_string_equal(path, "dir.%/app-20260921-161320-2.perf");
    stack_files_release(&f);
    stack_files_init(&f, "plain.svg", 0);
    assert_int_equal(stack_files_name(&f, AT_NS, 0, path, &e), 0);
    assert_string_equal(path, "plain.svg");
    stack_files_release(&f);
}

static void long_names(void **state)
{
    (void)state;
    struct stack_files f;
    struct err e = {{0}};
    char path[STACK_FILES_PATH_BYTES], pattern[STACK_FILES_PATH_BYTES + 1];

    memset(pattern, 'a', sizeof pattern);
    pattern[STACK_FILES_PATH_BYTES] = '\0';
    stack_files_init(&f, pattern, 0);
    assert_int_equal(stack_files_name(&f, AT_NS, 0, path, &e), -1);
    pattern[STACK_FILES_PATH_BYTES - 1] = '\0';
    assert_int_equal(stack_files_name(&f, AT_NS, 0, path, &e), 0);
    memcpy(pattern, "%t", 2);
    assert_int_equal(stack_files_name(&f, AT_NS, 0, path, &e), -1);
    assert_non_null(strstr(e.text, "too long"));
    stack_files_release(&f);
}

/* The newest three stay; a file that it has not written stays, too. */
static void rotation(void **state)
{
    (void)state;
    char dir[] = "/tmp/kprof_test_files_XXXXXX", path[100];
    struct stack_files f;

    assert_non_null(mkdtemp(dir));
    stack_files_init(&f, "unused", 3);
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        fclose(fopen(path, "w"));
        if (i != 4)
            stack_files_written(&f, path);
    }
    assert_int_equal(f.written, 9);
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        assert_int_equal(access(path, F_OK), i == 4 || i >= 7 ? 0 : -1);
        unlink(path);
    }
    stack_files_release(&f);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(long_names),
        cmocka_unit_test(rotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
