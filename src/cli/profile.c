#include <kprof/cli/profile.h>

#include <dirent.h>
#include <kprof/cli/optval.h>
#include <kprof/cli/xdg_path.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDING ".config"

static bool is_name(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n < PROFILE_NAME_BYTES && s[0] != '.' &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

int profile_path(const char *name, char path[PROFILE_PATH_BYTES], struct err *e)
{
    char file[PROFILE_NAME_BYTES + sizeof ENDING];
    if (!is_name(name))
        return err_set(
            e, "\"%s\" is not a valid profile name: use letters, digits, . _ and -, at most %d",
            optval_show(name).s, PROFILE_NAME_BYTES - 1);
    snprintf(file, sizeof file, "%s" ENDING, name);
    if (!xdg_path_of(XDG_CONFIG, file, path))
        return err_set(e, "no directory for profiles: set HOME or XDG_CONFIG_HOME");
    return 0;
}

void profile_find(const char *given, char path[PROFILE_PATH_BYTES])
{
    struct err ignored;
    bool own =
        access(given, F_OK) != 0 && is_name(given) && profile_path(given, path, &ignored) == 0;
    if (!own || access(path, F_OK) != 0)
        snprintf(path, PROFILE_PATH_BYTES, "%s", given);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

size_t profile_list(profile_name *out)
{
    char dir[XDG_PATH_BYTES];
    size_t n = 0;
    DIR *d = xdg_path_of(XDG_CONFIG, "", dir) ? opendir(dir) : NULL;
    struct dirent *f;
    while (d && n < PROFILES_MAX && (f = readdir(d))) {
        size_t len = strlen(f->d_name), end = strlen(ENDING);
        if (len <= end || len - end >= PROFILE_NAME_BYTES ||
            strcmp(f->d_name + len - end, ENDING) != 0)
            continue;
        snprintf(out[n], sizeof out[n], "%.*s", (int)(len - end), f->d_name);
        n += is_name(out[n]);
    }
    if (d)
        closedir(d);
    qsort(out, n, sizeof *out, by_name);
    return n;
}
