#include <kprof/cli/xdg_path.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *variable, *at_home;
} places[] = {[XDG_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
              [XDG_STATE] = {"XDG_STATE_HOME", ".local/state"}};

bool xdg_path_of(enum xdg_path p, const char *name, char path[XDG_PATH_BYTES])
{
    const char *base = getenv(places[p].variable), *home = getenv("HOME");
    int n = -1;

    if (base && base[0] == '/')
        n = snprintf(path, XDG_PATH_BYTES, "%s/kprof-top/%s", base, name);
    else if (home && home[0] == '/')
        n = snprintf(path, XDG_PATH_BYTES, "%s/%s/kprof-top/%s", home, places[p].at_home, name);
    return n >= 0 && n < XDG_PATH_BYTES;
}

void xdg_path_make(const char *path)
{
    char above[XDG_PATH_BYTES];

    snprintf(above, sizeof above, "%s", path);
    for (char *at = above + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(above, 0700);
        *at = '/';
    }
}
