#include "demo.h"
#include <kprof/cli/output.h>
#include <kprof/cli/preset.h>

#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/base/stop.h>
#include <kprof/trace/agent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEAM_FILE   "kprof_sample.beam"
#define COOKIE_FILE ".erlang.cookie" /* in its home directory; only its owner may read it */

#define READY_MS 20000
#define STOP_MS  3000
#define EXIT_MS  2000      /* from the end of its output to the end of its process */
#define SLOW_NS  20000000u /* unless the operator sets another */

struct demo {
    pid_t pid;
    char dir[64], node[128], cookie[40];
};

void demo_defaults(struct options *o)
{
    struct preset_set sample;
    struct err e;

    if (!o->slow_ns && !o->full_trace)
        o->slow_ns = SLOW_NS;
    if (o->n_tiers)
        return;
    if (preset_make("sample", NULL, &sample, &e) < 0)
        abort(); /* it is always in the table */
    preset_fill(&sample, o);
}

/* Creates a file in the directory of the sample node, readable only by its owner. */
static int write_file(const struct demo *d, const char *name, const void *bytes, size_t len,
                      struct err *e)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", d->dir, name);
    int fd = output_open(path, OUTPUT_NEW, e);
    int rc = fd < 0 ? -1 : output_write(fd, path, bytes, len, e);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int write_files(struct demo *d, struct err *e)
{
    size_t len;
    const uint8_t *beam = agent_sample(&len);

    if (!beam)
        return err_set(e,
                       "this build has no sample node: install erlc (make deps) and build again");
    snprintf(d->dir, sizeof d->dir, "/tmp/kprof-demo-XXXXXX");
    if (!mkdtemp(d->dir)) {
        d->dir[0] = 0;
        return err_set(e, "cannot make a directory in /tmp: %s", strerror(errno));
    }
    if (write_file(d, BEAM_FILE, beam, len, e) < 0)
        return -1;
    return write_file(d, COOKIE_FILE, d->cookie, strlen(d->cookie), e);
}

static void remove_files(const struct demo *d)
{
    static const char *const name[] = {BEAM_FILE, COOKIE_FILE};
    char path[128];

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        snprintf(path, sizeof path, "%s/%s", d->dir, name[i]);
        unlink(path);
    }
    rmdir(d->dir);
}

static void run_erl(const struct demo *d, uint32_t rate, const char *trouble, int out, pid_t parent)
{
    char rate_text[16], parent_text[16];

    snprintf(rate_text, sizeof rate_text, "%u", rate);
    snprintf(parent_text, sizeof parent_text, "%ld", (long)parent);
    setenv("HOME", d->dir, 1); /* the cookie is in a file, because ps shows flags and ERL_AFLAGS */
    setsid();                  /* Ctrl-C in the terminal must not end the sample node */
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(out, 1);
    dup2(null, 2);
    execlp("erl", "erl", "-noinput", "-name", d->node, "-pa", d->dir, "-kernel",
           "inet_dist_use_interface", "{127,0,0,1}", "-kprof_parent", parent_text, "-s",
           "kprof_sample", "start", rate_text, "default", trouble ? trouble : "none", (char *)NULL);
    _exit(127);
}

static bool gone_within(pid_t pid, int ms)
{
    for (int i = 0; i < ms / 20; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return true;
        usleep(20000);
    }
    return false;
}

enum wait_end { WAIT_READY, WAIT_CLOSED, WAIT_LATE };

/* The node prints "ready" when it accepts connections. WAIT_CLOSED: its output has ended. */
static enum wait_end read_ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t until = clock_mono_ns() + (uint64_t)READY_MS * 1000000u;
    char line[512];
    size_t n = 0;

    while (!stop_asked() && clock_mono_ns() < until) {
        if (poll(&p, 1, 100) <= 0)
            continue;
        ssize_t got = read(fd, line + n, sizeof line - 1 - n);
        if (got <= 0)
            return WAIT_CLOSED;
        n += (size_t)got;
        line[n] = 0;
        if (strstr(line, "ready"))
            return WAIT_READY;
        if (n == sizeof line - 1)
            n = 0;
    }
    return WAIT_LATE;
}

static int wait_ready(struct demo *d, int fd, struct err *e)
{
    enum wait_end end = read_ready(fd);

    if (end == WAIT_READY)
        return 0;
    if (stop_asked())
        return err_set(e, "stopped before the sample node was ready");
    if (end == WAIT_LATE)
        return err_set(e, "the sample node was not ready within %d s", READY_MS / 1000);
    if (gone_within(d->pid, EXIT_MS)) /* its output ends a little before its process */
        d->pid = 0;
    return err_set(e, "the sample node did not start: is erl installed and on the PATH (make deps "
                      "installs it)?");
}

static void make_names(struct demo *d)
{
    unsigned char r[16];

    if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
        abort();
    for (size_t i = 0; i < sizeof r; i++)
        snprintf(d->cookie + 2 * i, 3, "%02x", r[i]);
    snprintf(d->node, sizeof d->node, "kprof_demo_%ld@127.0.0.1", (long)getpid());
}

/* What is meant for the operator's nodes: flags such as -sname or -setcookie would be added to
 * those of the sample node, and kprof-top would connect to their port instead of asking epmd. */
static void forget_flags(void)
{
    static const char *const name[] = {"ERL_AFLAGS", "ERL_FLAGS", "ERL_ZFLAGS",
                                       "ELIXIR_ERL_OPTIONS", "ERL_DIST_PORT"};

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        unsetenv(name[i]);
}

struct demo *demo_start(uint32_t rate, const char *trouble, struct err *e)
{
    struct demo *d = calloc(1, sizeof *d);
    int out[2] = {-1, -1};
    pid_t parent = getpid();

    if (!d)
        abort();
    forget_flags();
    make_names(d);
    if (write_files(d, e) < 0)
        goto fail;
    if (pipe2(out, O_CLOEXEC) < 0) {
        err_set(e, "cannot make a pipe: %s", strerror(errno));
        goto fail;
    }
    d->pid = fork();
    if (d->pid == 0)
        run_erl(d, rate, trouble, out[1], parent);
    close(out[1]);
    int rc = d->pid < 0 ? err_set(e, "cannot start the sample node: %s", strerror(errno))
                        : wait_ready(d, out[0], e);
    close(out[0]);
    if (rc == 0)
        return d;
fail:
    demo_stop(d);
    return NULL;
}

const char *demo_node(const struct demo *d)
{
    return d->node;
}

const char *demo_cookie(const struct demo *d)
{
    return d->cookie;
}

void demo_stop(struct demo *d)
{
    if (!d)
        return;
    if (d->pid > 0) {
        kill(d->pid, SIGTERM);
        if (!gone_within(d->pid, STOP_MS)) {
            kill(d->pid, SIGKILL);
            waitpid(d->pid, NULL, 0);
        }
    }
    if (d->dir[0])
        remove_files(d);
    memset(d->cookie, 0, sizeof d->cookie);
    free(d);
}
