/* The file of --slow-log: its content, refused files, a full disk. */
#include <engine/slow_log.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/kprof-slow-log-XXXXXX", path[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir + sizeof dir - 7, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/slow", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    rmdir(dir);
    return 0;
}

static size_t contents(char *to, size_t cap)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(to, 1, cap - 1, f);
    to[n] = 0;
    fclose(f);
    return n;
}

static void put(const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static struct slow_log *open_it(void)
{
    struct err e = {{0}};
    struct slow_log *l = slow_log_open(path, &e);
    if (!l)
        fail_msg("%s", e.text);
    return l;
}

static void add(struct slow_log *l, const char *tier, uint64_t missed)
{
    struct snap_slow w = {.seq = 1, .tier_name = tier, .ident = "create", .duration_us = 21000};
    slow_log_add(l, &(struct snapshot){.n_slow = 0}, &w, "app@host", missed);
}

static void lines_are_added(void **state)
{
    (void)state;
    char text[4096];
    struct stat st;
    put("");
    assert_int_equal(chmod(path, 0644), 0); /* an old file that everybody can read */
    for (int run = 0; run < 2; run++) {
        struct slow_log *l = open_it();
        add(l, "db", 0);
        slow_log_flush(l);
        add(l, "esc\x1b[2J\nape", 7);
        slow_log_close(l);
    }
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    contents(text, sizeof text);
    size_t lines = 0;
    for (char *c = text, *end; (end = strchr(c, '\n')); c = end + 1, lines++)
        assert_true(c[0] == '{' && end[-1] == '}');
    assert_int_equal(lines, 6);
    assert_non_null(strstr(text, "\"node\":\"app@host\",\"tier\":\"db\",\"identity\":\"create\""));
    assert_non_null(strstr(text, "\"missed\":7}"));
    assert_null(strchr(text, 27));
}

static void only_a_slow_log_is_added_to(void **state)
{
    (void)state;
    char text[4096], link_to[80];
    struct err e = {{0}};
    put("my thesis\n");
    assert_null(slow_log_open(path, &e));
    assert_non_null(strstr(e.text, "not a slow log"));
    contents(text, sizeof text);
    assert_string_equal(text, "my thesis\n");
    struct stat st;
    put("{\n \"a\": 1\n}\n"); /* of another program */
    assert_int_equal(chmod(path, 0644), 0);
    assert_null(slow_log_open(path, &e));
    assert_non_null(strstr(e.text, "not a slow log"));
    contents(text, sizeof text);
    assert_string_equal(text, "{\n \"a\": 1\n}\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    put("{"); /* too short */
    assert_null(slow_log_open(path, &e));
    assert_null(slow_log_open(dir, &e));
    assert_null(slow_log_open("/dev/null", &e));
    assert_non_null(strstr(e.text, "not a regular file"));
    snprintf(link_to, sizeof link_to, "%s/link", dir);
    put("");
    assert_int_equal(symlink(path, link_to), 0);
    assert_null(slow_log_open(link_to, &e));
    assert_non_null(strstr(e.text, "symbolic link"));
    unlink(link_to);
}

/* a run was killed while it wrote */
static void a_line_cut_short_is_ended(void **state)
{
    (void)state;
    char text[4096];
    put("{\"at\":\"2026\"}\n{\"at");
    struct slow_log *l = open_it();
    add(l, "db", 0);
    slow_log_close(l);
    contents(text, sizeof text);
    assert_non_null(strstr(text, "{\"at\n{\"at\":"));
}

static void a_full_disk(void **state)
{
    (void)state;
    char text[4096];
    struct rlimit old, full;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    full = old;
    full.rlim_cur = 1000;
    struct slow_log *l = open_it();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    for (int i = 0; i < 20; i++)
        add(l, "db", 0);
    assert_null(slow_log_trouble(l));
    slow_log_flush(l);
    const char *said = slow_log_trouble(l);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(said);
    assert_non_null(strstr(said, path));
    assert_null(slow_log_trouble(l)); /* once */
    add(l, "db", 0);
    slow_log_close(l);
    size_t n = contents(text, sizeof text);
    assert_true(n > 100 && n <= 1000);
    assert_true(text[n - 1] == '\n'); /* all lines are complete, including the last */
}

/* A full disk, from this size on. */
static struct rlimit limit_to(rlim_t bytes)
{
    struct rlimit old, full;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    full = old;
    full.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    return old;
}

/* After a failure, the file is not touched again: it may have another writer. */
static void a_failed_log_is_left_alone(void **state)
{
    (void)state;
    struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    struct stat st;

    signal(SIGXFSZ, SIG_IGN);
    struct slow_log *l = open_it();
    struct rlimit old = limit_to(1000);
    for (int i = 0; i < 20; i++)
        add(l, "db", 0);
    slow_log_flush(l);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(slow_log_trouble(l));
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    slow_log_flush(l);
    slow_log_close(l);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mtime, 1000);
}

static struct rlimit before_full;

/* Runs when a write fails, before the failure is known. */
static void write_from_elsewhere(int sig)
{
    static const char line[] = "{\"at\":\"of another program\"}\n";
    int fd = open(path, O_WRONLY | O_APPEND);

    (void)sig;
    (void)setrlimit(RLIMIT_FSIZE, &before_full);
    (void)!write(fd, line, sizeof line - 1);
    close(fd);
}

static void lines_of_another_program_are_not_cut(void **state)
{
    (void)state;
    char text[4096];

    signal(SIGXFSZ, write_from_elsewhere);
    struct slow_log *l = open_it();
    before_full = limit_to(1000);
    for (int i = 0; i < 20; i++)
        add(l, "db", 0);
    slow_log_flush(l);
    signal(SIGXFSZ, SIG_IGN);
    assert_non_null(slow_log_trouble(l));
    slow_log_close(l);
    size_t n = contents(text, sizeof text);
    assert_true(n > 1000);
    assert_non_null(strstr(text, "of another program\"}\n"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(lines_are_added), T(only_a_slow_log_is_added_to), T(a_line_cut_short_is_ended),
        T(a_full_disk),     T(a_failed_log_is_left_alone),  T(lines_of_another_program_are_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
