#include "stack_run.h"

#include "file_series.h"
#include "flame_file.h"
#include "notice.h"
#include "stack_note.h"
#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PERIOD_MS 5000
#define ALL       ((1u << STACK_STATUSES) - 1)
#define ON_CPU    (1u << STACK_RUNNING | 1u << STACK_RUNNABLE | 1u << STACK_GARBAGE_COLLECTING)
#define TURN_NS   20000000u
#define END_NS    5000000000u /* the node has this long to send its last samples */

struct run {
    struct engine *g;
    const struct options *o;
    const char *node;
    trigger_pump *pump;
    void *arg;
    struct stack_request request;
    struct flame_query query;
    struct file_series files;
    char path[FILE_SERIES_PATH_BYTES]; /* of the newest */
    struct snap_sampling told;         /* the node's last report */
    uint64_t began_ns;                 /* sampling, local clock; 0: it is not under way */
    uint64_t sampled_ns;               /* sampling time before that */
    uint64_t samples, left_out;        /* written; that did not fit into memory */
};

/* From --profile: the width of a frame, the statuses that count, and which processes are chosen. */
static void what(struct run *r)
{
    const struct options *o = r->o;
    enum stack_metric m = stack_metric_parse(o->profile, strlen(o->profile));
    struct process_choice *c = &r->request.processes;

    r->request = (struct stack_request){.interval_us = o->sample_interval_ns / 1000,
                                        .period_ms = PERIOD_MS,
                                        .statuses = o->statuses                      ? o->statuses
                                                    : strcmp(o->profile, "cpu") == 0 ? ON_CPU
                                                                                     : ALL};
    r->query = (struct flame_query){.by = FLAME_SAMPLES, .filter.statuses = r->request.statuses};
    process_choice_default(c);
    if (o->top)
        c->n = (uint32_t)o->top;
    if (m != STACK_METRICS) {
        r->query.by = FLAME_GROWTH;
        r->query.metric = m;
        if (m == STACK_MESSAGE_QUEUE_LEN)
            c->by = STACK_TOP_QUEUE;
        else if (m >= STACK_BIN_VHEAP_SIZE && m <= STACK_BIN_OLD_VHEAP_BLOCK_SIZE)
            c->by = STACK_TOP_BINARY;
        else if (m != STACK_REDUCTIONS && m != STACK_MINOR_GCS)
            c->by = STACK_TOP_MEMORY;
    }
    if (o->has_processes)
        *c = o->processes;
}

/* ---- files ---- */

struct writing {
    const struct stack_view *v;
    const struct stacks_options *how;
    enum output_mode mode;
};

static int write_file(void *arg, const char *path, struct err *e)
{
    const struct writing *w = arg;

    return flame_file_write(w->v, path, w->mode, w->how, e);
}

/* Writes the samples of the view that pass the query. 1: there is none. */
static int write_view(struct run *r, const struct stack_view *v, struct err *e)
{
    char note[STACK_NOTE_BYTES];
    const struct stacks_options how = {
        .query = r->query, .integer_pid = r->o->perf_pid_integer, .title = r->node, .note = note};
    struct writing w = {v, &how, strstr(r->o->output, "%t") ? OUTPUT_NEW : OUTPUT_OVER};
    char path[FILE_SERIES_PATH_BYTES];
    uint64_t passed = 0;

    for (size_t i = 0; i < stack_view_count(v); i++)
        passed += flame_passes(v, i, &r->query.filter);
    if (passed == 0)
        return 1;
    if (r->began_ns)
        engine_sampling(r->g, &r->told);
    stack_note(&r->told, note);
    if (file_series_make(&r->files, write_file, &w, path, e) < 0)
        return -1;
    r->samples += passed;
    file_series_written(&r->files, path);
    memcpy(r->path, path, sizeof r->path);
    if (r->o->n_triggers)
        fprintf(stderr, "kprof-top: %llu samples written to %s\n", (unsigned long long)passed,
                path);
    return 0;
}

/* The samples since the last file; 1: there is none. */
static int write_samples(struct run *r, struct err *e)
{
    struct stack_view *v = engine_stacks_view(r->g);
    const struct stack_profile_counts *k;
    int rc = 1;

    if (!v)
        return 1;
    rc = write_view(r, v, e);
    k = stack_view_counts(v);
    r->left_out += k->left_out + k->dropped;
    stack_view_release(v);
    engine_stacks_forget(r->g);
    return rc;
}

/* ---- sampling ---- */

static int begin(struct run *r, struct err *e)
{
    r->began_ns = clock_mono_ns();
    return engine_stacks_begin(r->g, &r->request, true, e);
}

/* The node sends its last samples; also when the operator has stopped the run. */
static void end(struct run *r)
{
    uint64_t now = clock_mono_ns(), until = now + END_NS;

    r->sampled_ns += now - r->began_ns;
    r->began_ns = 0;
    engine_sampling(r->g, &r->told);
    engine_stacks_end(r->g);
    while (engine_stacks_ending(r->g) && clock_mono_ns() < until)
        if (!engine_poll(r->g))
            usleep(TURN_NS / 1000);
}

/* The node has refused: there is nothing to wait for. */
static int refused(const struct run *r, struct err *e)
{
    struct snap_sampling s;

    engine_sampling(r->g, &s);
    return s.state == SAMPLING_FAILED || (s.state == SAMPLING_OFF && s.why[0])
               ? err_set(e, "%s", s.why)
               : 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Without a trigger: until the time is over or the operator stops it. */
static int at_once(struct run *r, struct err *e)
{
    const struct options *o = r->o;
    uint64_t now = clock_mono_ns(), until, flush = o->flush_ns ? now + o->flush_ns : UINT64_MAX;
    bool runs = true;
    int rc;

    if (begin(r, e) < 0)
        return -1;
    until = o->duration_ns ? now + o->duration_ns : UINT64_MAX;
    if (!o->duration_ns)
        notice("sampling stacks until ^C (--duration sets a time)");
    while (runs && clock_mono_ns() < until) {
        uint64_t next = clock_mono_ns() + 1000000000u;
        runs = r->pump(r->arg, earlier(earlier(until, flush), next));
        if (refused(r, e) < 0) {
            write_samples(r, &(struct err){{0}});
            return -1;
        }
        if (clock_mono_ns() >= flush && clock_mono_ns() < until) {
            flush += o->flush_ns;
            if (write_samples(r, e) < 0)
                return -1;
        }
    }
    end(r);
    rc = write_samples(r, e);
    if (rc == 1 && r->samples == 0 && engine_state(r->g) == ENGINE_LOST)
        return err_set(e, "no process was sampled: %s", engine_trouble(r->g));
    if (rc == 1 && r->samples == 0) {
        char why[STACK_NOTE_BYTES];
        stack_note_none(&r->told, r->request.processes.kind == PROCESSES_INITIAL_CALL, why);
        return err_set(e, "%s", why);
    }
    return rc < 0 ? -1 : 0;
}

/* ---- triggers ---- */

/* Includes the samples of the last --before, counted back from the newest one. */
static void reach_back(struct run *r)
{
    struct stack_view *v = engine_stacks_view(r->g);
    size_t n = v ? stack_view_count(v) : 0;
    uint64_t newest = n ? stack_view_at(v, n - 1)->time_ns : 0;

    r->query.filter.from_ns = newest > r->o->before_ns ? newest - r->o->before_ns : 0;
    stack_view_release(v);
}

/* Samples for this time, and also writes the samples from before the trigger. */
static int triggered(void *arg, uint64_t time_ns, struct err *e)
{
    struct run *r = arg;
    bool runs;

    if (r->o->before_ns)
        reach_back(r);
    else if (begin(r, e) < 0)
        return -1;
    runs = r->pump(r->arg, clock_mono_ns() + time_ns);
    if (refused(r, e) < 0)
        return -1;
    if (!r->o->before_ns)
        end(r);
    int rc = write_samples(r, e);
    if (rc == 1)
        fprintf(stderr, "kprof-top: no process was sampled after this trigger\n");
    return rc < 0 ? -1 : !runs;
}

static int on_triggers(struct run *r, struct err *e)
{
    const struct trigger_run t = {.g = r->g, .o = r->o, .pump = r->pump, .arg = r->arg};
    int rc;

    if (r->o->before_ns && begin(r, e) < 0)
        return -1;
    rc = trigger_loop(&t, triggered, r, e);
    if (r->began_ns)
        end(r);
    return rc;
}

/* ---- the report at the end ---- */

static void say(const struct run *r)
{
    const struct snap_sampling *s = &r->told;
    char note[STACK_NOTE_BYTES];
    uint64_t ns = r->sampled_ns + (r->began_ns ? clock_mono_ns() - r->began_ns : 0);

    if (r->o->n_triggers && r->files.written == 0) {
        fprintf(stderr, "kprof-top: no trigger fired; no file was written\n");
        return;
    }
    fprintf(stderr,
            "kprof-top: %llu samples in %.1f s, at the end %llu processes, each sampled every "
            "%.0f ms; cost %.1f%% of the node\n",
            (unsigned long long)r->samples, (double)ns / 1e9, (unsigned long long)s->processes,
            s->each_ms, s->percent);
    if (s->less_often)
        fprintf(stderr, "kprof-top: sampled less often than requested, to stay below "
                        "--max-overhead, or because timers of the node come late\n");
    if (s->skipped + s->lost + r->left_out)
        fprintf(stderr, "kprof-top: samples skipped: %llu; lost: %llu; not stored: %llu\n",
                (unsigned long long)s->skipped, (unsigned long long)s->lost,
                (unsigned long long)r->left_out);
    stack_note_held(s, note);
    if (*note)
        fprintf(stderr, "kprof-top: %s\n", note);
    stack_note(&r->told, note);
    if (*note)
        notice(note);
    if (r->files.written > 1)
        fprintf(stderr, "kprof-top: %llu files were written, the newest is %s\n",
                (unsigned long long)r->files.written, r->path);
    else if (r->files.written == 1 && !r->o->n_triggers)
        fprintf(stderr, "kprof-top: written to %s\n", r->path);
}

int stack_run(struct engine *g, const struct options *o, const char *node, trigger_pump *pump,
              void *arg, struct err *e)
{
    struct run r = {.g = g, .o = o, .node = node, .pump = pump, .arg = arg};
    int rc;

    if (output_check(o->output, e) < 0)
        return -1;
    file_series_init(&r.files, o->output, o->files);
    what(&r);
    rc = o->n_triggers ? on_triggers(&r, e) : at_once(&r, e);
    if (r.began_ns)
        engine_sampling(g, &r.told);
    say(&r);
    file_series_release(&r.files);
    return rc;
}
