#include "stack_file.h"

#include "progress.h"
#include "whole_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <kprof/base/must.h>
#include <kprof/base/stop.h>
#include <kprof/core/folded.h>
#include <kprof/core/perf_script.h>
#include <kprof/trace/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOAD_BYTES ((size_t)512 << 20) /* memory of samples; the file may be larger than this */

struct stack_file {
    struct stack_profile *profile; /* of a file of text, */
    struct engine *engine;         /* or of a recording */
};

/* ---- text ---- */

/* Folded stacks or perf script output; the first lines show which. */
struct reader {
    struct stack_profile *to;
    struct folded *folded;
    struct perf_script *perf;
    unsigned long long taken, bad;
};

static void reader_feed(struct reader *r, const char *bytes, size_t n)
{
    if (!r->folded && !r->perf && perf_script_is(bytes, n))
        r->perf = perf_script_new(r->to);
    else if (!r->folded && !r->perf)
        r->folded = folded_new(r->to);
    if (r->perf)
        perf_script_feed(r->perf, bytes, n);
    else
        folded_feed(r->folded, bytes, n);
}

static void reader_end(struct reader *r)
{
    if (r->perf) {
        struct perf_script_counts n = perf_script_end(r->perf);
        r->taken = n.samples;
        r->bad = n.bad;
    } else if (r->folded) {
        struct folded_counts n = folded_end(r->folded);
        r->taken = n.lines;
        r->bad = n.bad;
    }
}

static int feed(struct reader *r, int fd, const char *path, struct err *e)
{
    struct progress shown = {0};
    struct stat st;
    double all = fstat(fd, &st) == 0 && st.st_size > 0 ? (double)st.st_size : 0, done = 0;
    int rc = 0;
    while (!stop_asked()) {
        char bytes[64 << 10];
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = err_set(e, "cannot read %s: %s", path, strerror(errno));
        if (n <= 0)
            break;
        reader_feed(r, bytes, (size_t)n);
        done += (double)n;
        if (all > 0)
            progress_show(&shown, path, done / all);
    }
    progress_end(&shown);
    return stop_asked() ? err_set(e, "stopped while reading %s", path) : rc;
}

static int load_text(struct stack_file *f, int fd, const char *path, struct err *e)
{
    const struct stack_profile_limits limits = {.max_bytes = LOAD_BYTES};
    f->profile = stack_profile_new(&limits);
    struct reader r = {.to = f->profile};
    int rc = feed(&r, fd, path, e);
    reader_end(&r);
    if (rc == 0 && r.taken == 0)
        rc = err_set(e, "%s has no folded stacks: lines such as m:f/1;m:g/2 12", path);
    if (rc == 0 && r.bad > 0 && r.perf)
        fprintf(stderr, "kprof-top: %s: %llu lines ignored: not perf script output\n", path, r.bad);
    else if (rc == 0 && r.bad > 0)
        fprintf(stderr, "kprof-top: %s: %llu of %llu lines ignored: not a folded stack\n", path,
                r.bad, r.bad + r.taken);
    return rc;
}

/* ---- recordings ---- */

static bool is_recording(int fd)
{
    char first[RECORD_HEAD_BYTES];
    ssize_t n = pread(fd, first, sizeof first, 0);

    return n > 0 && record_is(first, (size_t)n);
}

static int load_recording(struct stack_file *f, const char *path, struct err *e)
{
    if (!(f->engine = whole_replay(path, true, e)))
        return -1;
    struct stack_view *v = engine_stacks_view(f->engine);
    if (!v)
        return err_set(e,
                       "%s has no stack samples: they are recorded while the flame graph is open "
                       "(key F) or a trigger samples",
                       path);
    stack_view_release(v);
    return 0;
}

/* ---- either ---- */

struct stack_file *stack_file_open(const char *path, struct err *e)
{
    bool input = strcmp(path, "-") == 0;
    struct stack_file *f = NULL;
    int fd = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set(e, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    f = must(calloc(1, sizeof *f));
    int rc = !input && is_recording(fd) ? load_recording(f, path, e) : load_text(f, fd, path, e);
    close(fd);
    if (rc == 0)
        return f;
    stack_file_close(f);
    return NULL;
}

struct stack_view *stack_file_view(const struct stack_file *f)
{
    return f->engine ? engine_stacks_view(f->engine) : stack_profile_view(f->profile);
}

void stack_file_close(struct stack_file *f)
{
    if (!f)
        return;
    if (f->profile)
        stack_profile_free(f->profile);
    if (f->engine)
        engine_free(f->engine);
    free(f);
}
