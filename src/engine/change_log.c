#include "change_log.h"

#include "session_log.h"
#include <inttypes.h>
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BURST_NS   UINT64_C(10000000000)
#define NAMES_COLS 250
#define RULE_COLS  300

void change_log_begin(struct engine *g)
{
    struct change_log *k = &g->change_log;

    k->known = g->configuration.wanted;
    k->known.n = 0;
    k->known.entry = TRACE_CONFIG_NO_ENTRY;
    k->known.identity[0] = 0;
    k->slow_ns = g->slow.threshold_ns;
}

__attribute__((format(printf, 2, 3))) static void line(struct engine *g, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    session_log_add(g, text);
}

static bool has(const struct trace_config *c, uint16_t ix)
{
    for (uint16_t i = 0; i < c->n; i++)
        if (c->tier[i].ix == ix)
            return true;
    return false;
}

/* The members of `a` that are not in `b`; with the function of each if there is only one. */
static void tiers(struct engine *g, const struct trace_config *a, const struct trace_config *b,
                  const char *what)
{
    const struct tierset *t = core_tiers(g->core);
    const struct tier *last = NULL;
    struct buf names;
    size_t n = 0;

    buf_init(&names, 0);
    for (uint16_t i = 0; i < a->n; i++) {
        if (has(b, a->tier[i].ix))
            continue;
        last = &t->tier[a->tier[i].ix];
        buf_adds(&names, n++ ? ", " : "");
        buf_adds(&names, last->name);
    }
    if (n == 1)
        line(g, "tier %s: %s (%.250s)", what, last->name, last->mfa);
    else if (n > 1) {
        struct buf cut;
        buf_init(&cut, 0);
        text_safe(&cut, names.data, names.len, NAMES_COLS, false);
        line(g, "%zu tiers %s: %.350s", n, what, cut.data);
        buf_release(&cut);
    }
    buf_release(&names);
}

static void rule(struct engine *g, const char *text)
{
    struct buf cut;

    buf_init(&cut, 0);
    text_safe(&cut, text, strlen(text), RULE_COLS, false);
    line(g, "identity rule: %.350s", text[0] ? cut.data : "none");
    buf_release(&cut);
}

static void what_is_traced(struct engine *g, const struct trace_config *was,
                           const struct trace_config *is)
{
    bool none = is->entry == TRACE_CONFIG_NO_ENTRY;

    tiers(g, was, is, "removed");
    tiers(g, is, was, "added");
    if (was->entry != is->entry)
        line(g, "entry: %s", none ? "none" : core_tiers(g->core)->tier[is->entry].name);
    if (strcmp(was->identity, is->identity) != 0)
        rule(g, is->identity);
    if (was->mailbox != is->mailbox)
        line(g, "time in mailboxes: %s", is->mailbox ? "measured" : "not measured");
    if (was->lean != is->lean)
        line(g, "returns: %s", is->lean ? "lean" : "full");
}

/* "" for none */
static void limit(struct engine *g, const char *name, const char *value)
{
    line(g, "%s: %s", name, value[0] ? value : "none");
}

static void which_requests(struct engine *g, const struct trace_config *was,
                           const struct trace_config *is)
{
    char text[40] = "";

    if (was->sample != is->sample)
        line(g, is->sample > 1 ? "sampling: 1 of %" PRIu32 " requests" : "sampling: every request",
             is->sample);
    if (was->detail != is->detail) {
        snprintf(text, is->detail ? sizeof text : 1, "1 of %" PRIu32, is->detail);
        limit(g, "detailed requests", is->detail == 1 ? "every request" : text);
    }
}

static void limits(struct engine *g, const struct trace_config *was, const struct trace_config *is)
{
    char text[40] = "";

    if (was->max_cost_ppm != is->max_cost_ppm) {
        snprintf(text, is->max_cost_ppm ? sizeof text : 1, "%.3g %% of scheduler time",
                 (double)is->max_cost_ppm / 1e4);
        limit(g, "limit of the overhead", text);
    }
    if (was->max_rate != is->max_rate) {
        snprintf(text, is->max_rate ? sizeof text : 1, "%" PRIu64, is->max_rate);
        limit(g, "limit of events per second", text);
    }
    if (was->max_age_ms != is->max_age_ms) {
        clock_format_ns(is->max_age_ms * 1000000u, text, sizeof text);
        limit(g, "limit of the age of an event", text);
    }
    if (was->cooldown_ms != is->cooldown_ms) {
        clock_format_ns(is->cooldown_ms * 1000000u, text, sizeof text);
        limit(g, "pause of the breaker", text);
    }
}

static void threshold(struct engine *g)
{
    char text[16];

    if (g->change_log.slow_ns == g->slow.threshold_ns)
        return;
    g->change_log.slow_ns = g->slow.threshold_ns;
    clock_format_ns(g->slow.threshold_ns, text, sizeof text);
    limit(g, "slow-call threshold", g->slow.threshold_ns ? text : "");
}

/* The sampling to which the limits have reduced the requested one. While it changes in steps, the
 * last value counts. */
static void sampling(struct engine *g, uint64_t now_ns)
{
    struct change_log *k = &g->change_log;
    const struct trace_config *is = &g->configuration.wanted;
    struct heartbeat b;
    char text[SNAPSHOT_SAMPLING_BYTES];

    if (g->replay.file || !stream_heartbeat(g->stream, &b))
        return;
    bool cut = b.sample > is->sample && b.sample_why != SAMPLE_ASKED;
    if (k->cut == (cut ? b.sample : 0) && (!cut || k->cut_why == b.sample_why))
        return;
    struct snapshot s = {.has_entry = is->entry != TRACE_CONFIG_NO_ENTRY,
                         .sample = is->sample,
                         .sample_asked = is->sample};
    k->cut = cut ? b.sample : 0;
    k->cut_why = b.sample_why;
    if (cut) {
        s.sample = b.sample;
        s.sample_why = (enum sample_why)b.sample_why;
        s.cost.limit_percent = (double)is->max_cost_ppm / 1e4;
    }
    snapshot_sampling(&s, text);
    if (g->log.n && g->log.n == k->cut_lines && now_ns - k->cut_ns < BURST_NS)
        g->log.n--;
    else
        k->cut_ns = now_ns;
    line(g, "tracing %s%s", text, cut ? "" : ", as requested");
    k->cut_lines = g->log.n;
}

void change_log_poll(struct engine *g, uint64_t now_ns)
{
    struct change_log *k = &g->change_log;
    const struct trace_config *is = &g->configuration.wanted;

    if (k->changes != g->configuration.changes) {
        what_is_traced(g, &k->known, is);
        which_requests(g, &k->known, is);
        limits(g, &k->known, is);
        k->known = *is;
        k->changes = g->configuration.changes;
    }
    threshold(g);
    sampling(g, now_ns);
}
