#include <kprof/app/run.h>

#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/export/export.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_NS 20000000000u
#define SETTLE_MS  5000
#define FIRST_NS   2000000000u

struct batch {
    const struct options *o;
    struct engine *g;
    FILE *out;
    bool first;
    char warned[400];
};

static FILE *open_output(const struct options *o, struct err *e)
{
    if (!o->output)
        return stdout;
    int fd = open(o->output, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        err_set(e, "cannot write %s: %s", o->output, strerror(errno));
    return f;
}

static enum window window_for(uint64_t delay_ns)
{
    enum window w = WINDOW_1S;

    while (w < WINDOW_3H && window_ns(w) < delay_ns)
        w++;
    return w;
}

static int write_snapshot(struct batch *b, enum window w, bool final)
{
    struct buf text;
    struct snapshot *s = engine_snapshot(b->g, w, final);

    buf_init(&text, 0);
    export_write(&text, s, b->o->format, b->first);
    b->first = false;
    size_t put = fwrite(text.data, 1, text.len, b->out);
    int rc = put == text.len && fflush(b->out) == 0 ? 0 : -1;
    buf_release(&text);
    snapshot_free(s);
    return rc;
}

static void warn_missing(struct batch *b)
{
    const char *note;

    if (engine_tier_missing(b->g, &note) && strcmp(note, b->warned) != 0) {
        fprintf(stderr, "kprof-top: %s\n", note);
        snprintf(b->warned, sizeof b->warned, "%s", note);
    }
}

/* Polls until the time, or until something ends the run. */
static bool pump_until(struct batch *b, uint64_t until_ns)
{
    struct pollfd p = {.fd = engine_wake_fd(b->g), .events = POLLIN};
    uint64_t now;

    while (!run_stopping() && (now = clock_mono_ns()) < until_ns) {
        bool more = engine_poll(b->g);
        warn_missing(b);
        enum engine_state st = engine_state(b->g);
        if (st == ENGINE_FAILED || st == ENGINE_LOST || st == ENGINE_REPLAYED ||
            engine_rule_error(b->g)[0])
            return false;
        uint64_t left_ms = (until_ns - now) / 1000000u + 1;
        if (!more)
            poll(&p, 1, left_ms < 50 ? (int)left_ms : 50);
    }
    return !run_stopping();
}

static int wait_configured(struct batch *b, struct err *e)
{
    uint64_t until = clock_mono_ns() + CONNECT_NS;
    const struct options *o = b->o;

    while (!engine_configured(b->g)) {
        if (!pump_until(b, clock_mono_ns() + 20000000u))
            break;
        if (clock_mono_ns() > until)
            return err_set(
                e,
                "%s was reached, but its agent is not set up after 20 s: the node may be too busy",
                o->mode == OPTIONS_NODE ? o->node[0] : "the node");
    }
    if (engine_rule_error(b->g)[0]) {
        err_set(e, "cannot use the identity rule: %.400s", engine_rule_error(b->g));
        return -2;
    }
    if (engine_state(b->g) == ENGINE_FAILED || engine_state(b->g) == ENGINE_LOST)
        return err_set(e, "%s", engine_trouble(b->g));
    return run_stopping() ? err_set(e, "stopped before it began") : 0;
}

/* The first second is closed a little after it has passed: a first table of zeros would be none. */
static void first_second(struct batch *b)
{
    uint64_t until = clock_mono_ns() + FIRST_NS;
    bool closed = false;

    while (!closed && clock_mono_ns() < until) {
        struct snapshot *s = engine_snapshot(b->g, WINDOW_1S, false);
        closed = s->window_s > 0;
        snapshot_free(s);
        if (!closed && !pump_until(b, clock_mono_ns() + 20000000u))
            return;
    }
}

static int intervals(struct batch *b, struct err *e)
{
    const struct options *o = b->o;
    uint64_t begun = clock_mono_ns(), next = begun + o->delay_ns;
    uint64_t end = o->duration_ns ? begun + o->duration_ns : UINT64_MAX;

    for (uint64_t i = 0; !o->iterations || i < o->iterations; i++, next += o->delay_ns) {
        bool last = next >= end;
        if (!pump_until(b, last ? end : next) || last)
            break;
        if (i == 0) {
            first_second(b);
            next = clock_mono_ns() > next ? clock_mono_ns()
                                          : next; /* the others keep their distance */
        }
        if (write_snapshot(b, window_for(o->delay_ns), false) < 0)
            return err_set(e, "cannot write the output: %s", strerror(errno));
    }
    return 0;
}

int run_batch(const struct options *o, const struct target *t)
{
    struct engine_hooks hooks = {0};
    struct session_receipt receipt;
    struct err e = {{0}};
    struct batch b = {.o = o, .first = true};
    int status = 1, rc;

    b.out = open_output(o, &e);
    if (!b.out)
        goto out;
    b.g = engine_new(o, &hooks, &e);
    if (!b.g || run_begin(b.g, o, t, &e) < 0)
        goto out;
    if (t->node && (rc = wait_configured(&b, &e)) < 0) {
        status = rc == -2 ? 2 : 1;
        goto out;
    }
    if (t->node)
        rc = intervals(&b, &e);
    else
        rc = pump_until(&b, UINT64_MAX) ? 0 : 0;
    if (rc == 0 && engine_state(b.g) == ENGINE_LOST)
        rc = err_set(&e, "%s", engine_trouble(b.g));
    engine_settle(b.g, SETTLE_MS);
    if (write_snapshot(&b, WINDOW_RUN, true) < 0 && rc == 0)
        rc = err_set(&e, "cannot write the output: %s", strerror(errno));
    status = rc < 0 ? 1 : 0;
out:
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    if (b.g) {
        bool attached =
            engine_state(b.g) != ENGINE_FAILED && engine_state(b.g) != ENGINE_CONNECTING;
        engine_detach(b.g, &receipt);
        if (attached && t->node)
            run_receipt(t, &receipt);
        engine_free(b.g);
    }
    if (b.out && b.out != stdout)
        fclose(b.out);
    return status;
}
