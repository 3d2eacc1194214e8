#include <kprof/base/clock.h>
#include <kprof/base/json.h>
#include <kprof/export/field.h>
#include <kprof/export/writers.h>

static void key_u64(struct json *j, const char *key, uint64_t v)
{
    json_key(j, key);
    json_u64(j, v);
}

static void key_f(struct json *j, const char *key, double v, int decimals)
{
    json_key(j, key);
    json_f(j, v, decimals);
}

static void key_str(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_str(j, s);
}

static void key_bool(struct json *j, const char *key, bool v)
{
    json_key(j, key);
    json_bool(j, v);
}

static void overhead(struct json *j, const struct snap_cost *k)
{
    json_key(j, "overhead");
    if (!k->known) {
        json_null(j);
        return;
    }
    json_obj(j);
    key_f(j, "percent", k->percent, 3);
    if (k->limit_percent > 0) {
        key_f(j, "limit", k->limit_percent, 2);
    } else {
        json_key(j, "limit");
        json_null(j);
    }
    key_f(j, "per_call_ns", k->call_ns, 0);
    key_bool(j, "assumed", k->assumed);
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

static void clock_of(struct json *j, const struct snap_clock *k)
{
    json_key(j, "clock");
    json_obj(j);
    key_known(j, "error_us", k->error_known, k->error_us, 1);
    key_known(j, "drift_ppm", k->drift_known, k->drift_ppm, 2);
    json_obj_end(j);
}

static void session(struct json *j, const struct snapshot *s)
{
    key_u64(j, "schema", 1);
    key_bool(j, "final", s->final);
    key_str(j, "node", s->node.name);
    key_str(j, "otp", s->node.otp);
    key_f(j, "elapsed_s", s->elapsed_s, 3);
    key_f(j, "window_s", s->window_s, 3);
    key_f(j, "gap_s", s->gap_s, 3);
    key_f(j, "counted_s", s->counted_s, 3);
    key_f(j, "oldest_event_age_ms", s->oldest_event_ms, 1);
    key_bool(j, "tracing", s->node.tracing);
    if (s->node.silent_s > 0)
        key_f(j, "silent_s", s->node.silent_s, 3);
    key_str(j, "transport", s->node.transport);
    key_str(j, "returns", s->lean ? "lean" : "full");
    if (s->compared[0])
        key_str(j, "compared", s->compared);
    key_u64(j, "sample", s->sample);
    key_u64(j, "sample_asked", s->sample_asked);
    key_str(j, "sample_why", s->sample_why ? sample_why_name(s->sample_why) : NULL);
    overhead(j, &s->cost);
    clock_of(j, &s->clock);
    json_key(j, "breaker");
    json_obj(j);
    key_str(j, "state", breaker_name(s->breaker.state));
    key_u64(j, "trips", s->breaker.trips);
    key_str(j, "reason", s->breaker.reason[0] ? s->breaker.reason : NULL);
    key_f(j, "next_s", s->breaker.next_try_s, 3);
    key_f(j, "pause_s", s->breaker.pause_s, 3);
    json_obj_end(j);
}

static void counters(struct json *j, const struct snapshot *s)
{
    json_key(j, "calls");
    json_obj(j);
    key_u64(j, "received", s->calls.received);
    key_u64(j, "aggregated", s->calls.aggregated);
    key_u64(j, "open", s->calls.open);
    key_u64(j, "expired", s->calls.expired);
    key_u64(j, "unattributed", s->calls.unattributed);
    json_obj_end(j);
    json_key(j, "lost");
    json_obj(j);
    key_u64(j, "target", s->lost.target);
    key_u64(j, "ring", s->lost.ring);
    json_obj_end(j);
    json_key(j, "requests");
    json_obj(j);
    key_u64(j, "started", s->requests.started);
    key_u64(j, "finished", s->requests.finished);
    key_u64(j, "open", s->requests.open);
    key_u64(j, "expired", s->requests.expired);
    json_obj_end(j);
}

/* Only when something odd happened. */
static void odd(struct json *j, const struct snapshot *s)
{
    if (!(s->odd.identities_folded | s->odd.pids_full | s->odd.requests_full | s->odd.bad_events |
          s->odd.late | s->odd.orphan_returns))
        return;
    json_key(j, "odd");
    json_obj(j);
    key_u64(j, "identities_folded", s->odd.identities_folded);
    key_u64(j, "pids_full", s->odd.pids_full);
    key_u64(j, "requests_full", s->odd.requests_full);
    key_u64(j, "bad_events", s->odd.bad_events);
    key_u64(j, "late", s->odd.late);
    key_u64(j, "orphan_returns", s->odd.orphan_returns);
    json_obj_end(j);
}

/* From and to: seconds before this object's time, to 0 when it goes on. */
static void gaps(struct json *j, const struct snapshot *s)
{
    json_key(j, "gaps");
    json_arr(j);
    for (size_t i = 0; i < s->n_gaps; i++) {
        json_obj(j);
        key_f(j, "from_s", s->gaps[i].from_s, 3);
        key_f(j, "to_s", s->gaps[i].to_s, 3);
        key_str(j, "reason", gap_name(s->gaps[i].reason));
        json_obj_end(j);
    }
    json_arr_end(j);
    json_key(j, "marks");
    json_arr(j);
    for (size_t i = 0; i < s->n_marks; i++) {
        char at[40];
        clock_format_wall(s->marks[i].wall_ns, at, sizeof at);
        json_obj(j);
        key_str(j, "at", at);
        key_f(j, "ago_s", s->marks[i].ago_s, 3);
        key_str(j, "reloaded", s->marks[i].module);
        json_obj_end(j);
    }
    json_arr_end(j);
}

static void row(struct json *j, const struct snap_row *r, bool compared)
{
    json_obj(j);
    key_str(j, "tier", r->tier_name);
    key_str(j, "identity", r->ident);
    for (const struct field *c = fields; c < fields + FIELDS; c++) {
        json_key(j, c->key);
        if (c->kind == FIELD_COUNT)
            json_u64(j, field_count(c, r));
        else
            json_f(j, field_value(c, r), field_decimals(c));
    }
    if (compared) {
        key_u64(j, "then_count", r->then_count);
        key_f(j, "d_rate", r->d_rate, 4);
        key_f(j, "d_p50", r->d_p50, 4);
        key_f(j, "d_p99", r->d_p99, 4);
    }
    if (r->note)
        key_str(j, "note", r->note);
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
        key_str(j, "tier", t->name);
        key_u64(j, "start_us", t->start_us);
        key_u64(j, "duration_us", t->duration_us);
        key_u64(j, "self_us", t->self_us);
        key_str(j, "pid", pid);
        key_bool(j, "error", t->error);
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
        key_str(j, "tier", w->sums[i].name);
        key_u64(j, "calls", w->sums[i].calls);
        key_f(j, "sum_us", w->sums[i].sum_us, 3);
        key_f(j, "self_us", w->sums[i].self_us, 3);
        json_obj_end(j);
    }
    json_arr_end(j);
}

/* node NULL: it is known from around */
static void slow(struct json *j, const struct snap_slow *w, const char *node)
{
    char at[40], pid[FIELD_CELL_BYTES];
    clock_format_wall(w->wall_ns, at, sizeof at);
    snapshot_pid(w->pid, pid);
    json_obj(j);
    key_str(j, "at", at);
    if (node)
        key_str(j, "node", node);
    key_str(j, "tier", w->tier_name);
    key_str(j, "identity", w->ident);
    key_str(j, "pid", pid);
    key_f(j, "duration_us", w->duration_us, 3);
    key_u64(j, "request", w->request);
    if (w->request_us > 0)
        key_f(j, "request_us", w->request_us, 3);
    if (w->error)
        key_bool(j, "error", true);
    if (w->exit)
        key_str(j, "reason", "exit");
    if (w->who)
        key_str(j, "who", w->who);
    if (w->args)
        key_str(j, "args", w->args);
    if (w->n_sums > 0)
        slow_sums(j, w);
    if (w->n_tiers > 0)
        slow_tiers(j, w);
    json_obj_end(j);
}

void export_json_slow(struct buf *out, const struct snap_slow *w, const char *node)
{
    struct json j;
    json_init(&j, out);
    slow(&j, w, node);
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
        key_str(j, "tier", o->tier_name);
        key_str(j, "identity", o->ident);
        key_str(j, "pid", pid);
        if (o->who)
            key_str(j, "who", o->who);
        key_f(j, "age_us", o->age_us, 3);
        json_obj_end(j);
    }
    json_arr_end(j);
}

void export_json(struct buf *out, const struct snapshot *s)
{
    struct json j;
    json_init(&j, out);
    json_obj(&j);
    session(&j, s);
    counters(&j, s);
    odd(&j, s);
    gaps(&j, s);
    json_key(&j, "rows");
    json_arr(&j);
    for (size_t i = 0; i < s->n_rows; i++)
        row(&j, &s->rows[i], s->compared[0] != 0);
    json_arr_end(&j);
    json_key(&j, "slow");
    json_arr(&j);
    for (size_t i = 0; i < s->n_slow; i++)
        slow(&j, &s->slow[i], NULL);
    json_arr_end(&j);
    open_calls(&j, s);
    json_obj_end(&j);
    buf_addch(out, '\n');
}
