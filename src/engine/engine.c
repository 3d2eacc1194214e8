#include <kprof/engine/engine.h>

#include "captures.h"
#include "catalog_load.h"
#include "change_log.h"
#include "configuration.h"
#include "dead_processes.h"
#include "full_trace.h"
#include "hangs.h"
#include "identity_template.h"
#include "liveness.h"
#include "node_load.h"
#include "notes.h"
#include "part_time.h"
#include "process_watch.h"
#include "queue_watch.h"
#include "replaying.h"
#include "results.h"
#include "rule_check.h"
#include "session_log.h"
#include "settings.h"
#include "slow_pump.h"
#include "stack_sampling.h"
#include "static_calls.h"
#include "wall_clock.h"
#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_MORE_NS UINT64_C(2000000000)
#define IN_TRANSIT_NS UINT64_C(50000000)   /* for the events of calls that have just begun */
#define LAST_CHECK_NS UINT64_C(1500000000) /* for the dead processes */

#define RING_RECORDS ((size_t)1 << 17)
#define NAMES_MAX    250000u
#define NAMES_BYTES  ((size_t)32 << 20)
#define ARGS_BYTES   ((size_t)8 << 20)
#define POLL_EVENTS  16384u
#define FULL_WAIT_US 500
#define FULL_WAITS   100

static void wake(void *arg)
{
    struct engine *g = arg;
    ssize_t ignored = write(g->pipe[1], "", 1); /* it fails only if the pipe is full, so readable */
    (void)ignored;
}

/* Reader: the ring is full. Waits a little for the core thread, then drops events, so that the node
 * is not blocked. */
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

/* A test makes the ring tiny and does not wait, so that kprof-top cannot keep up. */
static size_t ring_records(void)
{
    const char *test = getenv("KPROF_TEST_RING");
    long n = test ? strtol(test, NULL, 10) : 0;

    return n > 0 && n < (long)RING_RECORDS ? (size_t)n : RING_RECORDS;
}

struct engine *engine_new(const struct settings *s, const struct engine_hooks *hooks, struct err *e)
{
    struct engine *g = calloc(1, sizeof *g);
    struct core_limits l;

    if (!g)
        abort();
    g->run = *s;
    g->hooks = *hooks;
    if (pipe2(g->pipe, O_NONBLOCK | O_CLOEXEC) < 0) {
        err_set(e, "cannot make a pipe: %s", strerror(errno));
        free(g);
        return NULL;
    }
    core_limits_default(&l);
    l.history = s->history; /* only a screen looks back: without one, memory stays small */
    g->names = intern_new(NAMES_MAX, NAMES_BYTES);
    g->ring = ring_new(ring_records(), sizeof(struct event));
    g->core = core_new(&l, g->names);
    g->stream = stream_new(g->ring, g->names);
    g->text_ring = text_ring_new(ARGS_BYTES);
    stream_keep_args(g->stream, g->text_ring);
    core_set_text_ring(g->core, g->text_ring);
    guard_init(&g->liveness.guard, s->max_age_ns);
    settings_apply(g, s);
    g->configuration.wanted.tracing = true;
    g->configuration.wanted.args = s->slow_args;
    g->configuration.wanted.entry = TRACE_CONFIG_NO_ENTRY;
    part_time_begin(g);
    g->begun_ns = clock_mono_ns();
    change_log_begin(g);
    if (s->record_ring_bytes)
        g->recorder = recorder_ring(s->record_ring_bytes);
    else if (s->record && !(g->recorder = recorder_open(s->record, e))) {
        engine_free(g);
        return NULL;
    } else if (!s->record)
        g->recorder = recorder_idle();
    if (s->slow_log && !(g->slow.log = slow_log_open(s->slow_log, e))) {
        engine_free(g);
        return NULL;
    }
    return g;
}

int engine_free(struct engine *g)
{
    struct session_receipt ignored;
    struct err e;

    if (!g)
        return 0;
    engine_detach(g, &ignored);
    g->hooks = (struct engine_hooks){0}; /* their arguments may be freed */
    slow_pump_run(g, true);
    slow_log_close(g->slow.log);
    if (recorder_close(g->recorder, &e) < 0 && !g->recording_incomplete)
        session_log_trouble(g, e.text);
    int rc = g->files_incomplete ? -1 : 0;
    replay_close(g->replay.file);
    identity_template_release(g);
    compare_free(g->compare);
    stack_sampling_release(g);
    node_load_release(g);
    full_trace_release(g);
    stream_free(g->stream);
    core_free(g->core);
    ring_free(g->ring);
    intern_free(g->names);
    catalog_free(g->catalog_load.catalog);
    static_calls_release(g);
    text_ring_free(g->text_ring);
    close(g->pipe[0]);
    close(g->pipe[1]);
    free(g);
    return rc;
}

int engine_attach(struct engine *g, const struct conn_target *to, struct err *e)
{
    struct session_opts so;

    (void)e;
    snprintf(g->connection.node, sizeof g->connection.node, "%s", to->node);
    g->connection.tls = to->tls.on;
    g->connection.unverified = to->tls.insecure;
    attach_opts(&g->run, to, &g->connection.who, &so);
    so.stream = g->stream;
    so.recorder = g->recorder;
    so.wake = wake;
    so.wake_arg = g;
    stream_on_full(g->stream, ring_wait, g);
    g->state = ENGINE_CONNECTING;
    g->control = control_start(&so);
    if (g->configuration.wanted.n)
        configuration_push(g);
    return 0;
}

void engine_detach(struct engine *g, struct session_receipt *receipt)
{
    memset(receipt, 0, sizeof *receipt);
    control_finish(g->control, receipt);
    g->control = NULL;
}

int engine_record_remember(struct engine *g, size_t bytes, struct err *e)
{
    if (g->run.record)
        return err_set(e, "the events are already recorded to %s", g->run.record);
    recorder_remember(g->recorder, bytes);
    return 0;
}

void engine_record_forget(struct engine *g)
{
    if (!g->run.record && !g->run.record_ring_bytes)
        recorder_forget(g->recorder);
}

int engine_record_keep(struct engine *g, const char *path, uint64_t before_ns, struct err *e)
{
    uint64_t now = clock_mono_ns();

    configuration_record(g); /* the present tiers */
    return recorder_keep(g->recorder, path, now > before_ns ? now - before_ns : 0, e);
}

int engine_record_cut(struct engine *g, struct err *e)
{
    int rc = recorder_cut(g->recorder, e);
    g->files_incomplete |= rc < 0;
    return rc;
}

int engine_wake_fd(const struct engine *g)
{
    return g->pipe[0];
}

/* The disk may be full: a long run must not end before its operator is told. */
static void recording_look(struct engine *g)
{
    struct err e;

    if (recorder_trouble(g->recorder, &e) == 0)
        return;
    g->recording_incomplete =
        !g->hooks.message; /* a message on the screen disappears: reported again at the end */
    session_log_trouble(g, e.text);
}

bool engine_poll(struct engine *g)
{
    char drain[64];
    struct result *r;

    while (read(g->pipe[0], drain, sizeof drain) > 0)
        ;
    if (g->control)
        control_alive(g->control);
    if (g->replay.file)
        replaying_pump(g);
    results_take_events(g, POLL_EVENTS);
    while (g->control && (r = control_take(g->control))) {
        results_take(g, r);
        result_release(r);
    }
    notes_take(g);
    catalog_load_poll(g);
    node_load_take(g);
    if (g->control) {
        liveness_listen(g, clock_mono_ns());
        liveness_guard(g);
        if (ring_fill(g->ring) == 0) /* no events arrive */
            wall_clock_advance(g, clock_mono_ns());
    }
    bool stacks = stack_sampling_take(g);
    while (stacks && g->replay.file) /* more than the inbox holds may come at the next poll */
        stacks = stack_sampling_take(g);
    dead_processes_end_calls(g);
    dead_processes_ask(g);
    hangs_ask(g);
    captures_poll(g);
    part_time_poll(g);
    process_watch_poll(g);
    queue_watch_poll(g);
    full_trace_poll(g, clock_mono_ns());
    stack_sampling_poll(g, clock_mono_ns());
    rule_check_poll(g, clock_mono_ns());
    change_log_poll(g, clock_mono_ns());
    slow_pump_run(g, false);
    recording_look(g);
    return stacks || ring_fill(g->ring) > 0 || (g->replay.file && g->state != ENGINE_REPLAYED);
}

void engine_drain(struct engine *g, int timeout_ms)
{
    struct stream_figures f;

    stream_figures(g->stream, &f);
    uint64_t offs = f.offs;
    if (g->state != ENGINE_UP || !g->tracing)
        return;
    uint64_t begun = clock_mono_ns();
    while (clock_mono_ns() - begun < IN_TRANSIT_NS ||
           (clock_mono_ns() - begun < LAST_CHECK_NS && dead_processes_last(g))) {
        engine_poll(g);
        usleep(2000);
    }
    uint64_t since = core_now(g->core), until = clock_mono_ns() + (uint64_t)timeout_ms * 1000000u;
    g->configuration.wanted.tracing = false;
    configuration_push(g);
    /* An earlier pause may already have changed one of the two: waits for both. */
    while ((f.offs == offs || g->tracing) && clock_mono_ns() < until && g->state == ENGINE_UP) {
        engine_poll(g);
        usleep(2000);
        stream_figures(g->stream, &f);
    }
    until += DRAIN_MORE_NS; /* some nodes never stop sending */
    while (clock_mono_ns() < until && engine_poll(g))
        ;
    core_run_end(g->core, since, STREAM_LATE_NS);
}

enum engine_state engine_state(const struct engine *g)
{
    return g->state;
}

const char *engine_trouble(const struct engine *g)
{
    return g->connection.trouble;
}

bool engine_unreached(const struct engine *g, uint16_t *port)
{
    *port = g->connection.info.port;
    return g->state == ENGINE_FAILED && g->connection.info.unreached;
}

bool engine_configured(const struct engine *g)
{
    return g->configuration.configured_gen == g->configuration.gen && g->configuration.gen > 0;
}

const char *engine_config_failure(const struct engine *g, bool *again)
{
    const struct configuration *c = &g->configuration;

    *again = c->failed_again;
    return c->failed_gen == c->gen ? c->failed : "";
}

size_t engine_avoided(const struct engine *g, const char **text)
{
    *text = g->connection.info.avoided;
    return g->connection.info.n_avoided;
}

const char *engine_rule_error(const struct engine *g)
{
    return g->configuration.rule_error;
}

bool engine_tier_missing(const struct engine *g, const char **note)
{
    *note = g->configuration.missing;
    return g->configuration.missing[0] != 0;
}
