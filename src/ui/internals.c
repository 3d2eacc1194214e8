#include "internals.h"

#include <assert.h>
#include <kprof/base/format.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A possible clock error is shown only above this value. */
#define CLOCK_ERROR_US 50000

/* Above this age of the newest event, the values are out of date. */
#define LAG_MS 1000

struct list {
    struct internal *out;
    size_t n;
};

__attribute__((format(printf, 4, 5))) static struct internal *
add(struct list *l, const char *label, const char *meaning, const char *fmt, ...)
{
    assert(l->n < INTERNALS_MAX);
    struct internal *k = &l->out[l->n++];
    va_list ap;
    memset(k, 0, sizeof *k);
    va_start(ap, fmt);
    vsnprintf(k->value, sizeof k->value, fmt, ap);
    va_end(ap);
    k->label = label;
    k->meaning = meaning;
    k->style = STYLE_NORMAL;
    return k;
}

static void title(struct list *l, const char *text)
{
    add(l, text, NULL, "%s", "");
}

static struct internal *count(struct list *l, const char *label, uint64_t n, const char *meaning)
{
    char text[FORMAT_BYTES];
    format_count(n, text);
    return add(l, label, meaning, "%s", text);
}

static void mark(struct internal *k, enum style st, bool wrong)
{
    if (wrong) {
        k->style = st;
        k->in_header = true;
    }
}

/* True: n is at least one in `each` calls; fewer are normal. */
static bool many(uint64_t n, uint64_t calls, uint64_t each)
{
    return n > 0 && n >= calls / each;
}

/* --- events --- */

static void add_lost(struct list *l, const struct snapshot *s)
{
    uint64_t lost = s->lost.target + s->lost.ring;
    char all[FORMAT_BYTES], node[FORMAT_BYTES], here[FORMAT_BYTES];
    struct internal *k;
    format_count(lost, all);
    format_count(s->lost.target, node);
    format_count(s->lost.ring, here);
    if (lost) {
        k = add(l, "lost", "events dropped: calls are missing", "%s", all);
        snprintf(k->value, sizeof k->value, "%s: %s on the node, %s in kprof-top", all, node, here);
        snprintf(k->header_text, sizeof k->header_text, "lost %s events", all);
    } else {
        k = add(l, "lost", "events dropped, on the node or in kprof-top", "0");
    }
    mark(k, STYLE_BAD, lost > 0);
}

static void add_delays(struct list *l, const struct snapshot *s)
{
    char text[FORMAT_BYTES];
    format_us(s->lag_ms * 1e3, text);
    mark(add(l, "lag", "age of the newest event when it arrived", "%s", text), STYLE_BAD,
         s->lag_ms > LAG_MS);
    format_us(s->oldest_event_ms * 1e3, text);
    add(l, "oldest", "greatest age of an event of this run when it arrived", "%s", text);
    format_us(s->clock.error_known ? s->clock.error_us : NAN, text);
    mark(add(l, "clock", "possible error of the node's times", "%s%s",
             s->clock.error_known ? "+-" : "", text),
         STYLE_WARN, s->clock.error_known && s->clock.error_us > CLOCK_ERROR_US);
    add(l, "relay", "messages in the queue of the relay on the node", "%llu",
        (unsigned long long)s->node.relay_queue);
    mark(add(l, "ring", "buffer of events; when it is full, events are lost", "%.0f%% full",
             s->ring_fill * 100),
         s->ring_fill >= 0.95 ? STYLE_BAD : STYLE_WARN, s->ring_fill >= 0.8);
}

static void add_events(struct list *l, const struct snapshot *s)
{
    char text[FORMAT_BYTES];
    title(l, "Events");
    format_rate(s->events_per_s, text);
    add(l, "ev/s", "events that arrive per second", "%s", text);
    add_lost(l, s);
    add_delays(l, s);
    mark(count(l, "bad", s->anomalies.bad_events, "events that could not be decoded"), STYLE_WARN,
         s->anomalies.bad_events > 0);
    add(l, "via", "how events arrive: connection of the node, or replay", "%.15s",
        s->node.transport[0] ? s->node.transport : "?");
}

/* --- calls and requests --- */

/* The sum of all calls: received == aggregated + open + expired + unattributed. */
static void add_calls(struct list *l, const struct snapshot *s)
{
    uint64_t all = s->calls.received;
    title(l, "Calls: received = aggregated + open + expired + unattributed");
    count(l, "received", all, "calls that arrived");
    count(l, "aggregated", s->calls.aggregated, "calls that are counted in the table");
    count(l, "open", s->calls.open, "calls that have not ended");
    mark(count(l, "expired", s->calls.expired, "their end did not arrive, or not within 60 s"),
         STYLE_WARN, many(s->calls.expired, all, 100));
    mark(count(l, "unattributed", s->calls.unattributed, "not counted: their request is not known"),
         STYLE_WARN, many(s->calls.unattributed, all, 4));
    mark(count(l, "late", s->anomalies.late, "calls that started after their request ended"),
         STYLE_WARN, many(s->anomalies.late, all, 4));
    count(l, "orphans", s->anomalies.orphan_returns, "returns without an open call");
}

static void add_requests(struct list *l, const struct snapshot *s)
{
    title(l, "Requests");
    count(l, "started", s->requests.started, "calls of the entry");
    count(l, "finished", s->requests.finished, "requests whose entry has returned");
    count(l, "open", s->requests.open, "requests under way");
    count(l, "expired", s->requests.expired, "requests whose end did not arrive");
    count(l, "folded", s->anomalies.identities_folded,
          "requests counted as (other): all names are in use");
    mark(count(l, "full", s->anomalies.pids_full + s->anomalies.requests_full,
               "how often a table of processes or requests was full"),
         STYLE_WARN, s->anomalies.pids_full + s->anomalies.requests_full > 0);
}

/* --- tracing --- */

static void add_sample(struct list *l, const struct snapshot *s)
{
    uint32_t n = s->sample ? s->sample : 1, asked = s->sample_asked ? s->sample_asked : 1;
    char text[SNAPSHOT_SAMPLING_BYTES];
    struct internal *k =
        add(l, "sample", "of the requests, one in N is traced, as a whole", "1/%u", n);
    if (s->sample_why == SAMPLE_ASKED) {
        return;
    }
    snapshot_sampling(s, text);
    snprintf(k->value, sizeof k->value, "1/%u, requested 1/%u: %s", n, asked,
             s->sample_why == SAMPLE_FLOOD    ? "calls arrive too fast"
             : s->sample_why == SAMPLE_COPIES ? "return values are large"
                                              : sample_why_name(s->sample_why));
    snprintf(k->header_text, sizeof k->header_text, "tracing %s", text);
    mark(k, STYLE_WARN, true);
}

/* The value has no room for a long reason; the screen of the parts shows all of it. */
static void add_detail(struct list *l, const struct snapshot *s)
{
    char text[SNAPSHOT_DETAIL_BYTES];
    snapshot_detail(s, text);
    struct internal *k =
        add(l, "detail", "one in N of these is followed in detail (B)", "%.140s", text);
    if (s->detail.state == DETAIL_NOT_HERE) {
        k->style = STYLE_DIM;
    }
    if (s->detail.given &&
        (s->detail.state == DETAIL_NOT_HERE || s->detail.state == DETAIL_NO_ENTRY)) {
        snprintf(k->header_text, sizeof k->header_text, "no detail: %s",
                 s->detail.state == DETAIL_NOT_HERE ? "not on this VM" : "no entry");
        mark(k, STYLE_WARN, true);
    }
}

static void add_tracing(struct list *l, const struct snapshot *s)
{
    const struct snap_cost *k = &s->cost;
    char text[FORMAT_BYTES];
    title(l, "Tracing");
    add_sample(l, s);
    add_detail(l, s);
    add(l, "returns", "lean: return values are not copied", "%s", s->lean ? "lean" : "full");
    add(l, "breaker", "stops tracing when it costs too much", "%s, opened %llu time%s",
        breaker_name(s->breaker.state), (unsigned long long)s->breaker.trips,
        s->breaker.trips == 1 ? "" : "s");
    if (k->known && k->limit_percent > 0) {
        add(l, "overhead", "share of the node's scheduler time", "%.2f%%, limit %.3g%%", k->percent,
            k->limit_percent);
    } else if (k->known) {
        add(l, "overhead", "tracing's share of the node's scheduler time", "%.2f%%", k->percent);
    }
    if (k->known) {
        format_us(k->call_ns / 1e3, text);
        add(l, "per call", "cost of a traced call, measured or assumed", "%s%s", text,
            k->assumed ? " (assumed)" : "");
    }
}

size_t internals_list(const struct snapshot *s, struct internal *out)
{
    struct list l = {.out = out};
    add_tracing(&l, s);
    add_events(&l, s);
    add_calls(&l, s);
    add_requests(&l, s);
    return l.n;
}

const char *internals_meaning(const char *label)
{
    static const struct snapshot none;
    struct internal list[INTERNALS_MAX];
    size_t n = internals_list(&none, list);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].label, label) == 0) {
            return list[i].meaning;
        }
    }
    return NULL;
}
