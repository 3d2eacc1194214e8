/* kprof-top: parses options, then runs. */
#include "demo.h"
#include "flame_file.h"
#include "full_run.h"
#include "hazards.h"
#include "run.h"
#include "suggest_print.h"
#include <kprof/base/stop.h>
#include <kprof/cli/options.h>

#include <kprof/erl/conn.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static int run(struct options *o, const struct target *t)
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
    struct demo *d = demo_start(o->demo_rate, e);
    if (!d)
        return 1;
    struct target t = {.node = demo_node(d), .cookie = demo_cookie(d)};
    int status = run(o, &t);
    demo_stop(d);
    return status;
}

static int run_node(struct options *o, struct err *e)
{
    char cookie[256];
    struct target t = {.node = o->node[0], .cookie = cookie};

    if (conn_find_cookie(o->setcookie, o->cookie_file, cookie, sizeof cookie, e) < 0)
        return 1;
    int status = run(o, &t);
    memset(cookie, 0, sizeof cookie);
    return status;
}

int main(int argc, char **argv)
{
    static struct options o;
    struct err e = {{0}};
    int status = 0;

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
            status = run_node(&o, &e);
        } else if (o.mode == OPTIONS_FLAME) {
            status = flame_file_run(&o);
        } else {
            struct target none = {0};
            status = run(&o, &none);
        }
        break;
    }
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    options_release(&o);
    return status;
}
