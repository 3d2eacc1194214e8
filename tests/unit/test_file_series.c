/* Names of the files of samples, and how many are kept. */
#include <app/file_series.h>

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
    struct file_series f;
    struct err e;
    char path[FILE_SERIES_PATH_BYTES];

    setenv("TZ", "UTC-2", 1); /* two hours before UTC */
    tzset();
    file_series_init(&f, "dir.%/app-%t.perf", 0);
    assert_int_equal(file_series_name(&f, AT_NS, 0, path, &e), 0);
    assert_string_equal(path, "dir.%/app-20260921-161320.perf");
    assert_int_equal(file_series_name(&f, AT_NS, 2, path, &e), 0);
    assert_string_equal(path, "dir.%/app-20260921-161320-2.perf");
    file_series_release(&f);
    file_series_init(&f, "plain.svg", 0);
    assert_int_equal(file_series_name(&f, AT_NS, 0, path, &e), 0);
    assert_string_equal(path, "plain.svg");
    file_series_release(&f);
}

static void long_names(void **state)
{
    (void)state;
    struct file_series f;
    struct err e = {{0}};
    char path[FILE_SERIES_PATH_BYTES], pattern[FILE_SERIES_PATH_BYTES + 1];

    memset(pattern, 'a', sizeof pattern);
    pattern[FILE_SERIES_PATH_BYTES] = '\0';
    file_series_init(&f, pattern, 0);
    assert_int_equal(file_series_name(&f, AT_NS, 0, path, &e), -1);
    pattern[FILE_SERIES_PATH_BYTES - 1] = '\0';
    assert_int_equal(file_series_name(&f, AT_NS, 0, path, &e), 0);
    memcpy(pattern, "%t", 2);
    assert_int_equal(file_series_name(&f, AT_NS, 0, path, &e), -1);
    assert_non_null(strstr(e.text, "too long"));
    file_series_release(&f);
}

/* The newest three stay; a file that it has not written stays, too. */
static void rotation(void **state)
{
    (void)state;
    char dir[] = "/tmp/kprof_test_files_XXXXXX", path[100];
    struct file_series f;

    assert_non_null(mkdtemp(dir));
    file_series_init(&f, "unused", 3);
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        fclose(fopen(path, "w"));
        if (i != 4)
            file_series_written(&f, path);
    }
    assert_int_equal(f.written, 9);
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        assert_int_equal(access(path, F_OK), i == 4 || i >= 7 ? 0 : -1);
        unlink(path);
    }
    file_series_release(&f);
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
