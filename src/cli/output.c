#include <kprof/base/clock.h>
#include <kprof/base/stop.h>
#include <kprof/cli/optval.h>
#include <kprof/cli/output.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS      100
#define STOP_WAIT_NS UINT64_C(1000000000)

static int cannot(const char *path, struct err *e)
{
    int why = errno;
    err_set(e, "cannot write %s: %s", optval_show(path).s,
            why == ELOOP ? "it is a symbolic link; give the name of the file" : strerror(why));
    errno = why;
    return -1;
}

bool output_is_file(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 || S_ISREG(st.st_mode);
}

int output_check(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    char dir[4096] = ".";
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        errno = ELOOP;
        return cannot(path, e);
    }
    if (access(path, F_OK) == 0)
        return access(path, W_OK) < 0 ? cannot(path, e) : 0;
    if (n >= sizeof dir) {
        errno = ENAMETOOLONG;
        return cannot(path, e);
    }
    if (slash)
        snprintf(dir, sizeof dir, "%.*s", n ? (int)n : 1, path);
    return !strstr(dir, "%t") && access(dir, W_OK | X_OK) < 0 ? cannot(path, e) : 0;
}

int output_check_text(const struct buf *text, const char *path, struct err *e)
{
    if (!text->truncated)
        return 0;
    err_set(e,
            "cannot write %s: its text is longer than %zu MB; trace fewer functions, or use an "
            "identity rule that gives fewer names",
            optval_show(path).s, text->max >> 20);
    errno = EFBIG;
    return -1;
}

int output_open(const char *path, enum output_mode m, struct err *e)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (m == OUTPUT_NEW ? O_EXCL : O_TRUNC);
    int fd = open(path, flags, 0600);
    struct stat st;
    if (fd < 0)
        return cannot(path, e);
    /* Removes the permissions of others from an existing file; a device keeps its own. */
    if (m == OUTPUT_OVER && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077))
        fchmod(fd, 0600);
    return fd;
}

/* Waits until a write of at most PIPE_BUF bytes does not block. A pipe that nobody reads must not
 * keep the program from ending, even if the signal came between two writes. */
static int wait_writable(int fd)
{
    uint64_t stop_ns = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        int n = poll(&p, 1, WAIT_MS);
        if (n > 0 || (n < 0 && errno != EINTR))
            return n > 0 ? 0 : -1;
        if (stop_asked() && stop_ns == 0)
            stop_ns = clock_mono_ns() + STOP_WAIT_NS;
        if (stop_asked() && clock_mono_ns() >= stop_ns) {
            errno = EINTR;
            return -1;
        }
    }
}

int output_write(int fd, const char *path, const void *bytes, size_t n, struct err *e)
{
    for (const char *at = bytes; n > 0;) {
        if (wait_writable(fd) < 0)
            return cannot(path, e);
        ssize_t put = write(fd, at, n < PIPE_BUF ? n : PIPE_BUF);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return cannot(path, e);
        at += put;
        n -= (size_t)put;
    }
    return 0;
}

int output_close(int fd, const char *path, int rc, struct err *e)
{
    int why = errno;

    if (close(fd) < 0 && rc == 0)
        return cannot(path, e);
    errno = why;
    return rc;
}

int output_replace(const char *path, const void *bytes, size_t n, struct err *e)
{
    char beside[4096];
    int len = snprintf(beside, sizeof beside, "%s.tmp", path);
    struct stat st;
    int fd, rc;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        errno = ELOOP;
        return cannot(path, e);
    }
    if (!output_is_file(path)) { /* rename would remove a device or a pipe */
        errno = EINVAL;
        return err_set(e, "cannot write %s: it is not a regular file; give another name",
                       optval_show(path).s);
    }
    if (len < 0 || (size_t)len >= sizeof beside) {
        errno = ENAMETOOLONG;
        return cannot(path, e);
    }
    fd = output_open(beside, OUTPUT_OVER, e);
    if (fd < 0)
        return -1;
    rc = output_close(fd, beside, output_write(fd, beside, bytes, n, e), e);
    if (rc == 0 && rename(beside, path) < 0)
        rc = cannot(path, e);
    if (rc < 0)
        unlink(beside);
    return rc;
}
