#include <kprof/trace/ask.h>

#include <kprof/erl/enc.h>
#include <kprof/trace/query.h>
#include <stdio.h>
#include <string.h>

static void enc_wish(struct buf *b, const struct wish *w)
{
    enc_map(b, 6);
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
    if (w->entry == WISH_NO_ENTRY)
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
    enc_atom(b, "args");
    enc_atom(b, w->args ? "true" : "false");
}

static bool read_matched(struct etf *c, struct ask_config *out)
{
    uint32_t n, arity;

    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct ask_tier t = {0};
        uint64_t ix;
        if (!etf_tuple(c, &arity) || arity != 3 || !etf_u64(c, &ix) || !etf_u64(c, &t.matched))
            return false;
        query_text(c, t.note, sizeof t.note);
        t.ix = (uint16_t)ix;
        if (out->n < EVENT_TIERS && ix < EVENT_TIERS)
            out->tier[out->n++] = t;
    }
    return !c->bad;
}

int ask_config(struct session *s, const struct wish *w, struct ask_config *out, struct err *e)
{
    struct query q;
    uint32_t arity;
    int rc;

    memset(out, 0, sizeof *out);
    query_begin(&q, "config");
    enc_wish(&q.ask, w);
    rc = query_send(&q, s, e);
    if (rc < 0)
        goto out;
    rc = 0;
    if (!etf_tuple(&q.c, &arity))
        rc = query_odd("config", e);
    else if (arity == 2 && etf_is_atom(&q.c, "ok"))
        rc = read_matched(&q.c, out) ? 0 : query_odd("config", e);
    else if (arity == 3 && etf_is_atom(&q.c, "error")) {
        out->rule_refused = etf_is_atom(&q.c, "identity");
        if (!out->rule_refused) /* something that this VM cannot bear */
            etf_skip(&q.c);
        query_text(&q.c, out->rule_error, sizeof out->rule_error);
        if (!out->rule_refused)
            rc = err_set(e, "cannot trace: %.400s", out->rule_error);
    } else
        rc = query_odd("config", e);
out:
    query_end(&q);
    return rc;
}

int ask_tracing(struct session *s, bool on, struct err *e)
{
    struct query q;

    query_begin(&q, "tracing");
    enc_atom(&q.ask, on ? "true" : "false");
    return query_done(&q, s, e);
}

int ask_sample(struct session *s, uint32_t n, struct err *e)
{
    struct query q;

    query_begin(&q, "sample");
    enc_u64(&q.ask, n ? n : 1);
    return query_done(&q, s, e);
}

int ask_limits(struct session *s, const struct wish *w, struct err *e)
{
    struct query q;

    query_begin(&q, "limits");
    enc_map(&q.ask, 4);
    enc_atom(&q.ask, "max_age_ms");
    enc_u64(&q.ask, w->max_age_ms);
    enc_atom(&q.ask, "max_rate");
    enc_u64(&q.ask, w->max_rate);
    enc_atom(&q.ask, "max_cost");
    enc_u64(&q.ask, w->max_cost_ppm);
    enc_atom(&q.ask, "cooldown_ms");
    enc_u64(&q.ask, w->cooldown_ms);
    return query_done(&q, s, e);
}

int ask_trip(struct session *s, const char *why, struct err *e)
{
    struct query q;

    query_begin(&q, "trip");
    enc_str(&q.ask, why);
    return query_done(&q, s, e);
}

bool ask_trip_urged(struct session *s, const char *why)
{
    struct query q;

    query_begin(&q, "trip");
    enc_str(&q.ask, why);
    bool takes = session_urge(s, &q.ask);
    query_end(&q);
    return takes;
}

int ask_ping(struct session *s, uint64_t age_ms, struct err *e)
{
    struct query q;

    query_begin(&q, "ping");
    enc_u64(&q.ask, age_ms);
    return query_done(&q, s, e);
}

int ask_why(struct session *s, uint16_t ix, struct ask_called *out, struct err *e)
{
    struct query q;
    uint32_t arity;
    int rc;

    memset(out, 0, sizeof *out);
    query_begin(&q, "why");
    enc_u64(&q.ask, ix);
    rc = query_send(&q, s, e);
    if (rc == 0) {
        if (etf_is_atom(&q.c, "nofunction"))
            out->no_function = true;
        else if (!etf_tuple(&q.c, &arity) || arity != 4 || !etf_is_atom(&q.c, "called") ||
                 !etf_u64(&q.c, &out->called) || !etf_u64(&q.c, &out->in_request) ||
                 !etf_u64(&q.c, &out->outside))
            rc = query_odd("why", e);
    }
    query_end(&q);
    return rc;
}

/* Pids go as two numbers: node and creation are the target's own. */
static void enc_pids(struct buf *ask, const uint64_t *pids, size_t n)
{
    if (n)
        enc_list(ask, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        enc_tuple(ask, 2);
        enc_u64(ask, pids[i] & UINT32_MAX);
        enc_u64(ask, pids[i] >> 32);
    }
    enc_nil(ask);
}

int ask_dead(struct session *s, const uint64_t *pids, size_t n, uint64_t *dead, size_t *n_dead,
             struct err *e)
{
    struct query q;
    uint32_t got;
    int rc;

    *n_dead = 0;
    if (n > ASK_PIDS)
        n = ASK_PIDS;
    query_begin(&q, "alive");
    enc_pids(&q.ask, pids, n);
    rc = query_send(&q, s, e);
    if (rc == 0) {
        if (!etf_list(&q.c, &got) || got > n)
            rc = query_odd("alive", e);
        for (uint32_t i = 0; rc == 0 && i < got; i++) {
            uint64_t id, serial;
            uint32_t arity;
            if (!etf_tuple(&q.c, &arity) || arity != 2 || !etf_u64(&q.c, &id) ||
                !etf_u64(&q.c, &serial))
                rc = query_odd("alive", e);
            else
                dead[(*n_dead)++] = serial << 32 | (id & UINT32_MAX);
        }
    }
    query_end(&q);
    return rc;
}

/* Texts of the node may hold anything; a line is a line. */
static void add_line(struct buf *lines, struct etf *c, size_t cap)
{
    char text[ASK_NOTE_BYTES];
    query_text(c, text, cap);
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = ' ';
    buf_addf(lines, "%s\n", text);
}

int ask_who(struct session *s, const uint64_t *pids, size_t n, struct buf *lines, struct err *e)
{
    struct query q;
    uint32_t got, arity;
    int rc;

    if (n > ASK_PIDS)
        n = ASK_PIDS;
    query_begin(&q, "who");
    enc_pids(&q.ask, pids, n);
    rc = query_send(&q, s, e);
    if (rc == 0 && (!etf_list(&q.c, &got) || got != n))
        rc = query_odd("who", e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!etf_tuple(&q.c, &arity) || arity != 3 || !etf_skip(&q.c) || !etf_skip(&q.c))
            rc = query_odd("who", e);
        add_line(lines, &q.c, ASK_WHO_BYTES);
    }
    query_end(&q);
    return rc;
}

int ask_stack(struct session *s, uint64_t pid, struct buf *lines, bool *dead, struct err *e)
{
    struct query q;
    uint32_t got;
    int rc;

    *dead = false;
    query_begin(&q, "stack");
    enc_tuple(&q.ask, 2);
    enc_u64(&q.ask, pid & UINT32_MAX);
    enc_u64(&q.ask, pid >> 32);
    rc = query_send(&q, s, e);
    if (rc == 0 && etf_is_atom(&q.c, "dead"))
        *dead = true;
    else if (rc == 0 && (!etf_list(&q.c, &got) || got > ASK_FRAMES))
        rc = query_odd("stack", e);
    for (uint32_t i = 0; rc == 0 && !*dead && i < got; i++)
        add_line(lines, &q.c, ASK_NOTE_BYTES);
    if (rc == 0 && q.c.bad)
        rc = query_odd("stack", e);
    query_end(&q);
    return rc;
}
