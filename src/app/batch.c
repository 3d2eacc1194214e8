#include "run.h"

#include "hlog_range.h"
#include "notice.h"
#include "preset_take.h"
#include "progress.h"
#include "record_run.h"
#include "settings_map.h"
#include "stack_run.h"
#include <kprof/base/clock.h>
#include <kprof/base/stop.h>
#include <kprof/base/text.h>
#include <kprof/cli/optval.h>
#include <kprof/cli/output.h>
#include <kprof/export/export.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_NS 20000000000u
#define DRAIN_MS   5000
#define FIRST_NS   2000000000u
#define LATE_NS    20000000u /* for events that wait, if a report is late */

struct batch {
    const struct options *o;
    struct engine *g;
    int fd;
    bool first;
    bool broken;     /* an assertion does not hold */
    bool unwritable; /* the output cannot be written */
    bool replaces;   /* each report replaces the file */
    struct hlog_range range;
    char warned[400];
    char warned_failure[400];
    bool warned_detail;
    bool configured; /* the run has begun */
    struct preset_take preset;
    struct err preset_why;   /* "": it is set, or not yet answered */
    struct err preset_retry; /* why the node is asked again; "": it is not */
};

/* A file of --format prom is replaced as a whole each time, and opened only then. A device or a
 * pipe cannot be replaced; it is opened once, as for the other formats. */
static bool replaces(const struct options *o)
{
    return o->output && o->format == EXPORT_PROM && output_is_file(o->output);
}

/* --profile and --trigger write other files. */
static bool reports(const struct options *o)
{
    return !o->profile && o->n_triggers == 0;
}

static enum window window_for(uint64_t delay_ns)
{
    enum window w = WINDOW_1S;

    while (w < WINDOW_3H && window_ns(w) < delay_ns)
        w++;
    return w;
}

static void judge(struct batch *b)
{
    char why[400];
    struct snapshot *s = b->o->n_assertions ? engine_snapshot(b->g, WINDOW_RUN, true) : NULL;

    for (size_t i = 0; i < b->o->n_assertions; i++) {
        if (assertion_holds(&b->o->assertion[i], s, engine_compared(b->g), why, sizeof why))
            continue;
        b->broken = true;
        fprintf(stderr, "kprof-top: --assert %s failed: %s\n",
                optval_show(b->o->assertion[i].text).s, why);
    }
    snapshot_free(s);
}

/* False: there is nothing to report yet. */
static bool report_time(struct batch *b, bool final, struct view_query *q)
{
    q->window = final ? WINDOW_RUN : window_for(b->o->delay_ns);
    if (b->o->format != EXPORT_HLOG)
        return true;
    if (!final)
        return hlog_range_next(&b->range, engine_closed_s(b->g), q);
    hlog_range_rest(&b->range, q);
    return true;
}

static int write_snapshot(struct batch *b, bool final, struct err *e)
{
    struct buf text;
    struct view_query query = {.why = b->o->why};
    if (!report_time(b, final, &query))
        return 0;
    struct snapshot *s = engine_report(b->g, &query, final);
    const char *path = b->o->output ? b->o->output : "the output";
    int rc;

    buf_init(&text, 0);
    if (b->o->format == EXPORT_TEXT && b->o->slow_details)
        export_details(&text, s);
    else
        export_write(&text, s, b->o->format, b->first);
    b->first = false;
    rc = output_check_text(&text, path, e);
    if (rc == 0)
        rc = b->replaces ? output_replace(path, text.data, text.len, e)
                         : output_write(b->fd, path, text.data, text.len, e);
    if (final)
        judge(b);
    buf_release(&text);
    snapshot_free(s);
    b->unwritable |= rc < 0;
    return rc;
}

static void warn_missing(struct batch *b)
{
    const char *note;

    if (engine_tier_missing(b->g, &note) && strcmp(note, b->warned) != 0) {
        notice(note);
        snprintf(b->warned, sizeof b->warned, "%s", note);
    }
}

static void warn_detail(struct batch *b)
{
    const char *why;

    if (b->warned_detail || !engine_detail_refused(b->g, &why))
        return;
    notice(why);
    b->warned_detail = true;
}

/* The node refused a configuration, and it is not sent again. */
static const char *config_refused(const struct batch *b)
{
    bool again;
    const char *why = engine_config_failure(b->g, &again);

    return again ? "" : why;
}

/* Of a later configuration; while the first one fails, wait_configured reports it. */
static void warn_failure(struct batch *b)
{
    const char *why = config_refused(b);

    if (b->configured && *why && strcmp(why, b->warned_failure) != 0)
        notice(why);
    if (b->configured)
        err_copy(b->warned_failure, sizeof b->warned_failure, why);
}

static void on_exist(void *arg, uint16_t tag, const bool *there, const char *why)
{
    struct batch *b = arg;
    char said[PRESET_SAID_BYTES];
    struct err e;

    if (!preset_take_is_mine(&b->preset, tag))
        return;
    if (preset_take_answer(&b->preset, b->g, there, why, said, &e) == 0) {
        if (said[0])
            notice_about(b->preset.what, said);
    } else if (preset_take_wanted(&b->preset)) {
        b->preset_retry = e;
    } else {
        b->preset_why = e;
    }
}

/* Polls until the time, or until the run ends: at least once, also if the reader of the reports is
 * so slow that the time is over. */
static bool pump_until(struct batch *b, uint64_t until_ns)
{
    struct pollfd p = {.fd = engine_wake_fd(b->g), .events = POLLIN};
    uint64_t now, late_ns = clock_mono_ns() + LATE_NS;
    bool more = true;

    while (!stop_asked() && ((now = clock_mono_ns()) < until_ns || (more && now < late_ns))) {
        more = engine_poll(b->g);
        warn_missing(b);
        warn_detail(b);
        warn_failure(b);
        enum engine_state st = engine_state(b->g);
        if (st == ENGINE_FAILED || st == ENGINE_LOST || st == ENGINE_REPLAYED ||
            engine_rule_error(b->g)[0])
            return false;
        uint64_t left_ms = now < until_ns ? (until_ns - now) / 1000000u + 1 : 0;
        if (!more && left_ms)
            poll(&p, 1, left_ms < 50 ? (int)left_ms : 50);
    }
    return !stop_asked();
}

static bool pump(void *batch, uint64_t until_ns)
{
    return pump_until(batch, until_ns);
}

/* Without tiers there is nothing to configure: stack samples only need the node. */
static bool is_ready(const struct batch *b)
{
    return b->o->n_tiers || b->o->preset ? engine_configured(b->g)
                                         : engine_state(b->g) == ENGINE_UP;
}

static bool waits(const struct batch *b)
{
    return preset_take_wanted(&b->preset) || !is_ready(b);
}

/* -1 with err: the node has refused the configuration, or the time is over. */
static int may_wait(const struct batch *b, uint64_t until_ns, struct err *e)
{
    const char *node = b->o->mode == OPTIONS_NODE ? b->o->node[0] : "the node";
    bool again, late = clock_mono_ns() > until_ns;
    const char *why = engine_config_failure(b->g, &again);

    if (*why && (late || !again))
        return err_set(e, "connected to %.100s, but its agent did not take the configuration: %s",
                       node, why);
    if (late && preset_take_wanted(&b->preset) && b->preset_retry.text[0])
        return err_set(e, "connected to %.100s, but %.100s could not be applied within 20 s: %s",
                       node, b->preset.what, b->preset_retry.text);
    if (late)
        return err_set(
            e,
            "connected to %.100s, but its agent did not start within 20 s: the node may be "
            "too busy",
            node);
    return 0;
}

static int wait_configured(struct batch *b, struct err *e)
{
    uint64_t until = clock_mono_ns() + CONNECT_NS;

    while (waits(b)) {
        preset_take_poll(&b->preset, b->g);
        if (!pump_until(b, clock_mono_ns() + 20000000u))
            break;
        if (b->preset_why.text[0])
            return err_set(e, "%s", b->preset_why.text);
        if (waits(b) && may_wait(b, until, e) < 0)
            return -1;
    }
    if (engine_rule_error(b->g)[0]) {
        err_set(e, "cannot use the identity rule: %.400s", engine_rule_error(b->g));
        return -2;
    }
    if (engine_state(b->g) == ENGINE_FAILED || engine_state(b->g) == ENGINE_LOST)
        return err_set(e, "%s", engine_trouble(b->g));
    b->configured = true;
    return stop_asked() ? err_set(e, "stopped before the start") : 0;
}

/* Waits a little longer than the first second, so that the first report is not empty. */
static void first_second(struct batch *b, uint64_t end_ns)
{
    uint64_t until = clock_mono_ns() + FIRST_NS;
    bool closed = false;

    until = until < end_ns ? until : end_ns;

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
        if (next < clock_mono_ns()) /* missed ones are left out */
            next = clock_mono_ns();
        bool last = next >= end;
        if (!pump_until(b, last ? end : next) || last)
            break;
        if (i == 0) {
            first_second(b, end);
            next = clock_mono_ns() > next ? clock_mono_ns()
                                          : next; /* the other reports keep the interval */
        }
        if (write_snapshot(b, false, e) < 0)
            return -1;
    }
    return 0;
}

static int read_recording(struct batch *b, struct err *e)
{
    struct progress p = {0};
    while (pump_until(b, clock_mono_ns() + 50000000u))
        progress_show(&p, b->o->replay, engine_replay_share(b->g));
    progress_end(&p);
    return stop_asked() ? err_set(e, "stopped while reading %s", b->o->replay) : 0;
}

static void say_held(const struct engine *g)
{
    const char *avoided;

    if (engine_avoided(g, &avoided))
        notice_about("precaution on this node", avoided);
}

/* Opening empties the file, so this is done when there is something to write. */
static int open_output(struct batch *b, struct err *e)
{
    const struct options *o = b->o;
    b->replaces = replaces(o);
    if (!o->output || !reports(o) || b->replaces)
        return 0;
    b->fd = output_open(o->output, OUTPUT_OVER, e);
    return b->fd < 0 ? -1 : 0;
}

static int check_output(const struct options *o, struct err *e)
{
    return o->output && reports(o) ? output_check(o->output, e) : 0;
}

int run_batch(const struct options *o, const struct conn_target *t)
{
    struct batch b = {
        .o = o, .first = true, .range.step_s = hlog_range_step(o->delay_ns), .fd = STDOUT_FILENO};
    struct engine_hooks hooks = {.arg = &b, .exist = on_exist};
    struct settings settings;
    struct err e = {{0}};
    int status = 1, rc = 0;

    if (check_output(o, &e) < 0)
        goto out;
    settings_map_from(o, &settings);
    if (t->node)
        preset_take_first(&b.preset, o, &settings);
    b.g = engine_new(&settings, &hooks, &e);
    if (!b.g || run_baseline(b.g, o, &e) < 0 || run_begin(b.g, o, t, &e) < 0)
        goto out;
    engine_keep_hists(b.g, export_needs_hists(o->format));
    if (t->node && (rc = wait_configured(&b, &e)) < 0) {
        status = rc == -2 ? 2 : 1;
        goto out;
    }
    if (!t->node && read_recording(&b, &e) < 0)
        goto out; /* a report would look like one of the whole recording */
    if (open_output(&b, &e) < 0)
        goto out;
    if (t->node)
        say_held(b.g);
    if (o->profile)
        rc = stack_run(b.g, o, t->node, pump, &b, &e);
    else if (o->n_triggers)
        rc = record_run(&(struct trigger_run){.g = b.g, .o = o, .pump = pump, .arg = &b}, &e);
    else if (t->node)
        rc = intervals(&b, &e);
    if (rc == 0 && engine_state(b.g) == ENGINE_LOST)
        rc = err_set(&e, "%s", engine_trouble(b.g));
    engine_drain(b.g, DRAIN_MS);
    if (reports(o) && !b.unwritable &&
        write_snapshot(&b, true, rc == 0 ? &e : &(struct err){{0}}) < 0)
        rc = -1;
    status = rc < 0 || *config_refused(&b) ? 1 : b.broken ? 3 : 0;
out:
    if (b.fd > STDOUT_FILENO &&
        output_close(b.fd, o->output, 0, e.text[0] ? &(struct err){{0}} : &e) < 0 && status == 0)
        status = 1;
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    if (run_end(b.g, t) < 0 && status == 0)
        status = 1;
    preset_take_drop(&b.preset);
    return status;
}
