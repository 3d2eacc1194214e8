#include <kprof/app/demo.h>

#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/trace/agent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 20000
#define STOP_MS  3000

struct demo {
    pid_t pid;
    char dir[64], node[128], cookie[40];
};

static const struct {
    const char *name, *mfa;
} tiers[] = {
    {"handle", "kprof_sample:handle/1"},
    {"parsing", "kprof_sample:parsing/1"},
    {"db", "kprof_sample:db/2"},
    {"accounting", "kprof_sample:accounting/2"},
    {"formatter", "kprof_sample:formatter/1"},
};

void demo_defaults(struct options *o)
{
    if (o->n_tiers)
        return;
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        snprintf(o->tier[i].name, sizeof o->tier[i].name, "%s", tiers[i].name);
        snprintf(o->tier[i].mfa, sizeof o->tier[i].mfa, "%s", tiers[i].mfa);
    }
    o->n_tiers = sizeof tiers / sizeof *tiers;
    if (!o->identity)
        o->identity = strdup("kprof_sample:db/2 arg(1)");
}

static int write_module(struct demo *d, struct err *e)
{
    char path[128];
    size_t len;
    const uint8_t *beam = agent_sample(&len);
    int rc = -1;

    if (!beam)
        return err_set(e,
                       "this build has no sample node in it: build again where erlc is installed");
    snprintf(d->dir, sizeof d->dir, "/tmp/kprof-demo-XXXXXX");
    if (!mkdtemp(d->dir)) {
        d->dir[0] = 0;
        return err_set(e, "cannot make a directory in /tmp: %s", strerror(errno));
    }
    snprintf(path, sizeof path, "%s/kprof_sample.beam", d->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, beam, len) == (ssize_t)len)
        rc = 0;
    else
        err_set(e, "cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

static void run_erl(const struct demo *d, uint32_t rate, int out, pid_t parent)
{
    char rate_text[16], parent_text[16], flags[80];

    snprintf(rate_text, sizeof rate_text, "%u", rate);
    snprintf(parent_text, sizeof parent_text, "%ld", (long)parent);
    snprintf(flags, sizeof flags, "-setcookie %s", d->cookie);
    setenv("ERL_AFLAGS", flags, 1); /* not on the command line, where ps shows it */
    setsid();                       /* the terminal's ^C is for us, not for it */
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(out, 1);
    dup2(null, 2);
    execlp("erl", "erl", "-noinput", "-name", d->node, "-pa", d->dir, "-kernel",
           "inet_dist_use_interface", "{127,0,0,1}", "-kprof_parent", parent_text, "-s",
           "kprof_sample", "start", rate_text, (char *)NULL);
    _exit(127);
}

/* The node says "ready" when it may be attached to. */
static int wait_ready(struct demo *d, int fd, struct err *e)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t until = clock_mono_ns() + (uint64_t)READY_MS * 1000000u;
    char line[512];
    size_t n = 0;

    while (clock_mono_ns() < until) {
        if (poll(&p, 1, 100) <= 0)
            continue;
        ssize_t got = read(fd, line + n, sizeof line - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        line[n] = 0;
        if (strstr(line, "ready"))
            return 0;
        if (n == sizeof line - 1)
            n = 0;
    }
    if (waitpid(d->pid, NULL, WNOHANG) == d->pid) {
        d->pid = 0;
        return err_set(e, "the sample node did not start: is erl installed and on the PATH (make "
                          "deps installs it)?");
    }
    return err_set(e, "the sample node did not say that it is ready within %d s", READY_MS / 1000);
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

struct demo *demo_start(uint32_t rate, struct err *e)
{
    struct demo *d = calloc(1, sizeof *d);
    int out[2] = {-1, -1};
    pid_t parent = getpid();

    if (!d)
        abort();
    make_names(d);
    if (write_module(d, e) < 0)
        goto fail;
    if (pipe2(out, O_CLOEXEC) < 0) {
        err_set(e, "cannot make a pipe: %s", strerror(errno));
        goto fail;
    }
    d->pid = fork();
    if (d->pid == 0)
        run_erl(d, rate, out[1], parent);
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

static bool gone_within(pid_t pid, int ms)
{
    for (int i = 0; i < ms / 20; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return true;
        usleep(20000);
    }
    return false;
}

void demo_stop(struct demo *d)
{
    char path[128];

    if (!d)
        return;
    if (d->pid > 0) {
        kill(d->pid, SIGTERM);
        if (!gone_within(d->pid, STOP_MS)) {
            kill(d->pid, SIGKILL);
            waitpid(d->pid, NULL, 0);
        }
    }
    if (d->dir[0]) {
        snprintf(path, sizeof path, "%s/kprof_sample.beam", d->dir);
        unlink(path);
        rmdir(d->dir);
    }
    memset(d->cookie, 0, sizeof d->cookie);
    free(d);
}
