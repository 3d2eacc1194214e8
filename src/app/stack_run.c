#include "stack_run.h"

#include "flame_file.h"
#include "settings_map.h"
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/base/stop.h>
#include <kprof/base/text.h>
#include <kprof/cli/output.h>
#include <kprof/core/event.h>
#include <kprof/engine/attach.h>
#include <kprof/trace/agent_request.h>
#include <kprof/trace/stack_request.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PING_NS   2000000000u
#define TURN_US   20000
#define PERIOD_MS 5000
#define ALL       ((1u << STACK_STATUSES) - 1)
#define ON_CPU    (1u << STACK_RUNNING | 1u << STACK_RUNNABLE | 1u << STACK_GARBAGE_COLLECTING)

struct run {
    const struct options *o;
    struct ring *ring; /* a session needs a ring for events; no events will arrive */
    struct intern *names;
    struct stream *stream;
    struct session *session;
    struct stack_profile *profile;
    struct stack_decoder *decoder;
    struct flame_query query;
    struct stack_request request;
    uint64_t began_ns, pinged_ns, ended_ns;
};

static void drop_events(struct run *r)
{
    const void *ready;
    size_t n;

    while ((n = ring_peek(r->ring, &ready)) > 0)
        ring_consume(r->ring, n);
}

static void take(struct run *r)
{
    struct stack_message *m;
    struct stream_note note;

    while ((m = stream_take_stacks(r->stream))) {
        stack_decoder_feed(r->decoder, m->bytes, m->n, &m->clock);
        stack_message_free(m);
    }
    while (stream_take_note(r->stream, &note)) {
        struct buf line;
        buf_init(&line, 0);
        text_safe(&line, note.text, strlen(note.text), 0, false);
        fprintf(stderr, "kprof-top: %s\n", line.data);
        buf_release(&line);
    }
    drop_events(r);
}

/* From --profile: the width of a frame, the statuses that count, and the choice of processes. */
static void what(struct run *r)
{
    const char *p = r->o->profile;
    enum stack_metric m = stack_metric_parse(p, strlen(p));

    r->request = (struct stack_request){.who = STACK_WHO_TOP,
                                        .n = r->o->top ? r->o->top : 100,
                                        .interval_us = r->o->sample_interval_ns / 1000,
                                        .period_ms = PERIOD_MS,
                                        .statuses = ALL};
    r->query = (struct flame_query){.by = FLAME_SAMPLES};
    if (strcmp(p, "cpu") == 0)
        r->request.statuses = r->query.filter.statuses = ON_CPU;
    if (m == STACK_METRICS)
        return;
    r->query.by = FLAME_GROWTH;
    r->query.metric = m;
    if (m == STACK_MESSAGE_QUEUE_LEN)
        r->request.by = STACK_TOP_QUEUE;
    else if (m >= STACK_BIN_VHEAP_SIZE && m <= STACK_BIN_OLD_VHEAP_BLOCK_SIZE)
        r->request.by = STACK_TOP_BINARY;
    else if (m != STACK_REDUCTIONS && m != STACK_MINOR_GCS)
        r->request.by = STACK_TOP_MEMORY;
}

static int begin(struct run *r, struct err *e)
{
    struct trace_config limits = {.max_cost_ppm = r->o->max_overhead_ppm,
                                  .max_age_ms = r->o->max_age_ns / 1000000u,
                                  .max_rate = r->o->max_rate,
                                  .cooldown_ms = r->o->cooldown_ns / 1000000u};

    if (agent_request_limits(r->session, &limits, e) < 0)
        return -1;
    r->began_ns = r->pinged_ns = clock_mono_ns();
    return stack_request_begin(r->session, &r->request, e);
}

/* Runs until the time is over, the operator stops it, or the connection is lost. */
static int sample(struct run *r, struct err *e)
{
    uint64_t end = r->o->duration_ns ? r->began_ns + r->o->duration_ns : UINT64_MAX, now;

    while (!stop_asked() && (now = clock_mono_ns()) < end) {
        take(r);
        if (session_lost(r->session)) {
            session_why(r->session, e);
            return -1;
        }
        if (now - r->pinged_ns > PING_NS) {
            r->pinged_ns = now;
            if (agent_request_ping(r->session, 0, e) < 0)
                return -1;
        }
        uint64_t left_us = (end - now) / 1000u;
        usleep(left_us < TURN_US ? (useconds_t)left_us : TURN_US);
    }
    r->ended_ns = clock_mono_ns();
    return stack_request_end(r->session, e);
}

/* The wall clock at time 0 of the samples, and the time between two samples of a process. */
static void set_meta(struct run *r)
{
    struct stack_profile_meta m = *stack_profile_meta(r->profile);
    const struct stack_figures *f = stack_decoder_figures(r->decoder);
    uint64_t target;

    if (stream_now(r->stream, clock_mono_ns(), &target))
        m.wall_ns = (int64_t)(clock_wall_ns() - target);
    if (f->interval_us == f->asked_us)
        m.interval_ns = f->interval_us * f->groups * 1000u;
    stack_profile_set_meta(r->profile, &m);
}

static void say(const struct run *r)
{
    const struct stack_figures *f = stack_decoder_figures(r->decoder);
    const struct stack_decode_counts *c = stack_decoder_counts(r->decoder);
    struct stack_profile_counts p = stack_profile_counts(r->profile);
    uint64_t end = r->ended_ns ? r->ended_ns : clock_mono_ns();

    fprintf(stderr,
            "kprof-top: %llu samples in %.1f s, at the end %llu processes, each sampled every "
            "%.0f ms; cost %.1f%% of the node\n",
            (unsigned long long)c->samples, (double)(end - r->began_ns) / 1e9,
            (unsigned long long)f->chosen, (double)(f->interval_us * f->groups) / 1000,
            (double)f->cost_ppm / 10000);
    if (f->interval_us > f->asked_us)
        fprintf(stderr, "kprof-top: sampled less often than asked, to stay below --max-overhead\n");
    if (f->skipped + f->lost + c->missing + c->unknown + p.left_out + p.dropped)
        fprintf(stderr,
                "kprof-top: not sampled in time: %llu; lost: %llu samples, %llu messages; left "
                "out: %llu\n",
                (unsigned long long)f->skipped, (unsigned long long)(f->lost + c->unknown),
                (unsigned long long)c->missing, (unsigned long long)(p.left_out + p.dropped));
    if (f->held)
        fprintf(stderr,
                "kprof-top: %llu processes were left out because of faults of this VM "
                "(--hazards lists the faults)\n",
                (unsigned long long)f->held);
}

static int write_samples(struct run *r, const struct target *t, struct err *e)
{
    struct stack_view *v = stack_profile_view(r->profile);
    int rc = -1;

    if (stack_view_count(v) == 0)
        err_set(e, "no process was sampled: none was chosen, or none had a status that "
                   "--profile selects; try --profile wall");
    else
        rc = flame_file_write(v, r->o->output, OUTPUT_OVER, &r->query, t->node, e);
    stack_view_release(v);
    return rc;
}

int stack_run(const struct options *o, const struct target *t)
{
    struct run r = {.o = o};
    struct session_receipt receipt;
    struct session_info info;
    struct session_opts so;
    struct settings settings;
    struct attach_who who;
    struct err e = {{0}}, written = {{0}};
    int rc = -1;

    r.names = intern_new(100, 10000);
    r.ring = ring_new(64, sizeof(struct event));
    r.stream = stream_new(r.ring, r.names);
    r.profile = stack_profile_new(NULL);
    r.decoder = stack_decoder_new(r.profile);
    what(&r);
    settings_map_from(o, &settings);
    attach_opts(&settings, t->node, t->cookie, &who, &so);
    so.epoch = 1;
    so.stream = r.stream;
    r.session = session_open(&so, &info, &e);
    if (r.session) {
        rc = begin(&r, &e) < 0 ? -1 : sample(&r, &e);
        take(&r);
        set_meta(&r);
        session_close(r.session, &receipt);
        say(&r);
        if (write_samples(&r, t, &written) < 0)
            rc = -1;
        run_receipt(t, &receipt);
    }
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    if (written.text[0])
        fprintf(stderr, "kprof-top: %s\n", written.text);
    stack_decoder_free(r.decoder);
    stack_profile_free(r.profile);
    stream_free(r.stream);
    ring_free(r.ring);
    intern_free(r.names);
    return rc < 0;
}
