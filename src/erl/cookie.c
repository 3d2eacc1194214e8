#include <errno.h>
#include <kprof/erl/conn.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COOKIE_MAX_BYTES 255

static int take(const char *s, size_t n, const char *from, struct conn_cookie *out, struct err *e)
{
    if (n == 0)
        return err_set(e, "the cookie from %s is empty; give one with --setcookie or --cookie-file",
                       from);
    if (n > COOKIE_MAX_BYTES)
        return err_set(e, "the cookie from %s is longer than %d characters", from,
                       COOKIE_MAX_BYTES);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 32 || (unsigned char)s[i] > 126)
            return err_set(e, "the cookie from %s has an invalid character (byte %zu)", from,
                           i + 1);
    memcpy(out->text, s, n);
    out->text[n] = 0;
    err_copy(out->from, sizeof out->from, from);
    return 0;
}

/* The first line, as in Erlang, without the blanks around it. */
static int from_file(const char *path, struct conn_cookie *out, struct err *e)
{
    char line[1024];
    size_t n, start = 0;
    FILE *f = fopen(path, "re");
    int rc;

    if (f == NULL)
        return err_set(e,
                       "cannot read the cookie file %s: %s; give the cookie with --setcookie, "
                       "KPROF_COOKIE or --cookie-file",
                       path, strerror(errno));
    n = fread(line, 1, sizeof line, f);
    if (ferror(f)) {
        rc = err_set(e, "cannot read the cookie file %s: %s", path, strerror(errno));
        goto out;
    }
    const char *newline = memchr(line, '\n', n);
    if (newline != NULL)
        n = (size_t)(newline - line);
    while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
        n--;
    while (start < n && strchr(" \t", line[start]) != NULL)
        start++;
    rc = take(line + start, n - start, path, out, e);
out:
    fclose(f);
    explicit_bzero(line, sizeof line);
    return rc;
}

static const char *home(void)
{
    const char *h = getenv("HOME");
    struct passwd *p;

    if (h != NULL && *h != 0)
        return h;
    p = getpwuid(getuid());
    return p != NULL ? p->pw_dir : NULL;
}

/* The file in which an Elixir release (mix release) keeps its cookie; false: there is none. */
static bool release_file(char *path, size_t cap_bytes)
{
    const char *root = getenv("RELEASE_ROOT");
    int n = root != NULL && *root != 0 ? snprintf(path, cap_bytes, "%s/releases/COOKIE", root) : -1;

    return n > 0 && (size_t)n < cap_bytes && access(path, R_OK) == 0;
}

int conn_find_cookie(const char *setcookie, const char *cookie_file, struct conn_cookie *out,
                     struct err *e)
{
    static const char *const variables[] = {"KPROF_COOKIE", "RELEASE_COOKIE"};
    char path[4096];

    if (setcookie != NULL)
        return take(setcookie, strlen(setcookie), "--setcookie", out, e);
    if (cookie_file != NULL) /* an option comes before an environment variable */
        return from_file(cookie_file, out, e);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);

        if (value != NULL)
            return take(value, strlen(value), variables[i], out, e);
    }
    if (release_file(path, sizeof path))
        return from_file(path, out, e);
    const char *dir = home();
    if (dir == NULL)
        return err_set(e, "no cookie: there is no home directory for ~/.erlang.cookie; give it "
                          "with --setcookie, KPROF_COOKIE or --cookie-file");
    if (snprintf(path, sizeof path, "%s/.erlang.cookie", dir) >= (int)sizeof path)
        return err_set(e, "no cookie: the home directory's name is too long");
    return from_file(path, out, e);
}
