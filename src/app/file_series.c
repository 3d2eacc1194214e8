#include "file_series.h"

#include <errno.h>
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAMES_MOST 100 /* files of the same second */

void file_series_init(struct file_series *f, const char *pattern, uint64_t most)
{
    *f = (struct file_series){.pattern = pattern, .most = most};
    if (most && !(f->kept = calloc(most, sizeof *f->kept)))
        abort();
}

void file_series_release(struct file_series *f)
{
    for (uint64_t i = 0; i < f->most; i++)
        free(f->kept[i]);
    free(f->kept);
}

int file_series_name(const struct file_series *f, uint64_t wall_ns, unsigned attempt,
                     char path[FILE_SERIES_PATH_BYTES], struct err *e)
{
    const char *at = strstr(f->pattern, "%t");
    time_t s = (time_t)(wall_ns / 1000000000u);
    struct tm tm;
    char when[32], again[16] = "";

    if (!at) {
        err_copy(path, FILE_SERIES_PATH_BYTES, f->pattern);
        return strlen(f->pattern) < FILE_SERIES_PATH_BYTES
                   ? 0
                   : err_set(e, "the name of the output file is too long");
    }
    localtime_r(&s, &tm);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &tm);
    if (attempt)
        snprintf(again, sizeof again, "-%u", attempt);
    int n = snprintf(path, FILE_SERIES_PATH_BYTES, "%.*s%s%s%s", (int)(at - f->pattern), f->pattern,
                     when, again, at + 2);
    return n > 0 && n < FILE_SERIES_PATH_BYTES
               ? 0
               : err_set(e, "the name of the output file is too long");
}

int file_series_make(const struct file_series *f, file_series_create *create, void *arg,
                     char path[FILE_SERIES_PATH_BYTES], struct err *e)
{
    int rc = -1;

    for (unsigned attempt = 0; attempt < NAMES_MOST; attempt++) {
        if (file_series_name(f, clock_wall_ns(), attempt, path, e) < 0)
            return -1;
        rc = create(arg, path, e);
        if (rc == 0 || errno != EEXIST)
            break;
    }
    return rc;
}

void file_series_written(struct file_series *f, const char *path)
{
    uint64_t i = f->written++;

    if (!f->most)
        return;
    i %= f->most;
    if (f->kept[i]) {
        unlink(f->kept[i]);
        free(f->kept[i]);
    }
    f->kept[i] = buf_dup(path);
}
