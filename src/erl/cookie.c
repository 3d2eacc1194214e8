#include <errno.h>
#include <kprof/erl/conn.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COOKIE_MAX_BYTES 255

static int take(const char *s, size_t n, const char *from, char *out, size_t cap_bytes,
                struct err *e)
{
    if (n == 0)
        return err_set(e, "the cookie from %s is empty; give one with --setcookie or --cookie-file",
                       from);
    if (n > COOKIE_MAX_BYTES || n >= cap_bytes)
        return err_set(e, "the cookie from %s is longer than %d characters", from,
                       COOKIE_MAX_BYTES);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 32 || (unsigned char)s[i] > 126)
            return err_set(e, "the cookie from %s has an invalid character (byte %zu)", from,
                           i + 1);
    memcpy(out, s, n);
    out[n] = 0;
    return 0;
}

/* The first line, as in Erlang, without the blanks around it. */
static int from_file(const char *path, char *out, size_t cap_bytes, struct err *e)
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
    rc = take(line + start, n - start, path, out, cap_bytes, e);
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

int conn_find_cookie(const char *setcookie, const char *cookie_file, char *out, size_t cap_bytes,
                     struct err *e)
{
    const char *environment = getenv("KPROF_COOKIE"), *dir;
    char path[4096];

    if (setcookie != NULL)
        return take(setcookie, strlen(setcookie), "--setcookie", out, cap_bytes, e);
    if (cookie_file != NULL) /* an option comes before an environment variable */
        return from_file(cookie_file, out, cap_bytes, e);
    if (environment != NULL)
        return take(environment, strlen(environment), "KPROF_COOKIE", out, cap_bytes, e);
    dir = home();
    if (dir == NULL)
        return err_set(e, "no cookie: there is no home directory for ~/.erlang.cookie; give it "
                          "with --setcookie, KPROF_COOKIE or --cookie-file");
    if (snprintf(path, sizeof path, "%s/.erlang.cookie", dir) >= (int)sizeof path)
        return err_set(e, "no cookie: the home directory's name is too long");
    return from_file(path, out, cap_bytes, e);
}
