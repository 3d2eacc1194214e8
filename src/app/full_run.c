#include "full_run.h"

#include "flame_file.h"
#include "notice.h"
#include "settings_map.h"
#include <assert.h>
#include <errno.h>
#include <kprof/base/clock.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/base/stop.h>
#include <kprof/base/text.h>
#include <kprof/cli/full_what.h>
#include <kprof/cli/output.h>
#include <kprof/core/event.h>
#include <kprof/engine/attach.h>
#include <kprof/export/call_text.h>
#include <kprof/trace/agent_request.h>
#include <kprof/trace/full_decode.h>
#include <kprof/trace/full_request.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PING_NS 2000000000u
#define TURN_US 20000
#define WAIT_MS 30000u
#define RUN_MS  10000u
#define ENDS_NS 20000000000u /* for the end, after it was canceled or its time is over */
#define MODULES (1u << 14)

struct run {
    const struct options *o;
    struct full_what what;
    struct ring *ring; /* required by a session; its events are dropped */
    struct intern *names;
    struct stream *stream;
    struct session *session;
    struct stack_profile *profile;
    struct call_tree *tree;
    struct full_decoder *decoder;
    struct full_request request;
    struct mfa follow[FULL_FOLLOW_MAX];
    struct buf modules, shown;
    struct err broken; /* why the trace ended without a report; "": it did not */
    bool said;         /* that it waits */
    uint64_t messages; /* of the agent about the full trace, so far */
    uint64_t pinged_ns;
};

static void drop_events(struct run *r)
{
    const void *ready;
    size_t n;

    while ((n = ring_peek(r->ring, &ready)) > 0)
        ring_consume(r->ring, n);
}

/* Stores why the trace ended without a report: nothing more will come. */
static void broken(struct run *r, const char *why)
{
    struct buf line;

    buf_init(&line, 0);
    text_safe(&line, why, strlen(why), 0, false);
    err_set(&r->broken, "%s", line.data);
    buf_release(&line);
}

static void take(struct run *r)
{
    const struct full_figures *f = full_decoder_figures(r->decoder);
    struct stack_message *m;
    struct stream_note note;
    char line[900];

    while ((m = stream_take_stacks(r->stream))) {
        full_decoder_feed(r->decoder, m->bytes, m->n, &m->clock);
        stack_message_free(m);
    }
    while (stream_take_note(r->stream, &note))
        if (strcmp(note.tag, "full") == 0)
            broken(r, note.text);
        else
            notice(note.text);
    drop_events(r);
    if (f->phase == FULL_WAITING && !r->said && f->reason == FULL_NOT_ENDED) {
        full_figures_say(f, r->shown.data, line, sizeof line);
        notice(line);
        r->said = true;
    }
}

/* ---- what is traced ---- */

static void add_module(struct run *r, const struct mfa *f)
{
    if (r->modules.len)
        buf_addch(&r->modules, ',');
    buf_adds(&r->modules, f->module);
}

/* The functions of the tiers, except the one that begins the request. */
static void follow(struct run *r)
{
    const struct mfa *call = &r->what.call;
    size_t at;

    for (size_t i = 0; i < r->o->n_tiers && r->request.n_follow < FULL_FOLLOW_MAX; i++) {
        struct mfa *f = &r->follow[r->request.n_follow];
        bool ok = term_parse_mfa(r->o->tier[i].mfa, f, &at);
        assert(ok); /* checked with the options */
        (void)ok;
        if (strcmp(f->module, call->module) == 0 && strcmp(f->function, call->function) == 0 &&
            f->arity == call->arity)
            continue;
        add_module(r, f);
        r->request.n_follow++;
    }
}

static void set_request(struct run *r)
{
    const struct options *o = r->o;
    uint64_t ms = o->duration_ns / 1000000u;
    bool process = r->what.process;

    buf_init(&r->modules, MODULES);
    buf_init(&r->shown, 0);
    text_safe(&r->shown, o->full_trace, strlen(o->full_trace), 200, false);
    r->request = (struct full_request){
        .call = r->what.call,
        .follow = r->follow,
        .rule = r->what.condition ? o->full_trace : NULL,
        .slow_ns = process ? 0 : o->slow_ns,
        .events = o->full_events,
        .wait_ms = ms ? ms : WAIT_MS,
        .run_ms = process && ms ? ms : RUN_MS,
    };
    if (process) {
        r->request.pids = &r->what.pid;
        r->request.n_pids = 1;
        buf_adds(&r->modules, "all");
    } else {
        add_module(r, &r->what.call);
        follow(r);
    }
    r->request.modules = o->full_calls ? o->full_calls : r->modules.data;
}

static int begin(struct run *r, struct err *e)
{
    struct trace_config limits = {.max_cost_ppm = r->o->max_overhead_ppm,
                                  .max_age_ms = r->o->max_age_ns / 1000000u,
                                  .max_rate = r->o->max_rate,
                                  .cooldown_ms = r->o->cooldown_ns / 1000000u};

    if (agent_request_limits(r->session, &limits, e) < 0)
        return -1;
    r->pinged_ns = clock_mono_ns();
    return full_request_begin(r->session, &r->request, e);
}

/* When it should have ended. */
static uint64_t end_ns(const struct run *r, uint64_t now)
{
    return now + (r->request.wait_ms + r->request.run_ms) * 1000000u + ENDS_NS;
}

/* The agent may set very many patterns before it waits, and send very many events at the end: its
 * messages show that it does. */
static uint64_t put_off(struct run *r, uint64_t given_up, uint64_t now)
{
    enum full_phase phase = full_decoder_figures(r->decoder)->phase;
    uint64_t n = full_decoder_counts(r->decoder)->messages;

    if (n == r->messages)
        return given_up;
    r->messages = n;
    if (phase == FULL_SETTING)
        return end_ns(r, now);
    return phase == FULL_SENDING && given_up < now + ENDS_NS ? now + ENDS_NS : given_up;
}

static int not_ended(const struct run *r, struct err *e)
{
    return err_set(e,
                   "the agent did not report the end of the full trace of %.200s; if the "
                   "connection is slow, try again with a smaller --full-events",
                   r->shown.data);
}

/* Until the agent says that it has ended. */
static int trace(struct run *r, struct err *e)
{
    uint64_t now = clock_mono_ns(), given_up = end_ns(r, now);
    bool canceled = false;

    while (take(r), full_decoder_figures(r->decoder)->reason == FULL_NOT_ENDED) {
        now = clock_mono_ns();
        if (session_lost(r->session)) {
            session_why(r->session, e);
            return -1;
        }
        if (r->broken.text[0])
            return err_set(e, "%s", r->broken.text);
        if (!canceled)
            given_up = put_off(r, given_up, now);
        if (now > given_up)
            return not_ended(r, e);
        if (stop_asked() && !canceled) {
            canceled = true;
            given_up = now + ENDS_NS;
            if (full_request_end(r->session, e) < 0)
                return -1;
        }
        if (now - r->pinged_ns > PING_NS) {
            r->pinged_ns = now;
            if (agent_request_ping(r->session, 0, e) < 0)
                return -1;
        }
        usleep(TURN_US);
    }
    return 0;
}

/* ---- the result ---- */

static bool to_stdout(void *arg, const char *bytes, size_t n)
{
    (void)arg;
    return fwrite(bytes, 1, n, stdout) == n;
}

static int write_tree(struct run *r, const struct call_tree_hide *hide, struct err *e)
{
    call_tree_sum(r->tree, hide);
    if (!call_text_write(r->tree, hide, to_stdout, NULL) || fflush(stdout) != 0)
        return err_set(e, "cannot write to standard output: %s", strerror(errno));
    return 0;
}

static int write_file(struct run *r, const struct call_tree_hide *hide, struct err *e)
{
    struct stack_view *v = stack_profile_view(r->profile);
    struct stacks_options how = {.query = {.by = FLAME_SAMPLES}, .title = r->shown.data};

    if (hide->sleep || hide->gc)
        how.query.filter.statuses = 1u << STACK_RUNNING | (hide->sleep ? 0 : 1u << STACK_WAITING) |
                                    (hide->gc ? 0 : 1u << STACK_GARBAGE_COLLECTING);
    int rc = flame_file_write(v, r->o->output, OUTPUT_OVER, &how, e);
    stack_view_release(v);
    return rc;
}

static int write_result(struct run *r, struct err *e)
{
    const struct call_tree_hide hide = {.sleep = r->o->full_hide_sleep, .gc = r->o->full_hide_gc};
    const struct full_decode_counts *c = full_decoder_counts(r->decoder);
    const struct call_tree_counts *n = call_tree_counts(r->tree);
    const struct full_figures *f = full_decoder_figures(r->decoder);
    char line[900];

    full_figures_say(f, r->shown.data, line, sizeof line);
    notice(line);
    if (n->calls == 0)
        return -1; /* the line says why */
    if (!f->waits)
        notice(
            "this VM does not report when a process waits: the time of a function includes waits");
    if (c->bad + c->missing + n->bad + n->cut)
        fprintf(stderr, "kprof-top: not read: %llu messages, %llu events; too deep: %llu calls\n",
                (unsigned long long)(c->bad + c->missing), (unsigned long long)n->bad,
                (unsigned long long)n->cut);
    return r->o->output ? write_file(r, &hide, e) : write_tree(r, &hide, e);
}

static int attached(struct run *r, const struct conn_target *t, struct err *e)
{
    struct session_receipt receipt;
    struct err written = {{0}};
    int rc = begin(r, e) < 0 ? -1 : trace(r, e);

    session_close(r->session, &receipt);
    if (rc == 0 && write_result(r, &written) < 0)
        rc = -1;
    run_receipt(t, &receipt);
    if (written.text[0])
        *e = written;
    return rc;
}

int full_run(const struct options *o, const struct conn_target *t)
{
    struct run r = {.o = o};
    struct session_info info;
    struct session_opts so;
    struct settings settings;
    struct attach_who who;
    struct err e = {{0}};
    int rc = full_what_parse(o->full_trace, &r.what, &e);

    assert(rc == 0); /* checked with the options */
    if (o->output && output_check(o->output, &e) < 0) {
        fprintf(stderr, "kprof-top: %s\n", e.text);
        return 1;
    }
    set_request(&r);
    r.names = intern_new(100, 10000);
    r.ring = ring_new(64, sizeof(struct event));
    r.stream = stream_new(r.ring, r.names);
    r.profile = stack_profile_new(NULL);
    r.tree = call_tree_new(r.profile);
    r.decoder = full_decoder_new(r.tree, r.profile);
    settings_map_from(o, &settings);
    attach_opts(&settings, t, &who, &so);
    so.epoch = 1;
    so.stream = r.stream;
    rc = -1;
    r.session = session_open(&so, &info, &e);
    if (r.session)
        rc = attached(&r, t, &e);
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    if (!r.session && info.unreached)
        run_hint(t, info.port);
    full_decoder_free(r.decoder);
    call_tree_free(r.tree);
    stack_profile_free(r.profile);
    stream_free(r.stream);
    ring_free(r.ring);
    intern_free(r.names);
    buf_release(&r.modules);
    buf_release(&r.shown);
    return rc < 0;
}
