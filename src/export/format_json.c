#include <kprof/base/clock.h>
#include <kprof/base/json.h>
#include <kprof/export/field.h>
#include <kprof/export/formats.h>

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

static void session(struct json *j, const struct snapshot *s)
{
    key_u64(j, "schema", 1);
    key_bool(j, "final", s->final);
    key_str(j, "node", s->node.name);
    key_str(j, "otp", s->node.otp);
    key_f(j, "elapsed_s", s->elapsed_s, 3);
    key_f(j, "window_s", s->window_s, 3);
    key_bool(j, "tracing", s->node.tracing);
    key_str(j, "transport", s->node.transport);
    key_str(j, "returns", s->lean ? "lean" : "full");
    key_u64(j, "sample", s->sample);
    json_key(j, "breaker");
    json_obj(j);
    key_str(j, "state", breaker_name(s->breaker.state));
    key_u64(j, "trips", s->breaker.trips);
    key_str(j, "reason", s->breaker.reason[0] ? s->breaker.reason : NULL);
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

static void row(struct json *j, const struct snap_row *r)
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
        field_pid(t->pid, pid);
        json_obj(j);
        key_str(j, "tier", t->name);
        key_u64(j, "start_us", t->start_us);
        key_u64(j, "duration_us", t->duration_us);
        key_str(j, "pid", pid);
        key_bool(j, "error", t->error);
        json_obj_end(j);
    }
    json_arr_end(j);
}

static void slow(struct json *j, const struct snap_slow *w)
{
    char at[40], pid[FIELD_CELL_BYTES];
    clock_format_wall(w->wall_ns, at, sizeof at);
    field_pid(w->pid, pid);
    json_obj(j);
    key_str(j, "at", at);
    key_str(j, "tier", w->tier_name);
    key_str(j, "identity", w->ident);
    key_str(j, "pid", pid);
    key_f(j, "duration_us", w->duration_us, 3);
    key_u64(j, "request", w->request);
    if (w->request_us > 0)
        key_f(j, "request_us", w->request_us, 3);
    if (w->error)
        key_bool(j, "error", true);
    if (w->who)
        key_str(j, "who", w->who);
    if (w->args)
        key_str(j, "args", w->args);
    if (w->n_tiers > 0)
        slow_tiers(j, w);
    json_obj_end(j);
}

void format_json(struct buf *out, const struct snapshot *s)
{
    struct json j;
    json_init(&j, out);
    json_obj(&j);
    session(&j, s);
    counters(&j, s);
    odd(&j, s);
    json_key(&j, "rows");
    json_arr(&j);
    for (size_t i = 0; i < s->n_rows; i++)
        row(&j, &s->rows[i]);
    json_arr_end(&j);
    json_key(&j, "slow");
    json_arr(&j);
    for (size_t i = 0; i < s->n_slow; i++)
        slow(&j, &s->slow[i]);
    json_arr_end(&j);
    json_obj_end(&j);
    buf_addch(out, '\n');
}
