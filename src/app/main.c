/* kprof-top: parses options, then runs. */
#include "choose_node.h"
#include "demo.h"
#include "flame_file.h"
#include "full_run.h"
#include "hazards.h"
#include "run.h"
#include "static_program.h"
#include "suggest_print.h"
#include <kprof/base/stop.h>
#include <kprof/cli/options.h>

#include <errno.h>
#include <fcntl.h>
#include <kprof/erl/conn.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int run(struct options *o, const struct conn_target *t)
{
    if (o->hazards)
        return run_hazards(o, t);
    if (o->suggest)
        return run_suggest(o, t);
    if (o->full_trace)
        return full_run(o, t);
    return o->batch ? run_batch(o, t) : run_live(o, t);
}

static int run_demo(struct options *o, struct err *e)
{
    demo_defaults(o);
    if (!o->batch)
        fprintf(stderr, "kprof-top: starting the sample node ...\n");
    struct demo *d = demo_start(o->demo_rate, o->demo_trouble, e);
    if (!d)
        return 1;
    struct conn_target t = {.node = demo_node(d), .cookie = demo_cookie(d)};
    int status = run(o, &t);
    demo_stop(d);
    return status;
}

/* Reads the files of TLS before the screen is opened, and prints which options in them are not
 * used. */
static int check_tls(const struct conn_target *t, struct err *e)
{
    struct buf notes;
    int rc;

    buf_init(&notes, 2000);
    rc = tls_check(&t->tls, &notes, e);
    if (rc == 0 && notes.len > 0)
        fprintf(stderr, "kprof-top: %s\n", notes.data);
    if (rc == 0 && t->tls.insecure)
        fprintf(stderr, "kprof-top: %s is not verified (--tls-insecure)\n", t->node);
    buf_release(&notes);
    return rc;
}

static int run_node(struct options *o, struct err *e)
{
    struct conn_cookie cookie;
    struct conn_target t = {.node = o->node[0],
                            .connect = o->connect,
                            .cookie = cookie.text,
                            .cookie_from = cookie.from,
                            .tls = {.on = o->tls,
                                    .insecure = o->tls_insecure,
                                    .optfile = o->tls_optfile,
                                    .ca = o->tls_ca,
                                    .cert = o->tls_cert,
                                    .key = o->tls_key}};

    if (check_tls(&t, e) < 0)
        return 1;
    if (conn_find_cookie(o->setcookie, o->cookie_file, &cookie, e) < 0)
        return 1;
    if (o->node_from)
        fprintf(stderr, "kprof-top: node %s, from %s\n", t.node, o->node_from);
    int status = run(o, &t);
    explicit_bzero(&cookie, sizeof cookie);
    return status;
}

/* A file or a socket must not get the number of a closed one: it would get the text for it. */
static int open_closed_std_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    static struct options o;
    struct err e = {{0}};
    int status = 0;

    if (open_closed_std_fds() < 0) {
        fprintf(stderr,
                "kprof-top: cannot open /dev/null instead of a closed standard stream: %s\n",
                strerror(errno));
        return 1;
    }
    static_program_begin();
    setlocale(LC_CTYPE, "");
    switch (options_parse(argc, argv, &o, &e)) {
    case OPTIONS_EXIT_OK:
        break;
    case OPTIONS_USAGE:
        status = 2;
        break;
    case OPTIONS_RUN:
        stop_on_signals();
        if (o.mode == OPTIONS_DEMO) {
            status = run_demo(&o, &e);
        } else if (o.mode == OPTIONS_NODE) {
            if (!choose_node_wanted(&o) || choose_node(&o, &status, &e))
                status = run_node(&o, &e);
        } else if (o.mode == OPTIONS_FLAME) {
            status = flame_file_run(&o);
        } else {
            struct conn_target none = {0};
            status = run(&o, &none);
        }
        break;
    }
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    options_release(&o);
    return status;
}
