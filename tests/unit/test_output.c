/* Whether a file can be written is known before a long run, and the check creates nothing. */
#include <kprof/cli/output.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/kprof-output-XXXXXX";

static const char *in(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int made(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int removed(void **state)
{
    (void)state;
    unlink(in("file"));
    unlink(in("link"));
    unlink(in("pipe"));
    return rmdir(dir);
}

static void what_can_be_written(void **state)
{
    struct err e = {{0}};
    (void)state;
    assert_int_equal(output_check(in("file"), &e), 0);
    assert_int_equal(access(in("file"), F_OK), -1); /* nothing is created */
    int fd = output_open(in("file"), OUTPUT_NEW, &e);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(output_check(in("file"), &e), 0);
    assert_int_equal(output_check("file-in-the-working-directory", &e), 0);
    assert_int_equal(output_check(in("%t/app.svg"), &e), 0); /* the name is not known yet */
    assert_int_equal(output_check("/dev/null", &e), 0);
}

static void what_cannot(void **state)
{
    struct err e = {{0}};
    char file[200];
    (void)state;
    assert_int_equal(output_check(in("missing/app.svg"), &e), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(e.text, "missing/app.svg: No such file or directory"));
    assert_int_equal(output_check(in("missing/app-%t.svg"), &e), -1);
    snprintf(file, sizeof file, "%s", in("file"));
    assert_int_equal(symlink(file, in("link")), 0);
    assert_int_equal(output_check(in("link"), &e), -1); /* output_open follows no link */
    assert_int_equal(output_open(in("link"), OUTPUT_OVER, &e), -1);
    assert_non_null(strstr(e.text, "/link: it is a symbolic link; give the name of the file"));
}

/* rename puts a regular file in the place of anything. */
static void only_a_regular_file_is_replaced(void **state)
{
    struct err e = {{0}};
    struct stat st;

    (void)state;
    assert_int_equal(output_replace(in("file"), "new\n", 4, &e), 0);
    assert_int_equal(stat(in("file"), &st), 0);
    assert_int_equal(st.st_size, 4);

    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    assert_int_equal(output_replace(in("pipe"), "new\n", 4, &e), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(e.text, "/pipe: it is not a regular file"));
    assert_int_equal(lstat(in("pipe"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));

    assert_int_equal(output_replace(in("link"), "over\n", 5, &e), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(lstat(in("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(output_replace(dir, "new\n", 4, &e), -1);
}

/* What does not fit into a text is missing at its end. */
static void a_part_is_no_text(void **state)
{
    struct err e = {{0}};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_addf(&text, "%*s", 1 << 20, "");
    assert_int_equal(output_check_text(&text, in("file"), &e), 0);
    buf_addch(&text, '}');
    assert_int_equal(output_check_text(&text, in("file"), &e), -1);
    assert_int_equal(errno, EFBIG);
    assert_non_null(strstr(e.text, "/file: its text is longer than 1 MB; trace fewer"));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_written),
        cmocka_unit_test(what_cannot),
        cmocka_unit_test(only_a_regular_file_is_replaced),
        cmocka_unit_test(a_part_is_no_text),
    };
    return cmocka_run_group_tests(tests, made, removed);
}
