#include <kprof/app/engine.h>

#include "engine_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <kprof/app/attach.h>
#include <kprof/base/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_RECORDS  ((size_t)1 << 17)
#define NAMES_MAX     100000u
#define NAMES_BYTES   ((size_t)24 << 20)
#define ARGS_BYTES    ((size_t)8 << 20)
#define POLL_EVENTS   16384u
#define DEAD_AFTER_NS 1000000000u
#define FULL_WAIT_US  500
#define FULL_WAITS    100

static void wake(void *arg)
{
    struct engine *g = arg;
    ssize_t ignored = write(g->pipe[1], "", 1); /* full: it is readable anyway */
    (void)ignored;
}

/* Reader: the ring is full. Wait a little for the core, then drop: the target must not feel us. */
static bool ring_wait(void *arg)
{
    struct engine *g = arg;

    if (ring_capacity(g->ring) < RING_RECORDS || atomic_load(&g->full_waits) >= FULL_WAITS)
        return false;
    atomic_fetch_add(&g->full_waits, 1);
    wake(g);
    usleep(FULL_WAIT_US);
    return true;
}

/* A test makes it tiny, and then waits for nobody, so that we cannot follow. */
static size_t ring_records(void)
{
    const char *test = getenv("KPROF_TEST_RING");
    long n = test ? strtol(test, NULL, 10) : 0;

    return n > 0 && n < (long)RING_RECORDS ? (size_t)n : RING_RECORDS;
}

struct engine *engine_new(const struct options *o, const struct engine_hooks *hooks, struct err *e)
{
    struct engine *g = calloc(1, sizeof *g);
    struct core_limits l;

    if (!g)
        abort();
    g->o = o;
    g->hooks = *hooks;
    if (pipe2(g->pipe, O_NONBLOCK | O_CLOEXEC) < 0) {
        err_set(e, "cannot make a pipe: %s", strerror(errno));
        free(g);
        return NULL;
    }
    core_limits_default(&l);
    l.history =
        !o->batch; /* only a screen scrolls back: an unattended run stays as small as it is */
    g->names = intern_new(NAMES_MAX, NAMES_BYTES);
    g->ring = ring_new(ring_records(), sizeof(struct event));
    g->core = core_new(&l, g->names);
    g->stream = stream_new(g->ring, g->names);
    g->text_ring = text_ring_new(ARGS_BYTES);
    stream_keep_args(g->stream, g->text_ring);
    core_set_text_ring(g->core, g->text_ring);
    engine_set_slow(g, o->slow_ns);
    core_set_returns(g->core, o->returns);
    g->trace_config.lean = o->returns == RETURNS_LEAN;
    g->trace_config.tracing = true;
    g->trace_config.args = o->slow_args;
    g->trace_config.sample = o->sample;
    g->trace_config.max_age_ms = o->max_age_ns / 1000000u;
    g->trace_config.max_rate = o->max_rate;
    guard_init(&g->guard, o->max_age_ns);
    g->trace_config.max_cost_ppm = o->max_overhead_ppm;
    g->trace_config.cooldown_ms = o->cooldown_ns / 1000000u;
    g->trace_config.entry = TRACE_CONFIG_NO_ENTRY;
    g->begun_ns = clock_mono_ns();
    if (o->record && !(g->recorder = recorder_open(o->record, e))) {
        engine_free(g);
        return NULL;
    }
    if (o->slow_log && !(g->slow_log = slow_log_open(o->slow_log, e))) {
        engine_free(g);
        return NULL;
    }
    return g;
}

void engine_free(struct engine *g)
{
    struct session_receipt ignored;
    struct err e;

    if (!g)
        return;
    engine_detach(g, &ignored);
    g->hooks = (struct engine_hooks){0}; /* what they lead to may be gone */
    engine_pump_slow(g, true);
    slow_log_close(g->slow_log);
    if (g->recorder && recorder_close(g->recorder, &e) < 0)
        fprintf(stderr, "kprof-top: %s\n", e.text);
    replay_close(g->replay);
    compare_free(g->compare);
    stream_free(g->stream);
    core_free(g->core);
    ring_free(g->ring);
    intern_free(g->names);
    catalog_free(g->catalog_load.catalog);
    text_ring_free(g->text_ring);
    close(g->pipe[0]);
    close(g->pipe[1]);
    free(g);
}

int engine_attach(struct engine *g, const char *node, const char *cookie, struct err *e)
{
    struct session_opts so;

    (void)e;
    snprintf(g->node, sizeof g->node, "%s", node);
    snprintf(g->cookie, sizeof g->cookie, "%s", cookie);
    attach_opts(g->o, g->node, g->cookie, &g->who, &so);
    so.stream = g->stream;
    so.recorder = g->recorder;
    so.wake = wake;
    so.wake_arg = g;
    stream_on_full(g->stream, ring_wait, g);
    g->state = ENGINE_CONNECTING;
    g->control = control_start(&so);
    if (g->trace_config.n)
        engine_push_config(g);
    return 0;
}

void engine_detach(struct engine *g, struct session_receipt *receipt)
{
    memset(receipt, 0, sizeof *receipt);
    control_finish(g->control, receipt);
    g->control = NULL;
}

int engine_wake_fd(const struct engine *g)
{
    return g->pipe[0];
}

/* Time goes on when nothing comes, but never past what may still be under way. */
static void advance(struct engine *g)
{
    uint64_t target;

    if (ring_fill(g->ring) || !stream_now(g->stream, clock_mono_ns(), &target))
        return;
    g->target_now_ns = target;
    if (target > FINALIZE_LAG_NS && target - FINALIZE_LAG_NS > core_now(g->core))
        core_advance(g->core, target - FINALIZE_LAG_NS);
}

static void ask_dead_ones(struct engine *g)
{
    uint64_t now = clock_mono_ns(), pids[AGENT_REQUEST_PIDS];

    if (g->state != ENGINE_UP || now < g->dead_next_ns || g->dead_n)
        return;
    g->dead_next_ns = now + DEAD_AFTER_NS;
    size_t n = core_open_pids(g->core, DEAD_AFTER_NS, &g->dead_from, pids, AGENT_REQUEST_PIDS);
    if (n)
        control_ask(g->control, CONTROL_DEAD, 0, NULL, pids, n);
}

/* "breaker open: REASON; next try in N s": how long it is still, the heartbeats tell. */
static void take_reason(struct engine *g, const char *text)
{
    static const char before[] = "breaker open: ";
    const char *from =
        strncmp(text, before, sizeof before - 1) == 0 ? text + sizeof before - 1 : text;

    err_copy(g->breaker_reason, sizeof g->breaker_reason, from);
    char *next = strstr(g->breaker_reason, "; next try in ");
    if (next)
        *next = 0;
}

void engine_take_notes(struct engine *g)
{
    struct stream_note n;

    while (stream_take_note(g->stream, &n)) {
        engine_log(g, n.text);
        if (strcmp(n.tag, "relay_died") == 0) { /* it stays off until someone wants it again */
            g->trace_config.tracing = false;
            engine_push_config(g);
        }
        if (strcmp(n.tag, "overload") == 0)
            take_reason(g, n.text);
    }
}

/* The dead were asked after while their last events may still have been under way: only when those
 * must have come are calls that are still open ended. */
static void bury(struct engine *g)
{
    struct buf b;

    if (!g->dead_n || clock_mono_ns() < g->dead_due_ns || ring_fill(g->ring))
        return;
    buf_init(&b, 0);
    for (size_t i = 0; i < g->dead_n; i++) {
        struct event ev = {.ts_ns = core_now(g->core), .pid = g->dead_pid[i], .kind = EVENT_EXIT};
        core_feed(g->core, &ev, 1);
        buf_add(&b, &ev, sizeof ev);
    }
    recorder_write(g->recorder, RECORD_EXITS, clock_mono_ns(), b.data, b.len);
    buf_release(&b);
    g->dead_n = 0;
}

bool engine_poll(struct engine *g)
{
    const void *ready;
    char drain[64];
    size_t n, left = POLL_EVENTS;
    struct result *r;

    while (read(g->pipe[0], drain, sizeof drain) > 0)
        ;
    if (g->control)
        control_alive(g->control);
    if (g->replay)
        replay_pump(g);
    while (left && (n = ring_peek(g->ring, &ready)) > 0) {
        n = n < left ? n : left;
        core_feed(g->core, ready, n);
        ring_consume(g->ring, n);
        atomic_store(&g->full_waits, 0);
        left -= n;
    }
    while (g->control && (r = control_take(g->control))) {
        engine_result(g, r);
        result_release(r);
    }
    engine_take_notes(g);
    engine_poll_catalog(g);
    if (g->control) {
        engine_listen(g);
        engine_guard(g);
        advance(g);
    }
    bury(g);
    ask_dead_ones(g);
    engine_capture_poll(g);
    engine_pump_slow(g, false);
    return ring_fill(g->ring) > 0 || (g->replay && g->state != ENGINE_REPLAYED);
}

void engine_settle(struct engine *g, int timeout_ms)
{
    struct stream_figures f;
    uint64_t until = clock_mono_ns() + (uint64_t)timeout_ms * 1000000u;

    stream_figures(g->stream, &f);
    uint64_t offs = f.offs;
    if (g->state != ENGINE_UP || !g->tracing)
        return;
    uint64_t since = core_now(g->core);
    g->trace_config.tracing = false;
    engine_push_config(g);
    /* That it is off an earlier pause may have told: the agent's answer comes after all. */
    while ((f.offs == offs || g->tracing) && clock_mono_ns() < until && g->state == ENGINE_UP) {
        engine_poll(g);
        usleep(2000);
        stream_figures(g->stream, &f);
    }
    while (engine_poll(g))
        ;
    core_gap_forget(g->core, since);
    core_advance(g->core, core_now(g->core) + FINALIZE_LAG_NS);
}

enum engine_state engine_state(const struct engine *g)
{
    return g->state;
}

const char *engine_trouble(const struct engine *g)
{
    return g->trouble;
}

bool engine_configured(const struct engine *g)
{
    return g->configured_gen == g->trace_config_gen && g->trace_config_gen > 0;
}

size_t engine_held(const struct engine *g, const char **text)
{
    *text = g->info.held;
    return g->info.n_held;
}

const char *engine_rule_error(const struct engine *g)
{
    return g->rule_error;
}

bool engine_tier_missing(const struct engine *g, const char **note)
{
    *note = g->missing;
    return g->missing[0] != 0;
}
