#include <kprof/app/place.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *variable, *at_home;
} places[] = {[PLACE_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
              [PLACE_STATE] = {"XDG_STATE_HOME", ".local/state"}};

bool place_path(enum place p, const char *name, char path[PLACE_BYTES])
{
    const char *base = getenv(places[p].variable), *home = getenv("HOME");
    int n = -1;

    if (base && base[0] == '/')
        n = snprintf(path, PLACE_BYTES, "%s/kprof-top/%s", base, name);
    else if (home && home[0] == '/')
        n = snprintf(path, PLACE_BYTES, "%s/%s/kprof-top/%s", home, places[p].at_home, name);
    return n >= 0 && n < PLACE_BYTES;
}

void place_make(const char *path)
{
    char above[PLACE_BYTES];

    snprintf(above, sizeof above, "%s", path);
    for (char *at = above + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(above, 0700);
        *at = '/';
    }
}
