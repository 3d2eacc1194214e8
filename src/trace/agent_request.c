#include <kprof/trace/agent_request.h>

#include "agent_call.h"

#include <inttypes.h>
#include <kprof/erl/enc.h>
#include <stdio.h>
#include <string.h>

enum { POLLS = 64 }; /* of one answer */

static void enc_trace_config(struct buf *b, const struct trace_config *w)
{
    enc_map(b, 8);
    enc_atom(b, "tiers");
    if (w->n)
        enc_list(b, w->n);
    for (uint16_t i = 0; i < w->n; i++) {
        enc_tuple(b, 4);
        enc_u64(b, w->tier[i].ix);
        enc_atom(b, w->tier[i].mfa.module);
        enc_atom(b, w->tier[i].mfa.function);
        enc_i64(b, w->tier[i].mfa.arity);
    }
    enc_nil(b);
    enc_atom(b, "entry");
    if (w->entry == TRACE_CONFIG_NO_ENTRY)
        enc_atom(b, "none");
    else
        enc_u64(b, w->entry);
    enc_atom(b, "identity");
    if (w->identity[0])
        enc_str(b, w->identity);
    else
        enc_atom(b, "none");
    enc_atom(b, "returns");
    enc_atom(b, w->lean ? "lean" : "full");
    enc_atom(b, "sample");
    enc_u64(b, w->sample ? w->sample : 1);
    enc_atom(b, "detail");
    enc_u64(b, w->detail);
    enc_atom(b, "args");
    enc_atom(b, w->args ? "true" : "false");
    enc_atom(b, "mailbox");
    enc_atom(b, w->mailbox ? "true" : "false");
}

static bool read_matched(struct etf *c, struct agent_request_config *out)
{
    uint32_t n, arity;

    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct agent_request_tier t = {0};
        uint64_t ix;
        if (!etf_tuple(c, &arity) || arity != 3 || !etf_u64(c, &ix) || !etf_u64(c, &t.matched))
            return false;
        etf_text(c, t.note, sizeof t.note);
        t.ix = (uint16_t)ix;
        if (out->n < EVENT_TIERS && ix < EVENT_TIERS)
            out->tier[out->n++] = t;
    }
    return !c->bad;
}

int agent_request_config(struct session *s, const struct trace_config *w,
                         struct agent_request_config *out, struct err *e)
{
    struct agent_call q;
    uint32_t arity;
    int rc;

    memset(out, 0, sizeof *out);
    agent_call_begin(&q, "config");
    enc_trace_config(&q.request, w);
    rc = agent_call_send(&q, s, e);
    if (rc < 0)
        goto out;
    rc = 0;
    if (!etf_tuple(&q.c, &arity))
        rc = agent_call_unreadable("config", e);
    else if (arity == 2 && etf_is_atom(&q.c, "ok"))
        rc = read_matched(&q.c, out) ? 0 : agent_call_unreadable("config", e);
    else if (arity == 3 && etf_is_atom(&q.c, "error")) {
        out->rule_refused = etf_is_atom(&q.c, "identity");
        if (!out->rule_refused) /* not supported on this VM */
            etf_skip(&q.c);
        etf_text(&q.c, out->rule_error, sizeof out->rule_error);
        if (!out->rule_refused)
            rc = err_set(e, "cannot trace: %.400s", out->rule_error);
    } else
        rc = agent_call_unreadable("config", e);
out:
    agent_call_end(&q);
    return rc;
}

int agent_request_tracing(struct session *s, bool on, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "tracing");
    enc_atom(&q.request, on ? "true" : "false");
    return agent_call_done(&q, s, e);
}

int agent_request_sample(struct session *s, uint32_t n, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "sample");
    enc_u64(&q.request, n ? n : 1);
    return agent_call_done(&q, s, e);
}

int agent_request_limits(struct session *s, const struct trace_config *w, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "limits");
    enc_map(&q.request, 7);
    enc_atom(&q.request, "part_ms");
    enc_u64(&q.request, w->part_ms);
    enc_atom(&q.request, "part_assumed");
    enc_u64(&q.request, w->part_assumed);
    enc_atom(&q.request, "part_cost");
    enc_u64(&q.request, w->part_cost_ppm);
    enc_atom(&q.request, "max_age_ms");
    enc_u64(&q.request, w->max_age_ms);
    enc_atom(&q.request, "max_rate");
    enc_u64(&q.request, w->max_rate);
    enc_atom(&q.request, "max_cost");
    enc_u64(&q.request, w->max_cost_ppm);
    enc_atom(&q.request, "cooldown_ms");
    enc_u64(&q.request, w->cooldown_ms);
    return agent_call_done(&q, s, e);
}

int agent_request_trip(struct session *s, const char *why, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "trip");
    enc_str(&q.request, why);
    return agent_call_done(&q, s, e);
}

bool agent_request_trip_urged(struct session *s, const char *why)
{
    struct agent_call q;

    agent_call_begin(&q, "trip");
    enc_str(&q.request, why);
    bool takes = session_request_urgent(s, &q.request);
    agent_call_end(&q);
    return takes;
}

int agent_request_ping(struct session *s, uint64_t age_ms, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "ping");
    enc_u64(&q.request, age_ms);
    return agent_call_done(&q, s, e);
}

int agent_request_why(struct session *s, uint16_t ix, struct agent_request_called *out,
                      struct err *e)
{
    struct agent_call q;
    uint32_t arity;
    int rc;

    memset(out, 0, sizeof *out);
    agent_call_begin(&q, "why");
    enc_u64(&q.request, ix);
    rc = agent_call_send(&q, s, e);
    if (rc == 0) {
        if (etf_is_atom(&q.c, "nofunction"))
            out->no_function = true;
        else if ((!agent_call_reason(&q, out->held, sizeof out->held) || !out->held[0]) &&
                 (!etf_tuple(&q.c, &arity) || arity != 4 || !etf_is_atom(&q.c, "called") ||
                  !etf_u64(&q.c, &out->called) || !etf_u64(&q.c, &out->in_request) ||
                  !etf_u64(&q.c, &out->outside)))
            rc = agent_call_unreadable("why", e);
    }
    agent_call_end(&q);
    return rc;
}

/* A pid is sent as two numbers: node and creation are those of the node. */
static void enc_pids(struct buf *request, const uint64_t *pids, size_t n)
{
    if (n)
        enc_list(request, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        enc_tuple(request, 2);
        enc_u64(request, pids[i] & UINT32_MAX);
        enc_u64(request, pids[i] >> 32);
    }
    enc_nil(request);
}

int agent_request_dead(struct session *s, const uint64_t *pids, size_t n, uint64_t *dead,
                       size_t *n_dead, struct err *e)
{
    struct agent_call q;
    uint32_t got;
    int rc;

    *n_dead = 0;
    if (n > AGENT_REQUEST_PIDS)
        n = AGENT_REQUEST_PIDS;
    agent_call_begin(&q, "alive");
    enc_pids(&q.request, pids, n);
    rc = agent_call_send(&q, s, e);
    if (rc == 0) {
        if (!etf_list(&q.c, &got) || got > n)
            rc = agent_call_unreadable("alive", e);
        for (uint32_t i = 0; rc == 0 && i < got; i++) {
            uint64_t id, serial;
            uint32_t arity;
            if (!etf_tuple(&q.c, &arity) || arity != 2 || !etf_u64(&q.c, &id) ||
                !etf_u64(&q.c, &serial))
                rc = agent_call_unreadable("alive", e);
            else
                dead[(*n_dead)++] = serial << 32 | (id & UINT32_MAX);
        }
    }
    agent_call_end(&q);
    return rc;
}

/* Texts of the node may contain newlines, which would add lines. */
static void add_line(struct buf *lines, struct etf *c, size_t cap)
{
    char text[AGENT_REQUEST_NOTE_BYTES];
    etf_text(c, text, cap);
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = ' ';
    buf_addf(lines, "%s\n", text);
}

int agent_request_who(struct session *s, const uint64_t *pids, size_t n, struct buf *lines,
                      struct err *e)
{
    struct agent_call q;
    uint32_t got, arity;
    int rc;

    if (n > AGENT_REQUEST_PIDS)
        n = AGENT_REQUEST_PIDS;
    agent_call_begin(&q, "who");
    enc_pids(&q.request, pids, n);
    rc = agent_call_send(&q, s, e);
    if (rc == 0 && (!etf_list(&q.c, &got) || got != n))
        rc = agent_call_unreadable("who", e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!etf_tuple(&q.c, &arity) || arity != 3 || !etf_skip(&q.c) || !etf_skip(&q.c))
            rc = agent_call_unreadable("who", e);
        add_line(lines, &q.c, AGENT_REQUEST_WHO_BYTES);
    }
    agent_call_end(&q);
    return rc;
}

static bool add_poll(struct buf *lines, struct etf *c)
{
    uint64_t index, after_us, status;
    uint32_t arity;

    if (!etf_tuple(c, &arity) || arity != 4 || !etf_u64(c, &index) || !etf_u64(c, &after_us) ||
        !etf_u64(c, &status))
        return false;
    buf_addf(lines, "%" PRIu64 " %" PRIu64 " %" PRIu64 " ", index, after_us, status);
    add_line(lines, c, AGENT_REQUEST_NOTE_BYTES);
    return !c->bad;
}

bool agent_request_polls(struct etf *c, struct buf *lines)
{
    uint64_t total_us;
    uint32_t got, arity;

    if (!etf_tuple(c, &arity) || arity != 2 || !etf_u64(c, &total_us) || !etf_list(c, &got) ||
        got > POLLS)
        return false;
    buf_addf(lines, "%" PRIu64 "\n", total_us);
    for (uint32_t i = 0; i < got; i++)
        if (!add_poll(lines, c))
            return false;
    return true;
}

int agent_request_hang(struct session *s, const uint64_t *pids, size_t n, struct buf *lines,
                       struct err *e)
{
    struct agent_call q;
    int rc;

    agent_call_begin(&q, "hang");
    enc_pids(&q.request, pids, n < AGENT_REQUEST_HANG ? n : AGENT_REQUEST_HANG);
    rc = agent_call_send(&q, s, e);
    if (rc == 0 && !agent_request_polls(&q.c, lines))
        rc = agent_call_unreadable("hang", e);
    agent_call_end(&q);
    return rc;
}

int agent_request_queue(struct session *s, const char *name, int64_t *length, struct err *e)
{
    struct agent_call q;
    int rc;

    agent_call_begin(&q, "queue");
    enc_str(&q.request, name);
    rc = agent_call_send(&q, s, e);
    if (rc == 0 && !etf_i64(&q.c, length))
        rc = agent_call_unreadable("queue", e);
    agent_call_end(&q);
    return rc;
}

int agent_request_stack(struct session *s, uint64_t pid, struct buf *lines, bool *dead,
                        struct err *e)
{
    struct agent_call q;
    uint32_t got;
    int rc;

    *dead = false;
    agent_call_begin(&q, "stack");
    enc_tuple(&q.request, 2);
    enc_u64(&q.request, pid & UINT32_MAX);
    enc_u64(&q.request, pid >> 32);
    rc = agent_call_send(&q, s, e);
    if (rc == 0 && etf_is_atom(&q.c, "dead"))
        *dead = true;
    else if (rc == 0 && (!etf_list(&q.c, &got) || got > AGENT_REQUEST_FRAMES))
        rc = agent_call_unreadable("stack", e);
    for (uint32_t i = 0; rc == 0 && !*dead && i < got; i++)
        add_line(lines, &q.c, AGENT_REQUEST_NOTE_BYTES);
    if (rc == 0 && q.c.bad)
        rc = agent_call_unreadable("stack", e);
    agent_call_end(&q);
    return rc;
}
