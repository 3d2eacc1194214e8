#include "json_parts.h"

#include <kprof/core/call_parts.h>
#include <kprof/export/part_field.h>
#include <stdio.h>

void json_parts_row(struct json *j, const struct time_part_view *v)
{
    json_key(j, "parts");
    json_obj(j);
    json_key_u64(j, "calls", v->calls);
    json_key_f(j, "mean_us", part_field_mean(v), 3);
    json_key_f(j, "slow_from_us", v->slow_from_us, 3);
    for (int p = 0; p < PART_COUNT; p++) {
        json_key(j, part_field_key((enum time_part)p));
        json_obj(j);
        for (const struct part_field *f = part_fields; f < part_fields + PART_FIELDS; f++)
            json_key_f(j, f->key, part_field_value(f, v, (enum time_part)p), f->decimals);
        json_obj_end(j);
    }
    json_obj_end(j);
}

/* ---- the calls of a slow request ---- */

struct subject {
    const struct snapshot *s;
    const struct slow_trace_request *r;
};

static void key_pid(struct json *j, uint64_t pid)
{
    char text[SNAPSHOT_PID_BYTES];
    snapshot_pid(pid, text);
    json_key_str(j, "pid", text);
}

static void key_tier(struct json *j, const struct snapshot *s, const struct slow_trace_call *c)
{
    json_key_str(j, "tier", c->tier < s->n_tier_names ? s->tier_names[c->tier] : NULL);
}

/* Times from the start of the request. */
static void piece(struct json *j, const struct subject *of, const struct time_part_piece *p)
{
    const char *what = call_parts_what(of->r, p);
    json_obj(j);
    json_key_str(j, "part", part_field_key(call_parts_part(p)));
    json_key_f(j, "from_us", (double)(int64_t)(p->from_ns - of->r->start_ns) / 1e3, 3);
    json_key_f(j, "duration_us", (double)(p->to_ns - p->from_ns) / 1e3, 3);
    if (what)
        json_key_str(j, "what", what);
    if (p->other) {
        const char *who = snapshot_slow_who(of->s, of->r->id, p->other);
        const struct slow_trace_call *callee = call_parts_callee(of->r, p->other, p->from_ns);
        key_pid(j, p->other);
        if (who)
            json_key_str(j, "who", who);
        if (callee)
            key_tier(j, of->s, callee);
    }
    if (p->queue)
        json_key_u64(j, "queue", p->queue - 1);
    json_obj_end(j);
}

static void call_of(struct json *j, const struct subject *of, uint32_t i)
{
    const struct slow_trace_call *c = &of->r->call[i];
    const struct time_part_piece *p;
    struct time_parts sum;
    size_t n = call_parts_pieces(of->r, i, &p);

    call_parts_sum(of->r, i, &sum);
    json_obj(j);
    key_tier(j, of->s, c);
    json_key_f(j, "start_us", (double)(int64_t)(c->start_ns - of->r->start_ns) / 1e3, 3);
    key_pid(j, c->pid);
    for (int k = 0; k < PART_COUNT; k++) {
        char key[32];
        snprintf(key, sizeof key, "%s_us", part_field_key((enum time_part)k));
        json_key_f(j, key, (double)sum.ns[k] / 1e3, 3);
    }
    json_key(j, "pieces");
    json_arr(j);
    for (size_t k = 0; k < n; k++)
        piece(j, of, &p[k]);
    json_arr_end(j);
    json_obj_end(j);
}

void json_parts_calls(struct json *j, const struct snapshot *s, const struct snap_slow *w)
{
    struct subject of = {.s = s};
    const struct time_part_piece *p;

    for (size_t i = 0; i < s->n_slow_traces && w->trace; i++)
        if (s->slow_traces[i].request->id == w->trace)
            of.r = s->slow_traces[i].request;
    if (!of.r || of.r->n_pieces == 0)
        return;
    json_key(j, "call_parts");
    json_arr(j);
    for (uint32_t i = 0; i < of.r->n; i++)
        if (call_parts_pieces(of.r, i, &p) > 0)
            call_of(j, &of, i);
    json_arr_end(j);
}
