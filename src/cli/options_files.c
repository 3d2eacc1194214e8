#include "options_files.h"

#include <kprof/cli/profile.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct named {
    const char *option, *path; /* NULL: not given */
    bool written;
};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The directory of a file that does not exist yet. */
static bool directory_of(const char *path, struct stat *st)
{
    const char *slash = strrchr(path, '/');
    char dir[4096] = ".";

    if (slash &&
        (size_t)snprintf(dir, sizeof dir, "%.*s/", (int)(slash - path), path) >= sizeof dir)
        return false;
    return stat(dir, st) == 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What is not a regular file, such as /dev/null, has no content that could be destroyed. */
static bool is_one_file(const char *a, const char *b)
{
    struct stat x, y;
    bool there = stat(a, &x) == 0;

    if (there != (stat(b, &y) == 0))
        return false;
    if (there)
        return S_ISREG(x.st_mode) && is_same(&x, &y);
    return strcmp(last_part(a), last_part(b)) == 0 && directory_of(a, &x) && directory_of(b, &y) &&
           is_same(&x, &y);
}

int options_files_check(const struct options *o, struct err *e)
{
    char config[PROFILE_PATH_BYTES] = "";
    const struct named files[] = {{"output", o->output, true},
                                  {"record", o->record, true},
                                  {"slow-log", o->slow_log, true},
                                  {"replay", o->replay, false},
                                  {"baseline", o->baseline, false},
                                  {"flame", o->flame, false},
                                  {"config", o->config ? config : NULL, false},
                                  {"cookie-file", o->cookie_file, false}};
    const size_t n = sizeof files / sizeof *files;

    if (o->config)
        profile_find(o->config, config);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            const struct named *a = &files[i], *b = &files[k];
            if (!a->written || !a->path || !b->path || !is_one_file(a->path, b->path))
                continue;
            return err_set(e, "--%s and --%s are the same file; give --%s another name", b->option,
                           a->option, a->option);
        }
    }
    return 0;
}
