#include "slow_log.h"

#include <errno.h>
#include <fcntl.h>
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <kprof/base/json.h>
#include <kprof/export/export.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_BYTES ((size_t)64 << 10)

struct slow_log {
    int fd;
    char path[512];
    struct buf lines; /* whole lines, not written yet */
    bool failed, told;
    struct err why;
};

/* Every line begins with this: those of export_slow_line, and those of missed_line. */
static const char FIRST[] = "{\"at\":\"";

/* A slow log begins with such a line; an incomplete last line is ended. */
static int fits(int fd, const char *path, bool *cut, struct err *e)
{
    char first[sizeof FIRST - 1], last;
    struct stat st;

    *cut = false;
    if (fstat(fd, &st) < 0)
        return err_set(e, "cannot write the slow log %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, "cannot write the slow log %s: it is not a regular file", path);
    if (st.st_size == 0)
        return 0;
    if (pread(fd, first, sizeof first, 0) != (ssize_t)sizeof first ||
        memcmp(first, FIRST, sizeof first) != 0 || pread(fd, &last, 1, st.st_size - 1) != 1)
        return err_set(e, "%s exists and is not a slow log; give another name", path);
    *cut = last != '\n';
    return 0;
}

struct slow_log *slow_log_open(const char *path, struct err *e)
{
    int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = open(path, flags, 0600);
    bool cut;

    if (fd < 0) {
        err_set(e, "cannot write the slow log %s: %s", path,
                errno == ELOOP ? "it is a symbolic link; give the name of the file"
                               : strerror(errno));
        return NULL;
    }
    if (fits(fd, path, &cut, e) < 0) {
        close(fd);
        return NULL;
    }
    fchmod(fd, 0600); /* also for an existing file */
    struct slow_log *l = calloc(1, sizeof *l);
    if (!l)
        abort();
    l->fd = fd;
    err_copy(l->path, sizeof l->path, path);
    buf_init(&l->lines, 0);
    if (cut)
        buf_addch(&l->lines, '\n');
    return l;
}

static void missed_line(struct buf *out, uint64_t wall_ns, const char *node, uint64_t missed)
{
    struct json j;
    char at[40];

    clock_format_wall(wall_ns, at, sizeof at);
    json_init(&j, out);
    json_obj(&j);
    json_key(&j, "at");
    json_str(&j, at);
    json_key(&j, "node");
    json_str(&j, node);
    json_key(&j, "missed");
    json_u64(&j, missed);
    json_obj_end(&j);
    buf_addch(out, '\n');
}

void slow_log_add(struct slow_log *l, const struct snapshot *s, const struct snap_slow *w,
                  const char *node, uint64_t missed)
{
    if (l->failed)
        return;
    if (missed)
        missed_line(&l->lines, w->wall_ns, node, missed);
    export_slow_line(&l->lines, s, w, node);
    if (l->lines.len >= FLUSH_BYTES)
        slow_log_flush(l);
}

/* Removes the part of a line that was written. If another program has written after it, the part
 * stays. */
static void cut_part(struct slow_log *l, off_t before, size_t done)
{
    size_t whole = done;

    while (whole > 0 && l->lines.data[whole - 1] != '\n')
        whole--;
    if (whole < done && before >= 0 && lseek(l->fd, 0, SEEK_END) == before + (off_t)done)
        (void)!ftruncate(l->fd, before + (off_t)whole); /* if it stays, the next run ends it */
}

void slow_log_flush(struct slow_log *l)
{
    if (l->failed)
        return;
    off_t before = lseek(l->fd, 0, SEEK_END);
    size_t done = 0;
    while (!l->failed && done < l->lines.len) {
        ssize_t n = write(l->fd, l->lines.data + done, l->lines.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            l->failed = true;
            err_set(&l->why,
                    "slow requests are no longer written to %.300s: %s; free some space and "
                    "restart kprof-top",
                    l->path, n < 0 ? strerror(errno) : "nothing could be written");
            break;
        }
        done += (size_t)n;
    }
    if (l->failed)
        cut_part(l, before, done);
    buf_clear(&l->lines);
}

const char *slow_log_trouble(struct slow_log *l)
{
    if (!l || !l->failed || l->told)
        return NULL;
    l->told = true;
    return l->why.text;
}

void slow_log_close(struct slow_log *l)
{
    if (!l)
        return;
    slow_log_flush(l);
    close(l->fd);
    buf_release(&l->lines);
    free(l);
}
