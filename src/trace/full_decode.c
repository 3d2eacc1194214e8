#include <kprof/trace/full_decode.h>

#include <inttypes.h>
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/erl/etf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX     65536u
#define PROCESSES_MAX CALL_TREE_PROCESSES_MAX
#define EVENTS_MAX    65536u

struct full_decoder {
    struct call_tree *tree;
    struct stack_profile *profile;
    uint32_t *frame; /* by the agent's number of a function */
    uint64_t base_ns, seq;
    int64_t base;
    struct full_figures fig;
    struct full_decode_counts counts;
};

struct full_decoder *full_decoder_new(struct call_tree *t, struct stack_profile *p)
{
    struct full_decoder *d = calloc(1, sizeof *d);

    if (!d || !(d->frame = calloc(NAMES_MAX, sizeof *d->frame)))
        abort();
    d->tree = t;
    d->profile = p;
    return d;
}

void full_decoder_free(struct full_decoder *d)
{
    if (!d)
        return;
    free(d->frame);
    free(d);
}

const struct full_figures *full_decoder_figures(const struct full_decoder *d)
{
    return &d->fig;
}

const struct full_decode_counts *full_decoder_counts(const struct full_decoder *d)
{
    return &d->counts;
}

/* ---- figures ---- */

static const struct figure {
    const char *name;
    size_t at;
} figures[] = {
#define FIGURE(f)                                                                                  \
    {                                                                                              \
#f, offsetof(struct full_figures, f)                                                       \
    }
    FIGURE(functions),  FIGURE(budget),   FIGURE(events), FIGURE(total),
    FIGURE(dropped),    FIGURE(requests), FIGURE(calls),  FIGURE(counted),
    FIGURE(slowest_ns), FIGURE(set_ms),   FIGURE(off_us),
#undef FIGURE
};

static bool is(const char *name, const char *k, size_t n)
{
    return strlen(name) == n && memcmp(name, k, n) == 0;
}

static void take_figure(struct full_decoder *d, const char *k, size_t n, int64_t v)
{
    struct full_figures *f = &d->fig;
    uint64_t u = v > 0 ? (uint64_t)v : 0;

    if (is("base", k, n))
        d->base = v;
    else if (is("phase", k, n))
        f->phase = u <= FULL_SENDING ? (enum full_phase)u : FULL_BEGUN;
    else if (is("reason", k, n))
        f->reason = u < FULL_REASONS ? (enum full_reason)u : FULL_REFUSED;
    else if (is("waits", k, n))
        f->waits = u != 0;
    else if (is("gc", k, n))
        f->gc = u != 0;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (is(figures[i].name, k, n))
            *(uint64_t *)((char *)f + figures[i].at) = u;
}

static bool read_figures(struct full_decoder *d, struct etf *c)
{
    uint32_t pairs;

    if (!etf_map(c, &pairs))
        return false;
    for (uint32_t i = 0; i < pairs && !c->bad; i++) {
        const char *k;
        size_t n;
        int64_t v;
        if (!etf_atom(c, &k, &n))
            return false;
        struct etf value = *c;
        if (etf_i64(&value, &v))
            take_figure(d, k, n, v);
        etf_skip(c);
    }
    return !c->bad;
}

/* ---- names ---- */

static bool read_atom(struct full_decoder *d, struct etf *c, uint32_t *text)
{
    const char *s;
    size_t n;

    if (!etf_atom(c, &s, &n))
        return false;
    *text = stack_profile_text(d->profile, s, n);
    return true;
}

/* {M, F, A}; another term (undefined, 0, the word of a garbage collection): no frame */
static bool read_call(struct full_decoder *d, struct etf *c, uint32_t *frame)
{
    struct etf look = *c;
    struct stack_frame f = {0};
    uint32_t n;
    uint64_t arity;

    *frame = 0;
    if (!etf_tuple(&look, &n))
        return etf_skip(c);
    if (n != 3 || !read_atom(d, &look, &f.module) || !read_atom(d, &look, &f.function) ||
        !etf_u64(&look, &arity) || arity >= STACK_NO_ARITY)
        return false;
    f.arity = (uint32_t)arity;
    *frame = stack_profile_frame(d->profile, &f);
    *c = look;
    return true;
}

/* {Number, MFA} */
static bool read_name(struct full_decoder *d, struct etf *c)
{
    uint64_t number;
    uint32_t n, frame;

    if (!etf_tuple(c, &n) || n != 2 || !etf_u64(c, &number) || !read_call(d, c, &frame))
        return false;
    if (number < NAMES_MAX)
        d->frame[number] = frame;
    return true;
}

/* {Number, Pid, Name | 0, FirstCall | 0} */
static bool read_process(struct full_decoder *d, struct etf *c)
{
    uint64_t number, pid;
    uint32_t n, name = 0, first;

    if (!etf_tuple(c, &n) || n != 4 || !etf_u64(c, &number) || !etf_pid(c, &pid))
        return false;
    struct etf look = *c;
    if (read_atom(d, &look, &name))
        *c = look;
    else if (!etf_skip(c))
        return false;
    if (!read_call(d, c, &first))
        return false;
    if (number < PROCESSES_MAX)
        call_tree_process(d->tree, (uint32_t)number, pid, name, first);
    return true;
}

/* ---- events ---- */

/* {Process, Kind, A, B, Native since base} */
static bool read_event(struct full_decoder *d, struct etf *c, const struct node_clock *k)
{
    struct call_event ev;
    uint64_t process, kind, a, b;
    int64_t at;
    uint32_t n;

    if (!etf_tuple(c, &n) || n != 5 || !etf_u64(c, &process) || !etf_u64(c, &kind) ||
        !etf_u64(c, &a) || !etf_u64(c, &b) || !etf_i64(c, &at))
        return false;
    ev.time_ns = node_clock_ns(k, (int64_t)((uint64_t)d->base + (uint64_t)at));
    ev.process = process < PROCESSES_MAX ? (uint32_t)process : PROCESSES_MAX;
    ev.kind = kind < CALL_EVENT_KINDS ? (enum call_event_kind)kind : CALL_EVENT_KINDS;
    ev.function = a < NAMES_MAX ? d->frame[a] : 0;
    ev.caller = b < NAMES_MAX ? d->frame[b] : 0;
    call_tree_add(d->tree, &ev);
    return true;
}

/* ---- a message ---- */

static bool each(struct full_decoder *d, struct etf *c,
                 bool (*read)(struct full_decoder *, struct etf *))
{
    uint32_t n;

    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!read(d, c))
            return false;
    return n == 0 || etf_nil(c);
}

static bool read_events(struct full_decoder *d, struct etf *c, const struct node_clock *k)
{
    uint32_t n;

    if (!etf_list(c, &n) || n > EVENTS_MAX)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!read_event(d, c, k))
            return false;
    return n == 0 || etf_nil(c);
}

static bool head(struct etf *c, const void *bytes, size_t n)
{
    uint32_t arity;

    etf_init(c, bytes, n);
    return etf_version(c) && etf_tuple(c, &arity) && arity == 7 && etf_is_atom(c, "kf");
}

bool full_decoder_is(const void *bytes, size_t n)
{
    struct etf c;

    return head(&c, bytes, n);
}

uint64_t full_decoder_id(const void *bytes, size_t n)
{
    uint64_t id = 0;
    uint32_t pairs;
    struct etf c;

    if (!head(&c, bytes, n) || !etf_skip(&c) || !etf_skip(&c) || !etf_map(&c, &pairs))
        return 0;
    for (uint32_t i = 0; i < pairs && !c.bad; i++) {
        bool found = etf_is_atom(&c, "id");
        if (found)
            return etf_u64(&c, &id) ? id : 0;
        etf_skip(&c);
        etf_skip(&c);
    }
    return 0;
}

bool full_decoder_feed(struct full_decoder *d, const void *bytes, size_t n,
                       const struct node_clock *clock)
{
    struct etf c;
    uint64_t seq;
    int64_t native;

    if (!head(&c, bytes, n) || !etf_u64(&c, &seq) || !etf_i64(&c, &native))
        goto bad;
    if (seq > d->seq + 1)
        d->counts.missing += seq - d->seq - 1;
    d->seq = seq;
    d->counts.messages++;
    if (read_figures(d, &c) && each(d, &c, read_name) && each(d, &c, read_process) &&
        read_events(d, &c, clock))
        return true;
bad:
    d->counts.bad++;
    return false;
}

/* ---- the result as text ---- */

static void say_none(const struct full_figures *f, const char *what, char *out, size_t n)
{
    char longest[FORMAT_BYTES];

    if (f->requests) {
        clock_format_ns(f->slowest_ns, longest, sizeof longest);
        snprintf(out, n,
                 "%" PRIu64 " requests of %s were traced, and none matched: the slowest took %s",
                 f->requests, what, longest);
    } else if (f->counted) {
        snprintf(out, n, "%s was called %" PRIu64 " times, and no call matched", what, f->calls);
    } else {
        snprintf(out, n, "no call of %s matched", what);
    }
}

/* slowest_ns is of the requests that have ended and were not kept. */
static void say_canceled(const struct full_figures *f, const char *what, char *out, size_t n)
{
    char longest[FORMAT_BYTES];
    int at = snprintf(out, n, "the full trace was canceled");

    if (f->events)
        at += snprintf(out + at, n - (size_t)at, "; %" PRIu64 " events of %s until then", f->events,
                       what);
    if (f->slowest_ns && at > 0 && (size_t)at < n) {
        clock_format_ns(f->slowest_ns, longest, sizeof longest);
        snprintf(out + at, n - (size_t)at, "; no earlier request matched: the slowest took %s",
                 longest);
    }
}

static const char *fixed(enum full_reason r)
{
    switch (r) {
    case FULL_BREAKER:
        return "the breaker opened, so the full trace ended";
    case FULL_LEASE:
        return "the node received nothing from kprof-top, so the full trace ended";
    case FULL_RUN_QUEUE:
        return "the node's run queue was long, so the full trace ended";
    case FULL_BEHIND:
        return "there were more events than the agent can store, so the full trace ended";
    case FULL_DIED:
        return "the process ended, so the full trace ended";
    case FULL_REFUSED:
        return "the node refused the pattern";
    case FULL_CODE_SERVER:
        return "the node's code server did not answer within 5 s, so there is no full trace";
    case FULL_NO_FUNCTION:
        return "the pattern matched nothing: no loaded module has such a name; see --full-calls";
    default:
        return "the full trace has not ended";
    }
}

static void say_phase(const struct full_figures *f, const char *what, char *out, size_t n)
{
    if (f->phase == FULL_WAITING)
        snprintf(out, n, "waiting for a request of %s; traced so far: %" PRIu64, what, f->requests);
    else if (f->phase == FULL_RUNNING)
        snprintf(out, n, "tracing %s: %" PRIu64 " of %" PRIu64 " events", what, f->events,
                 f->budget);
    else if (f->phase == FULL_SENDING)
        snprintf(out, n, "receiving the events of %s", what);
    else
        snprintf(out, n, "preparing %" PRIu64 " functions", f->functions);
}

void full_figures_say(const struct full_figures *f, const char *what, char *out, size_t n)
{
    switch (f->reason) {
    case FULL_NOT_ENDED:
        say_phase(f, what, out, n);
        break;
    case FULL_DONE:
        snprintf(out, n, "%s: %" PRIu64 " events", what, f->events);
        break;
    case FULL_TIME:
        snprintf(out, n, "%s: %" PRIu64 " events until the time limit", what, f->events);
        break;
    case FULL_BUDGET:
        snprintf(out, n,
                 "%s: the trace ended at its limit of %" PRIu64 " events; see --full-events", what,
                 f->budget);
        break;
    case FULL_CANCELED:
        say_canceled(f, what, out, n);
        break;
    case FULL_NO_CALL:
        snprintf(out, n, "no request came: %s was not called", what);
        break;
    case FULL_NONE_MATCHED:
        say_none(f, what, out, n);
        break;
    case FULL_TOO_MANY:
        snprintf(out, n,
                 "%" PRIu64 " functions are more than the limit; choose modules or applications "
                 "with --full-calls",
                 f->functions);
        break;
    default:
        snprintf(out, n, "%s", fixed(f->reason));
        break;
    }
}
