#include "stack_sampling.h"

#include "configuration.h"
#include "full_trace.h"
#include "session_log.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

#define MESSAGES_A_POLL 32
#define AGAIN_NS        UINT64_C(1000000000) /* a lost connection is known by then */
#define RETRIES         5
#define LIVE_BYTES      ((size_t)64 << 20)  /* some minutes of a fast sampler */
#define REPLAY_BYTES    ((size_t)256 << 20) /* a recording is shown as a whole */

/* ---- requests to the node ---- */

/* Drops the samples; keeps their texts and stacks. */
static void forget(struct stack_sampling *p)
{
    if (!p->profile)
        return;
    stack_profile_clear(p->profile);
    sample_wait_forget(p->wait);
    p->first_ns = 0;
}

static uint64_t samplers(const struct stack_sampling *p)
{
    return p->decoder ? stack_decoder_counts(p->decoder)->samplers : 0;
}

/* fresh: the node's sampler is restarted, so that no sample of an earlier choice arrives later. */
static void ask(struct engine *g, bool fresh)
{
    struct stack_sampling *p = &g->stacks;

    p->why[0] = 0;
    p->on = p->on && !fresh;
    if (!g->control || g->state != ENGINE_UP)
        return; /* stack_sampling_connected asks */
    if (!g->configuration.gen)
        configuration_push(g); /* without tiers the node does not have the limits yet */
    if (fresh)
        p->clear_id = control_stacks(g->control, NULL);
    p->samplers = samplers(p);
    p->question_id = control_stacks(g->control, &p->request);
}

/* The node need not be asked again to sample. */
static void begin_forgotten(struct stack_sampling *p)
{
    p->begin_next_ns = 0;
    p->begin_tries = 0;
}

/* The node need not be asked again to end it. */
static void end_forgotten(struct stack_sampling *p)
{
    p->end_next_ns = 0;
    p->end_tries = 0;
}

int engine_stacks_begin(struct engine *g, const struct stack_request *r, bool fresh, struct err *e)
{
    struct stack_sampling *p = &g->stacks;
    char line[200];

    if (engine_may_set(g, e) < 0)
        return -1;
    p->request = *r;
    p->wanted = p->begun = true;
    p->taken = false;
    begin_forgotten(p);
    end_forgotten(p);
    if (fresh)
        forget(p);
    snprintf(line, sizeof line, "sampling stacks of %.120s", r->processes.text);
    session_log_add_once(g, line);
    ask(g, fresh);
    return 0;
}

static void ask_end(struct engine *g)
{
    g->stacks.question_id = g->stacks.end_id = control_stacks(g->control, NULL);
}

void engine_stacks_end(struct engine *g)
{
    struct stack_sampling *p = &g->stacks;

    if (!p->wanted)
        return;
    p->wanted = p->on = false;
    begin_forgotten(p);
    p->why[0] = 0;
    session_log_add(g, "stack sampling ended");
    if (g->control && g->state == ENGINE_UP)
        ask_end(g);
}

bool engine_stacks_ending(const struct engine *g)
{
    return g->stacks.end_id || g->stacks.end_next_ns;
}

void engine_stacks_forget(struct engine *g)
{
    forget(&g->stacks);
}

void stack_sampling_connected(struct engine *g)
{
    if (g->stacks.wanted)
        ask(g, false);
}

void stack_sampling_lost(struct engine *g)
{
    g->stacks.on = false;
    g->stacks.clear_id = g->stacks.end_id = 0; /* the samples of that sampler have all come */
    if (g->stacks.end_tries)
        g->stacks.why[0] = 0;
    begin_forgotten(&g->stacks);
    end_forgotten(&g->stacks);
}

void stack_sampling_ended(struct engine *g, const char *why)
{
    g->stacks.wanted = g->stacks.on = false;
    begin_forgotten(&g->stacks);
    end_forgotten(&g->stacks);
    err_copy(g->stacks.why, sizeof g->stacks.why, why);
}

/* The node may still sample: it is asked again, and the operator is told. */
static void end_answered(struct engine *g, const struct result *r)
{
    struct stack_sampling *p = &g->stacks;

    p->end_id = 0;
    if (!r->failed) {
        if (p->end_tries)
            session_log_add(g, "the node has ended stack sampling");
        p->end_tries = 0;
        p->why[0] = 0;
    } else if (!p->wanted) {
        p->end_tries++;
        p->end_next_ns = clock_mono_ns() + AGAIN_NS;
        err_copy(p->end_why, sizeof p->end_why, r->text);
    }
}

static void sampled(struct stack_sampling *p)
{
    p->on = p->taken = true;
    p->why[0] = 0;
    begin_forgotten(p);
}

/* If the node has sampled for this choice before, it was probably too busy. */
static void begin_failed(struct engine *g, const char *why)
{
    struct stack_sampling *p = &g->stacks;

    if (p->taken && p->begin_tries < RETRIES) {
        p->begin_tries++;
        p->begin_next_ns = clock_mono_ns() + AGAIN_NS;
    } else {
        err_copy(p->why, sizeof p->why, why);
    }
    session_log_add_once(g, why);
}

/* A sampler has begun since the node was asked: it has the request, although the answer to it did
 * not arrive. */
static bool began(const struct stack_sampling *p)
{
    return samplers(p) > p->samplers;
}

static void ask_end_again(struct engine *g)
{
    struct stack_sampling *p = &g->stacks;
    bool last = p->end_tries > RETRIES;

    p->end_next_ns = 0;
    if (p->end_tries == 1 || last) {
        snprintf(p->why, sizeof p->why, "stack sampling %s: %.200s",
                 last ? "may go on until kprof-top detaches" : "did not end", p->end_why);
        session_log_warn(g, p->why);
    }
    if (!last)
        ask_end(g);
}

void stack_sampling_poll(struct engine *g, uint64_t now_ns)
{
    struct stack_sampling *p = &g->stacks;

    if (g->state != ENGINE_UP)
        return;
    if (p->end_next_ns && now_ns >= p->end_next_ns)
        ask_end_again(g);
    if (p->begin_next_ns && now_ns >= p->begin_next_ns) {
        p->begin_next_ns = 0;
        ask(g, false);
    }
}

void stack_sampling_answered(struct engine *g, struct result *r)
{
    struct stack_sampling *p = &g->stacks;

    if (p->clear_id && r->question_id == p->clear_id) {
        while (stack_sampling_take(g))
            ;
        forget(p);
        p->clear_id = 0;
        p->samplers = samplers(p);
    }
    if (p->end_id && r->question_id == p->end_id) {
        while (stack_sampling_take(g))
            ;
        end_answered(g, r);
    }
    if (r->question_id != p->question_id) /* this is the answer to an older request */
        return;
    p->question_id = 0;
    p->on = false;
    if (r->on && (!r->failed || began(p)))
        sampled(p);
    else if (r->failed && p->wanted)
        begin_failed(g, r->text);
}

/* ---- samples ---- */

static void wait_for_events(void *arg, const struct stack_sample *s, const struct stack_metrics *m)
{
    sample_wait_add(arg, s, m);
}

static void open_store(struct engine *g)
{
    const struct stack_profile_limits limits = {
        .max_bytes = g->replay.file ? REPLAY_BYTES : LIVE_BYTES, .keep_newest = true};

    g->stacks.profile = stack_profile_new(&limits);
    g->stacks.decoder = stack_decoder_new(g->stacks.profile);
    g->stacks.wait = sample_wait_new(g->core, g->stacks.profile);
    stack_decoder_pass_to(g->stacks.decoder, wait_for_events, g->stacks.wait);
}

static void note_first(struct stack_sampling *p)
{
    if (p->first_ns || stack_profile_counts(p->profile).added == 0)
        return;
    struct stack_view *v = stack_profile_view(p->profile);
    if (stack_view_count(v) > 0)
        p->first_ns = stack_view_at(v, 0)->time_ns;
    stack_view_release(v);
}

/* Core's time does not advance now: samples that wait are resolved with what is known. */
static bool no_more_events(const struct engine *g)
{
    uint64_t now;

    if (g->control && !stream_now(g->stream, clock_mono_ns(), &now))
        return true; /* the clock of the node is not known yet */
    return g->state == ENGINE_LOST || g->state == ENGINE_FAILED || g->state == ENGINE_REPLAYED;
}

bool stack_sampling_take(struct engine *g)
{
    struct stack_sampling *p = &g->stacks;
    struct stack_message *m = NULL;
    int n = 0;

    while (n < MESSAGES_A_POLL && (m = stream_take_stacks(g->stream))) {
        bool full = full_decoder_is(m->bytes, m->n);
        if (!full && !p->profile && (g->run.history || p->begun)) /* else nothing uses them */
            open_store(g);
        if (full)
            full_trace_feed(g, m);
        else if (p->decoder)
            stack_decoder_feed(p->decoder, m->bytes, m->n, &m->clock);
        stack_message_free(m);
        n++;
    }
    if (p->profile) {
        sample_wait_pass(p->wait, no_more_events(g));
        note_first(p);
    }
    if (p->wanted && !p->on && !p->question_id && g->state == ENGINE_UP && began(p))
        sampled(p);
    return n == MESSAGES_A_POLL;
}

/* The wall clock at time 0 of the samples; how far apart two samples of one process are. */
static void set_meta(struct engine *g)
{
    struct stack_sampling *p = &g->stacks;
    struct stack_profile_meta m = *stack_profile_meta(p->profile);
    const struct stack_figures *f = stack_decoder_figures(p->decoder);
    uint64_t target;

    if (g->replay.file)
        m.wall_ns = (int64_t)(g->replay.wall_ns ? g->replay.wall_ns - g->target_now_ns
                                                : g->replay.meta.wall_ns - p->first_ns);
    else if (stream_now(g->stream, clock_mono_ns(), &target))
        m.wall_ns = (int64_t)(clock_wall_ns() - target);
    m.interval_ns = f->interval_us == f->asked_us ? f->interval_us * f->groups * 1000u : 0;
    stack_profile_set_meta(p->profile, &m);
}

struct stack_view *engine_stacks_view(struct engine *g)
{
    if (!g->stacks.profile)
        return NULL;
    set_meta(g);
    return stack_profile_view(g->stacks.profile);
}

uint64_t *engine_stacks_requests(const struct engine *g, const struct view_cells *cells, size_t *n)
{
    return core_sampled_requests(g->core, cells, n);
}

void stack_sampling_release(struct engine *g)
{
    stack_decoder_free(g->stacks.decoder);
    sample_wait_free(g->stacks.wait);
    stack_profile_free(g->stacks.profile);
}

/* ---- the state, for the screen ---- */

static enum sampling_state state(const struct engine *g)
{
    const struct stack_sampling *p = &g->stacks;

    if (g->replay.file)
        return p->first_ns ? SAMPLING_ON : SAMPLING_NONE;
    if (!p->begun)
        return SAMPLING_NONE;
    if (!p->wanted)
        return SAMPLING_OFF;
    if (p->why[0])
        return SAMPLING_FAILED;
    if (g->state != ENGINE_UP)
        return SAMPLING_NO_NODE;
    return p->on ? SAMPLING_ON : SAMPLING_ASKED;
}

static enum sampling_pause pause_of(enum stack_gate gate)
{
    switch (gate) {
    case STACK_GATE_BREAKER:
        return SAMPLING_BREAKER;
    case STACK_GATE_LEASE:
        return SAMPLING_LEASE;
    case STACK_GATE_RUN_QUEUE:
        return SAMPLING_RUN_QUEUE;
    case STACK_GATE_OPEN:
        break;
    }
    return SAMPLING_RUNS;
}

static void fill_figures(const struct engine *g, struct snap_sampling *s)
{
    const struct stack_figures *f = stack_decoder_figures(g->stacks.decoder);
    const struct stack_decode_counts *c = stack_decoder_counts(g->stacks.decoder);
    struct stream_figures stream;

    stream_figures(g->stream, &stream);
    s->pause = s->state == SAMPLING_ON ? pause_of(f->gate) : SAMPLING_RUNS;
    s->percent = s->state == SAMPLING_ON ? (double)f->cost_ppm / 1e4 : 0;
    uint64_t us = f->pace_us > f->interval_us ? f->pace_us : f->interval_us;
    s->each_ms = (double)(us * f->groups) / 1e3;
    s->each_ms_asked = (double)(f->asked_us * f->groups) / 1e3;
    s->less_often = us * 10 > f->asked_us * 11;
    s->processes = f->chosen;
    s->matched = f->matched;
    s->held = f->held;
    s->late = f->late;
    s->skipped = f->skipped;
    s->lost = f->lost + c->missing + c->unknown + c->bad + stream.dropped_stacks;
    s->depth = (uint32_t)f->depth;
    s->cut_share = f->sampled ? (double)f->cut / (double)f->sampled : 0;
    s->born = f->born;
    s->born_s = (double)f->born_ms / 1e3;
}

void stack_sampling_fill(const struct engine *g, struct snap_sampling *s)
{
    memset(s, 0, sizeof *s);
    s->state = state(g);
    s->replay = g->replay.file != NULL;
    err_copy(s->who, sizeof s->who, g->stacks.request.processes.text);
    memcpy(s->why, g->stacks.why, sizeof s->why);
    if (g->stacks.decoder)
        fill_figures(g, s);
}

void engine_sampling(const struct engine *g, struct snap_sampling *out)
{
    stack_sampling_fill(g, out);
}
