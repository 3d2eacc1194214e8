#include "record_run.h"

#include "file_series.h"
#include <kprof/base/clock.h>
#include <stdio.h>

struct run {
    const struct trigger_run *t;
    struct file_series files;
};

static int keep(void *arg, const char *path, struct err *e)
{
    const struct run *r = arg;
    uint64_t before = r->t->o->before_ns ? r->t->o->before_ns : TRIGGER_BEFORE_NS;

    return engine_record_keep(r->t->g, path, before, e);
}

static int triggered(void *arg, uint64_t time_ns, struct err *e)
{
    struct run *r = arg;
    char path[FILE_SERIES_PATH_BYTES];
    bool runs;

    if (file_series_make(&r->files, keep, r, path, e) < 0)
        return -1;
    runs = r->t->pump(r->t->arg, clock_mono_ns() + time_ns);
    if (engine_record_cut(r->t->g, e) < 0)
        return -1;
    file_series_written(&r->files, path);
    fprintf(stderr, "kprof-top: recorded to %s\n", path);
    return !runs;
}

int record_run(const struct trigger_run *t, struct err *e)
{
    struct run r = {.t = t};
    int rc;

    file_series_init(&r.files, t->o->record, t->o->files);
    rc = trigger_loop(t, triggered, &r, e);
    if (rc == 0 && r.files.written == 0)
        fprintf(stderr, "kprof-top: no trigger fired; nothing was recorded\n");
    file_series_release(&r.files);
    return rc;
}
