/* Adds the engine's data to core's snapshot: node, breaker, loss, lag, log. */
#include "node_load.h"
#include "notes.h"
#include "process_names.h"
#include "questions.h"
#include "replaying.h"
#include "stack_sampling.h"
#include "wall_clock.h"

#include <kprof/base/clock.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first release of which some versions trace garbage collections inside requests
 * (kprof_hazard: gc_flags). A recording has the release only. */
#define GC_OTP 29

static void fill_rate(struct engine *g, const struct stream_figures *f)
{
    uint64_t now = clock_mono_ns();

    if (g->rate.at_ns && now - g->rate.at_ns < 1000000000u)
        return;
    if (g->rate.at_ns)
        g->rate.per_s = (double)(f->events - g->rate.events) * 1e9 / (double)(now - g->rate.at_ns);
    g->rate.at_ns = now;
    g->rate.events = f->events;
}

static void fill_node(struct engine *g, struct snap_node *n)
{
    struct heartbeat b;
    const char *name = g->replay.file               ? g->replay.meta.node
                       : g->connection.info.node[0] ? g->connection.info.node
                                                    : g->connection.node;

    snprintf(n->name, sizeof n->name, "%s", name);
    snprintf(n->otp, sizeof n->otp, "%s",
             g->replay.file ? g->replay.meta.otp : g->connection.info.otp);
    n->no_gc = g->replay.file ? n->otp[0] && atoi(n->otp) < GC_OTP : g->connection.info.no_gc;
    snprintf(n->transport, sizeof n->transport, "%s", g->replay.file ? "replay" : "dist");
    if (g->connection.tls)
        err_copy(n->tls, sizeof n->tls, g->connection.unverified ? "not verified" : "verified");
    n->connected = g->state == ENGINE_UP || g->state == ENGINE_REPLAYED;
    n->tracing = g->tracing;
    n->n_queues = g->queue_watch.n;
    memcpy(n->queue, g->queue_watch.of, n->n_queues * sizeof *n->queue);
    n->scheduler_use = -1;
    if (g->replay.file) {
        n->replay = true;
        n->replay_share = replay_share(g->replay.file);
        n->replay_speed = g->replay.speed;
    }
    if (stream_heartbeat(g->stream, &b)) {
        n->uptime_s = b.uptime_ms / 1000;
        n->run_queue = b.run_queue;
        n->schedulers = b.schedulers;
        n->scheduler_use = b.sched_permille < 0 ? -1.0 : b.sched_permille / 1000.0;
        n->memory_bytes = b.memory_bytes;
        n->processes = b.processes;
        n->relay_queue = b.relay_queue;
        n->relay_bytes = b.relay_bytes;
    }
    if (g->state == ENGINE_LOST) {
        uint64_t now = clock_mono_ns();
        double in_s = g->connection.retry_at_ns > now
                          ? ceil((double)(g->connection.retry_at_ns - now) / 1e9)
                          : 0;
        snprintf(n->state, sizeof n->state, "CONNECTION LOST, next try in %.0f s: %.140s", in_s,
                 g->connection.state_line);
    } else if (g->state == ENGINE_REPLAYED) {
        err_copy(n->state, sizeof n->state, "end of the recording");
    } else if (g->state == ENGINE_CONNECTING) {
        snprintf(n->state, sizeof n->state, "connecting to %.150s ...", g->connection.node);
    } else if (g->liveness.silent) {
        n->silent_s = (double)(clock_mono_ns() - g->liveness.heard_ns) / 1e9;
        snprintf(n->state, sizeof n->state, "NO DATA from %.150s for %.0f s", g->connection.node,
                 n->silent_s);
    }
}

/* The breaker is on the node: its last report, and the age of the report. */
static void fill_breaker(struct engine *g, struct snapshot *s)
{
    struct heartbeat b;
    struct snap_breaker *k = &s->breaker;

    s->sample = s->sample_asked =
        g->configuration.wanted.sample ? g->configuration.wanted.sample : 1;
    if (!stream_heartbeat(g->stream, &b))
        return;
    notes_take(g); /* the note with the reason arrives before the heartbeat with the state */
    k->state = b.breaker == 1 ? BREAKER_OPEN : b.breaker == 2 ? BREAKER_HALF_OPEN : BREAKER_CLOSED;
    k->trips = b.trips;
    if (k->trips) /* even if it has closed since, because the operator may not have seen it */
        err_copy(k->reason, sizeof k->reason, g->breaker_reason);
    k->pause_s = k->state == BREAKER_OPEN ? (double)b.pause_ms / 1e3 : 0;
    if (k->state == BREAKER_OPEN && !g->replay.file) {
        double since_ms = (double)(clock_mono_ns() - b.received_ns) / 1e6;
        k->next_try_s = (double)b.next_ms > since_ms ? ((double)b.next_ms - since_ms) / 1e3 : 0;
    }
    if (b.sample)
        s->sample = b.sample;
    if (s->sample > s->sample_asked)
        s->sample_why = (enum sample_why)b.sample_why;
}

static void fill_cost(struct engine *g, struct snap_cost *c)
{
    struct heartbeat b;

    c->limit_percent = g->replay.file ? 0 : (double)g->configuration.wanted.max_cost_ppm / 1e4;
    if (!stream_heartbeat(g->stream, &b) || !b.call_ns)
        return;
    c->known = true;
    c->assumed = b.cost_assumed;
    c->percent = b.cost_ppm / 1e4;
    c->call_ns = b.call_ns;
}

#define RUNNING_CRASHES                                                                            \
    "the trace flag 'running' on the processes of many requests can crash the VM (--hazards)"

bool engine_detail_refused(const struct engine *g, const char **why)
{
    struct heartbeat b;

    if (!g->run.detail_given || g->replay.file || !stream_heartbeat(g->stream, &b))
        return false;
    if (b.detail_why == 1)
        *why = "--detail needs OTP 27.1 or later: in earlier releases, " RUNNING_CRASHES;
    else if (b.detail_why == 3 && g->configuration.wanted.n > 0)
        *why = "--detail is not possible with --entry none: there are no requests to follow";
    else
        return false;
    return true;
}

static void fill_vm_events(struct engine *g, struct snapshot *s, const struct stream_figures *f)
{
    static const enum vm_event_state states[] = {VM_EVENTS_OFF, VM_EVENTS_ON, VM_EVENTS_NOT_HERE};
    struct heartbeat b;

    s->vm.lost = f->vm_lost;
    if (stream_heartbeat(g->stream, &b) && b.vm_events >= 0)
        s->vm.state = states[b.vm_events];
}

static void fill_detail(struct engine *g, struct snap_detail *d)
{
    struct heartbeat b;
    bool beat = stream_heartbeat(g->stream, &b);

    d->every_asked = g->replay.file ? 0 : g->configuration.wanted.detail;
    d->given = g->run.detail_given && !g->replay.file && g->configuration.wanted.n > 0;
    if (!g->replay.file && d->every_asked == 0) {
        d->state = DETAIL_OFF;
    } else if (beat && b.detail_why == 1) {
        d->state = DETAIL_NOT_HERE;
        snprintf(d->why, sizeof d->why, "before OTP 27.1, " RUNNING_CRASHES);
    } else if (beat && b.detail_why == 3) {
        d->state = DETAIL_NO_ENTRY;
    } else if (beat && b.detail_why >= 0 && b.detail > 0) {
        d->state = DETAIL_ON;
        d->every = b.detail;
        if (g->replay.file) /* a recording does not have the requested value */
            d->every_asked = b.detail;
    }
}

static void fill_clock(const struct clock_reading *r, uint64_t now_ns, struct snap_clock *k)
{
    k->error_known = r->bounded;
    k->error_us = clock_reading_error_ns(r, now_ns) / 1e3;
    k->drift_known = r->drift_known;
    k->drift_ppm = r->drift * 1e6;
}

static size_t fill_log(struct engine *g, struct snap_log *to, size_t max)
{
    size_t n = g->log.n < max ? g->log.n : max;

    if (n > ENGINE_LOG)
        n = ENGINE_LOG;
    for (size_t i = 0; i < n; i++) {
        size_t at = (g->log.n - 1 - i) % ENGINE_LOG;
        to[i] = (struct snap_log){.wall_ns = g->log.line[at].wall_ns, .text = g->log.line[at].text};
    }
    return n;
}

void engine_keep_hists(struct engine *g, bool on)
{
    core_keep_hists(g->core, on);
}

static struct snapshot *make(struct engine *g, const struct view_query *query, bool final)
{
    struct stream_figures f;
    struct snap_log lines[ENGINE_LOG];
    uint64_t wall = wall_clock_of_core(g);

    stream_figures(g->stream, &f);
    struct snapshot *s = core_view(g->core, query, wall);
    s->wall_ns = g->replay.file ? wall : clock_wall_ns();
    s->final = final;
    s->elapsed_s = g->replay.file ? (double)replaying_elapsed_ns(g) / 1e9
                                  : (double)(clock_mono_ns() - g->begun_ns) / 1e9;
    fill_rate(g, &f);
    fill_node(g, &s->node);
    fill_breaker(g, s);
    fill_cost(g, &s->cost);
    fill_detail(g, &s->detail);
    fill_vm_events(g, s, &f);
    stack_sampling_fill(g, &s->sampling);
    fill_clock(&f.clock, g->replay.file ? f.clock.at_ns : clock_mono_ns(), &s->clock);
    s->lean = g->configuration.wanted.lean;
    s->events_per_s = g->rate.per_s;
    s->lag_ms = f.lag_ns > 0 ? (double)f.lag_ns / 1e6 : 0;
    s->oldest_event_ms = (double)f.oldest_ns / 1e6;
    s->ring_fill = (double)ring_fill(g->ring) / (double)ring_capacity(g->ring);
    s->lost.target = f.target_dropped + f.missing_batches;
    s->lost.ring = ring_lost(g->ring);
    s->anomalies.bad_events += f.bad_events; /* added to those that core could not decode */
    err_copy(s->rule_note, sizeof s->rule_note, g->rule_check.note);
    process_names_apply(g, s);
    snapshot_set_log(s, lines, fill_log(g, lines, ENGINE_LOG));
    if (g->compare)
        compare_apply(g->compare, s);
    if (query->why) {
        node_load_fill(g, s);
        process_names_why(g, s);
    }
    return s;
}

void engine_view_state(struct engine *g, struct snapshot *s)
{
    s->node = (struct snap_node){0};
    s->breaker = (struct snap_breaker){0};
    s->cost = (struct snap_cost){0};
    s->sample_why = SAMPLE_ASKED;
    fill_node(g, &s->node);
    fill_breaker(g, s);
    fill_cost(g, &s->cost);
    stack_sampling_fill(g, &s->sampling);
}

/* Sends requests for the data of the next snapshot. */
static struct snapshot *asked_about(struct engine *g, struct snapshot *s)
{
    questions_ask_empty(g, s);
    process_names_ask(g, s, clock_mono_ns());
    return s;
}

struct snapshot *engine_snapshot(struct engine *g, enum window w, bool final)
{
    struct view_query l = {.window = w};
    return asked_about(g, make(g, &l, final));
}

uint64_t engine_closed_s(const struct engine *g)
{
    return core_closed_s(g->core);
}

struct snapshot *engine_report(struct engine *g, const struct view_query *query, bool final)
{
    return asked_about(g, make(g, query, final));
}

struct snapshot *engine_view(struct engine *g, const struct view_query *query)
{
    return asked_about(g, make(g, query, false));
}
