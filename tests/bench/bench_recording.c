/* The times of 1,000,000 stack samples with all their metrics: a recording that is loaded at once,
 * its first flame graph, and output of perf script that is read. */
#include "agent_stacks.h"

#include <engine/recording_meta.h>
#include <kprof/base/clock.h>
#include <kprof/core/flame.h>
#include <kprof/core/perf_script.h>
#include <kprof/engine/engine.h>
#include <kprof/erl/enc.h>
#include <kprof/export/stacks.h>
#include <kprof/trace/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 1000000, BATCH = 100, PROCESSES = 100, STACKS = 2000, VALUES = 14 };

static uint32_t random_state = 1;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * n) >> 32);
}

static double since_ms(uint64_t begin_ns)
{
    return (double)(clock_mono_ns() - begin_ns) / 1e6;
}

/* The first message names all processes and stacks. */
static void add_names(struct buf *b)
{
    char leaf[32];

    enc_list(b, PROCESSES);
    for (unsigned i = 0; i < PROCESSES; i++)
        agent_stacks_process(b, i, (uint8_t)i, i % 2 == 0);
    enc_nil(b);
    enc_nil(b); /* no process has left */
    enc_list(b, STACKS);
    for (unsigned i = 0; i < STACKS; i++) {
        snprintf(leaf, sizeof leaf, "function_%u", i);
        agent_stacks_stack(b, i, false, leaf);
    }
    enc_nil(b);
}

static void add_samples(struct buf *b, unsigned message)
{
    int64_t value[VALUES];

    enc_list(b, BATCH);
    for (unsigned i = 0; i < BATCH; i++) {
        for (unsigned k = 0; k < VALUES; k++)
            value[k] = below(1u << 20);
        agent_stacks_sample(b, below(PROCESSES), ((int64_t)message * BATCH + i) * 90000,
                            below(STACKS), value, VALUES);
    }
    enc_nil(b);
}

static void write_recording(const char *path)
{
    static struct recording_meta m = {.node = "app@host",
                                      .otp = "27",
                                      .start_native = AGENT_STACKS_START,
                                      .units_per_s = 1000000000,
                                      .wall_ns = UINT64_C(1700000000000000000),
                                      .sample = 1,
                                      .tiers.entry = TIER_NONE};
    struct recorder *r;
    struct buf b;
    struct err e;

    buf_init(&b, (size_t)64 << 20);
    if (!(r = recorder_open(path, &e)))
        abort();
    recording_meta_write(&m, &b);
    recorder_write(r, RECORD_META, 1, b.data, b.len);
    for (unsigned i = 0; i < SAMPLES / BATCH; i++) {
        agent_stacks_head(&b, i + 1, 99000, STACK_GATE_OPEN);
        if (i == 0) {
            add_names(&b);
        } else {
            enc_nil(&b);
            enc_nil(&b);
            enc_nil(&b);
        }
        enc_nil(&b); /* none is forgotten */
        add_samples(&b, i);
        recorder_write(r, RECORD_STACKS, 2 + i * UINT64_C(90000) * BATCH, b.data, b.len);
    }
    if (recorder_close(r, &e) < 0)
        abort();
    buf_release(&b);
}

static void report_graph(const struct stack_view *v, const char *what, const struct flame_query *q)
{
    uint64_t begin = clock_mono_ns();

    flame_free(flame_build(v, q));
    printf("recording, its flame graph %s: %.0f ms (limit: 1,000)\n", what, since_ms(begin));
}

static bool append(void *arg, const char *bytes, size_t n)
{
    buf_add(arg, bytes, n);
    return true;
}

/* As kprof-top writes it, with all metrics of each sample; a tenth of the samples. */
static void report_perf(const struct stack_view *v)
{
    const struct flame_query q = {.filter = {.to_ns = SAMPLES / 10 * UINT64_C(90000)}};
    struct perf_script_counts n;
    struct buf text;

    buf_init(&text, (size_t)2 << 30);
    stacks_write(v, STACKS_PERF, &(struct stacks_options){.query = q}, append, &text);
    struct stack_profile *p =
        stack_profile_new(&(struct stack_profile_limits){.max_bytes = (size_t)1 << 30});
    struct perf_script *r = perf_script_new(p);
    uint64_t begin = clock_mono_ns();
    perf_script_feed(r, text.data, text.len);
    n = perf_script_end(r);
    printf("perf script read: %.0f samples, %.0f MB, %.0f ms (limit: 300 for 100,000)\n",
           (double)n.samples, (double)text.len / 1e6, since_ms(begin));
    stack_profile_free(p);
    buf_release(&text);
}

static void report_load(const char *path)
{
    static const struct settings s = {.history = true};
    static const struct engine_hooks hooks;
    struct err e;
    struct engine *g = engine_new(&s, &hooks, &e);

    uint64_t begin = clock_mono_ns();
    if (!g || engine_replay(g, path, &e) < 0)
        abort();
    while (engine_state(g) != ENGINE_REPLAYED)
        engine_poll(g);
    while (engine_poll(g))
        ;
    struct stack_view *v = engine_stacks_view(g);
    if (!v)
        abort();
    printf("recording, %.0f of %d samples loaded: %.0f ms (limit: 3,000)\n",
           (double)stack_view_count(v), SAMPLES, since_ms(begin));
    report_graph(v, "not grouped", &(struct flame_query){0});
    report_graph(v, "by process", &(struct flame_query){.group = FLAME_PROCESS});
    report_perf(v);
    stack_view_release(v);
    engine_free(g);
}

int main(void)
{
    char path[64];

    snprintf(path, sizeof path, "/tmp/kprof-bench-%ld.rec", (long)getpid());
    write_recording(path);
    report_load(path);
    unlink(path);
    return 0;
}
