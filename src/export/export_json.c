#include "json_events.h"
#include "json_parts.h"

#include <kprof/base/clock.h>
#include <kprof/base/json.h>
#include <kprof/core/why.h>
#include <kprof/export/field.h>
#include <kprof/export/writers.h>
#include <stddef.h>

/* ---- scalars of a snapshot: a table of their offsets ---- */

enum scalar_kind { SCALAR_U64, SCALAR_U32, SCALAR_DOUBLE, SCALAR_BOOL, SCALAR_TEXT, SCALAR_CHARS };
enum scalar_empty { PLAIN, OR_NULL, OR_NOTHING }; /* how 0 or "" is written */

struct scalar {
    const char *key;
    size_t at; /* in struct snapshot */
    uint8_t kind, decimals, empty;
};

#define KIND(member)                                                                               \
    _Generic(((struct snapshot *)0)->member,                                                       \
        uint64_t: SCALAR_U64,                                                                      \
        uint32_t: SCALAR_U32,                                                                      \
        double: SCALAR_DOUBLE,                                                                     \
        bool: SCALAR_BOOL,                                                                         \
        const char *: SCALAR_TEXT,                                                                 \
        char *: SCALAR_CHARS)
#define SCALAR(key, member, decimals, empty)                                                       \
    {                                                                                              \
        key, offsetof(struct snapshot, member), KIND(member), decimals, empty                      \
    }
#define COUNT_OF(object, member) SCALAR(#member, object.member, 0, PLAIN)
#define SCALARS(j, s, table)     scalars(j, s, table, sizeof(table) / sizeof *(table))

static void scalar(struct json *j, const void *at, const struct scalar *f)
{
    const char *text = f->kind == SCALAR_TEXT ? *(const char *const *)at : at;

    switch ((enum scalar_kind)f->kind) {
    case SCALAR_U64:
        json_key_u64(j, f->key, *(const uint64_t *)at);
        break;
    case SCALAR_U32:
        json_key_u64(j, f->key, *(const uint32_t *)at);
        break;
    case SCALAR_BOOL:
        json_key_bool(j, f->key, *(const bool *)at);
        break;
    case SCALAR_DOUBLE:
        if (f->empty == PLAIN || *(const double *)at > 0)
            json_key_f(j, f->key, *(const double *)at, f->decimals);
        break;
    case SCALAR_TEXT:
    case SCALAR_CHARS:
        if (f->empty == PLAIN || text[0])
            json_key_str(j, f->key, text);
        else if (f->empty == OR_NULL)
            json_key_str(j, f->key, NULL);
        break;
    }
}

static void scalars(struct json *j, const struct snapshot *s, const struct scalar *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        scalar(j, (const char *)s + f[i].at, &f[i]);
}

static const struct scalar run[] = {
    SCALAR("final", final, 0, PLAIN),
    SCALAR("node", node.name, 0, PLAIN),
    SCALAR("otp", node.otp, 0, PLAIN),
    SCALAR("elapsed_s", elapsed_s, 3, PLAIN),
    SCALAR("window_s", window_s, 3, PLAIN),
    SCALAR("gap_s", gap_s, 3, PLAIN),
    SCALAR("counted_s", counted_s, 3, PLAIN),
    SCALAR("oldest_event_age_ms", oldest_event_ms, 1, PLAIN),
    SCALAR("tracing", node.tracing, 0, PLAIN),
    SCALAR("silent_s", node.silent_s, 3, OR_NOTHING),
    SCALAR("transport", node.transport, 0, PLAIN),
    SCALAR("tls", node.tls, 0, OR_NOTHING),
};
static const struct scalar sampling[] = {
    SCALAR("compared", compared, 0, OR_NOTHING),
    SCALAR("sample", sample, 0, PLAIN),
    SCALAR("sample_asked", sample_asked, 0, PLAIN),
};
static const struct scalar breaker[] = {
    SCALAR("trips", breaker.trips, 0, PLAIN),
    SCALAR("reason", breaker.reason, 0, OR_NULL),
    SCALAR("next_s", breaker.next_try_s, 3, PLAIN),
    SCALAR("pause_s", breaker.pause_s, 3, PLAIN),
};
static const struct scalar calls[] = {
    COUNT_OF(calls, received), COUNT_OF(calls, aggregated),   COUNT_OF(calls, open),
    COUNT_OF(calls, expired),  COUNT_OF(calls, unattributed),
};
static const struct scalar lost[] = {COUNT_OF(lost, target), COUNT_OF(lost, ring)};
static const struct scalar requests[] = {
    COUNT_OF(requests, started),
    COUNT_OF(requests, finished),
    COUNT_OF(requests, open),
    COUNT_OF(requests, expired),
};
static const struct scalar anomalies[] = {
    COUNT_OF(anomalies, identities_folded),
    COUNT_OF(anomalies, pids_full),
    COUNT_OF(anomalies, requests_full),
    COUNT_OF(anomalies, bad_events),
    COUNT_OF(anomalies, late),
    COUNT_OF(anomalies, orphan_returns),
};

/* ---- the session ---- */

static void overhead(struct json *j, const struct snap_cost *k)
{
    json_key(j, "overhead");
    if (!k->known) {
        json_null(j);
        return;
    }
    json_obj(j);
    json_key_f(j, "percent", k->percent, 3);
    if (k->limit_percent > 0) {
        json_key_f(j, "limit", k->limit_percent, 2);
    } else {
        json_key(j, "limit");
        json_null(j);
    }
    json_key_f(j, "per_call_ns", k->call_ns, 0);
    json_key_bool(j, "assumed", k->assumed);
    json_obj_end(j);
}

static void key_known(struct json *j, const char *key, bool known, double v, int decimals)
{
    json_key(j, key);
    if (known)
        json_f(j, v, decimals);
    else
        json_null(j);
}

/* Nothing if it is not known. */
static void detail(struct json *j, const struct snap_detail *d)
{
    static const char *const states[] = {[DETAIL_OFF] = "off",
                                         [DETAIL_ON] = "on",
                                         [DETAIL_NOT_HERE] = "not on this VM",
                                         [DETAIL_NO_ENTRY] = "no entry"};
    if (d->state == DETAIL_NOT_KNOWN)
        return;
    json_key(j, "detail");
    json_obj(j);
    json_key_str(j, "state", states[d->state]);
    if (d->state == DETAIL_ON) {
        json_key_u64(j, "every", d->every);
        json_key_u64(j, "every_asked", d->every_asked);
    }
    if (d->why[0])
        json_key_str(j, "why", d->why);
    json_obj_end(j);
}

static void clock_of(struct json *j, const struct snap_clock *k)
{
    json_key(j, "clock");
    json_obj(j);
    key_known(j, "error_us", k->error_known, k->error_us, 1);
    key_known(j, "drift_ppm", k->drift_known, k->drift_ppm, 2);
    json_obj_end(j);
}

/* The window ends before now. */
static void time_range(struct json *j, const struct snapshot *s)
{
    char from[40], to[40];

    clock_format_wall(snapshot_wall_ns(s, s->time.from_s), from, sizeof from);
    clock_format_wall(snapshot_wall_ns(s, s->time.to_s), to, sizeof to);
    json_key(j, "range");
    json_obj(j);
    json_key_str(j, "from", from);
    json_key_str(j, "to", to);
    json_obj_end(j);
}

static void session(struct json *j, const struct snapshot *s)
{
    json_key_u64(j, "schema", 1);
    SCALARS(j, s, run);
    if (s->time.history)
        time_range(j, s);
    json_key_str(j, "returns", s->lean ? "lean" : "full");
    SCALARS(j, s, sampling);
    json_key_str(j, "sample_why", s->sample_why ? sample_why_name(s->sample_why) : NULL);
    overhead(j, &s->cost);
    detail(j, &s->detail);
    clock_of(j, &s->clock);
    json_key(j, "breaker");
    json_obj(j);
    json_key_str(j, "state", breaker_name(s->breaker.state));
    SCALARS(j, s, breaker);
    json_obj_end(j);
}

static void object(struct json *j, const struct snapshot *s, const char *key,
                   const struct scalar *f, size_t n)
{
    json_key(j, key);
    json_obj(j);
    scalars(j, s, f, n);
    json_obj_end(j);
}

static void counters(struct json *j, const struct snapshot *s)
{
    object(j, s, "calls", calls, sizeof calls / sizeof *calls);
    object(j, s, "lost", lost, sizeof lost / sizeof *lost);
    object(j, s, "requests", requests, sizeof requests / sizeof *requests);
    if (s->anomalies.identities_folded | s->anomalies.pids_full | s->anomalies.requests_full |
        s->anomalies.bad_events | s->anomalies.late |
        s->anomalies.orphan_returns) /* only when there is one */
        object(j, s, "odd", anomalies, sizeof anomalies / sizeof *anomalies);
}

/* From and to: seconds before the time of this object; to 0: the gap has not ended. */
static void gaps(struct json *j, const struct snapshot *s)
{
    json_key(j, "gaps");
    json_arr(j);
    for (size_t i = 0; i < s->n_gaps; i++) {
        json_obj(j);
        json_key_f(j, "from_s", s->gaps[i].from_s, 3);
        json_key_f(j, "to_s", s->gaps[i].to_s, 3);
        json_key_str(j, "reason", gap_name(s->gaps[i].reason));
        json_obj_end(j);
    }
    json_arr_end(j);
    json_key(j, "marks");
    json_arr(j);
    for (size_t i = 0; i < s->n_marks; i++) {
        char at[40];
        clock_format_wall(s->marks[i].wall_ns, at, sizeof at);
        json_obj(j);
        json_key_str(j, "at", at);
        json_key_f(j, "ago_s", s->marks[i].ago_s, 3);
        json_key_str(j, "reloaded", s->marks[i].module);
        json_obj_end(j);
    }
    json_arr_end(j);
}

static void row(struct json *j, const struct snap_row *r, bool compared)
{
    json_obj(j);
    json_key_str(j, "tier", r->tier_name);
    json_key_str(j, "identity", r->ident);
    if (!r->ident && r->tier_mfa)
        json_key_str(j, "function", r->tier_mfa);
    for (const struct field *c = fields; c < fields + FIELDS; c++) {
        json_key(j, c->key);
        if (c->kind == FIELD_COUNT)
            json_u64(j, field_count(c, r));
        else
            json_f(j, field_value(c, r), field_decimals(c));
    }
    if (compared) {
        json_key_u64(j, "then_count", r->then_count);
        json_key_f(j, "d_rate", r->d_rate, 4);
        json_key_f(j, "d_p50", r->d_p50, 4);
        json_key_f(j, "d_p99", r->d_p99, 4);
    }
    if (r->parts)
        json_parts_row(j, r->parts);
    if (r->note)
        json_key_str(j, "note", r->note);
    json_obj_end(j);
}

static void slow_tiers(struct json *j, const struct snap_slow *w)
{
    json_key(j, "tiers");
    json_arr(j);
    for (size_t i = 0; i < w->n_tiers; i++) {
        char pid[FIELD_CELL_BYTES];
        const struct snap_slow_tier *t = &w->tiers[i];
        snapshot_pid(t->pid, pid);
        json_obj(j);
        json_key_str(j, "tier", t->name);
        json_key_u64(j, "start_us", t->start_us);
        json_key_u64(j, "duration_us", t->duration_us);
        json_key_u64(j, "self_us", t->self_us);
        if (t->mailbox_known)
            json_key_u64(j, "mbox_us", t->mailbox_us);
        json_key_str(j, "pid", pid);
        json_key_bool(j, "error", t->error);
        json_obj_end(j);
    }
    json_arr_end(j);
}

static void slow_sums(struct json *j, const struct snap_slow *w)
{
    json_key(j, "sums");
    json_arr(j);
    for (size_t i = 0; i < w->n_sums; i++) {
        json_obj(j);
        json_key_str(j, "tier", w->sums[i].name);
        json_key_u64(j, "calls", w->sums[i].calls);
        json_key_f(j, "sum_us", w->sums[i].sum_us, 3);
        json_key_f(j, "self_us", w->sums[i].self_us, 3);
        json_obj_end(j);
    }
    json_arr_end(j);
}

/* The longest slow call of each tier. */
static void slow_tiers_of(struct json *j, const struct snap_slow *w)
{
    json_key(j, "slow_tiers");
    json_arr(j);
    for (size_t i = 0; i < w->n_calls; i++) {
        const struct snap_slow_call *f = &w->calls[i];
        char pid[FIELD_CELL_BYTES];
        snapshot_pid(f->pid, pid);
        json_obj(j);
        json_key_str(j, "tier", f->tier_name);
        json_key_u64(j, "calls", f->calls);
        json_key_f(j, "duration_us", f->duration_us, 3);
        json_key_str(j, "pid", pid);
        if (f->error)
            json_key_bool(j, "error", true);
        if (f->args)
            json_key_str(j, "args", f->args);
        json_obj_end(j);
    }
    json_arr_end(j);
}

/* The tier with the most self time of the request. */
static void slow_most_of(struct json *j, const struct snap_slow_sum *most)
{
    char pid[FIELD_CELL_BYTES];
    snapshot_pid(most->pid, pid);
    json_key(j, "most");
    json_obj(j);
    json_key_str(j, "tier", most->name);
    json_key_f(j, "self_us", most->self_us, 3);
    json_key_str(j, "pid", pid);
    if (most->who)
        json_key_str(j, "who", most->who);
    json_obj_end(j);
}

static void slow_places(struct json *j, const struct snap_slow *w)
{
    json_key_u64(j, "polls", w->polls);
    json_key(j, "hung_in");
    json_arr(j);
    for (size_t i = 0; i < w->n_places; i++) {
        json_obj(j);
        json_key_str(j, "place", w->places[i].text);
        json_key_str(j, "status", w->places[i].status);
        json_key_f(j, "share", w->places[i].share, 4);
        json_obj_end(j);
    }
    json_arr_end(j);
}

/* node NULL: the surrounding object has it */
static void slow(struct json *j, const struct snapshot *s, const struct snap_slow *w,
                 const char *node)
{
    char at[40], pid[FIELD_CELL_BYTES];
    clock_format_wall(w->wall_ns, at, sizeof at);
    snapshot_pid(w->pid, pid);
    json_obj(j);
    json_key_str(j, "at", at);
    if (node)
        json_key_str(j, "node", node);
    json_key_str(j, "tier", w->tier_name);
    json_key_str(j, "identity", w->ident);
    json_key_str(j, "pid", pid);
    json_key_f(j, "duration_us", w->duration_us, 3);
    json_key_u64(j, "request", w->request);
    if (w->request_us > 0)
        json_key_f(j, "request_us", w->request_us, 3);
    if (w->error)
        json_key_bool(j, "error", true);
    if (w->exit)
        json_key_str(j, "reason", "exit");
    if (w->who)
        json_key_str(j, "who", w->who);
    if (w->args)
        json_key_str(j, "args", w->args);
    json_key_u64(j, "slow_calls", w->n_slow);
    slow_tiers_of(j, w);
    if (slow_most(w))
        slow_most_of(j, slow_most(w));
    if (w->n_sums > 0)
        slow_sums(j, w);
    if (w->n_tiers > 0)
        slow_tiers(j, w);
    if (w->polls)
        slow_places(j, w);
    json_parts_calls(j, s, w);
    json_obj_end(j);
}

void export_json_slow(struct buf *out, const struct snapshot *s, const struct snap_slow *w,
                      const char *node)
{
    struct json j;
    json_init(&j, out);
    slow(&j, s, w, node);
    buf_addch(out, '\n');
}

static void open_calls(struct json *j, const struct snapshot *s)
{
    json_key(j, "open_calls");
    json_arr(j);
    for (size_t i = 0; i < s->n_open; i++) {
        char pid[FIELD_CELL_BYTES];
        const struct snap_open *o = &s->open[i];
        snapshot_pid(o->pid, pid);
        json_obj(j);
        json_key_str(j, "tier", o->tier_name);
        json_key_str(j, "identity", o->ident);
        json_key_str(j, "pid", pid);
        if (o->who)
            json_key_str(j, "who", o->who);
        json_key_f(j, "age_us", o->age_us, 3);
        json_obj_end(j);
    }
    json_arr_end(j);
}

static void proof(struct json *j, const struct snap_finding *w)
{
    char pid[FIELD_CELL_BYTES];

    json_key(j, "proof");
    json_obj(j);
    json_key_str(j, "screen", why_proof_name(w->proof));
    if (w->row) {
        json_key_str(j, "tier", w->row->tier_name);
        json_key_str(j, "identity", w->row->ident);
    }
    if (w->trace)
        json_key_u64(j, "trace", w->trace);
    if (w->pid) {
        snapshot_pid(w->pid, pid);
        json_key_str(j, "pid", pid);
    }
    json_obj_end(j);
}

static void findings(struct json *j, const struct snap_why *w)
{
    const struct why_rule_text *r;

    json_key(j, "why");
    json_arr(j);
    for (size_t i = 0; i < w->n; i++) {
        json_obj(j);
        json_key_str(j, "rule", w->of[i].rule);
        json_key_f(j, "score", w->of[i].score, 2);
        json_key_str(j, "text", w->of[i].text);
        proof(j, &w->of[i]);
        json_obj_end(j);
    }
    json_arr_end(j);
    json_key(j, "why_unknown");
    json_arr(j);
    for (size_t i = 0; (r = why_rule(i)); i++)
        if (why_missing(w, i) != MISSING_COUNT)
            json_str(j, r->name);
    json_arr_end(j);
    json_key(j, "why_missing");
    json_obj(j);
    for (size_t i = 0; (r = why_rule(i)); i++)
        if (why_missing(w, i) != MISSING_COUNT)
            json_key_str(j, r->name, why_missing_name(why_missing(w, i)));
    json_obj_end(j);
}

void export_json(struct buf *out, const struct snapshot *s)
{
    struct json j;
    json_init(&j, out);
    json_obj(&j);
    session(&j, s);
    counters(&j, s);
    gaps(&j, s);
    json_events(&j, s);
    json_key(&j, "rows");
    json_arr(&j);
    for (size_t i = 0; i < s->n_rows; i++)
        row(&j, &s->rows[i], s->compared[0] != 0);
    json_arr_end(&j);
    json_key(&j, "slow");
    json_arr(&j);
    for (size_t i = 0; i < s->n_slow; i++)
        slow(&j, s, &s->slow[i], NULL);
    json_arr_end(&j);
    open_calls(&j, s);
    if (s->why.there)
        findings(&j, &s->why);
    json_obj_end(&j);
    buf_addch(out, '\n');
}
