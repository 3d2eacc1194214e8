#include <kprof/trace/ask.h>

#include <kprof/erl/enc.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS   8000
#define ANSWER_BYTES ((size_t)4 << 20)

/* Sends what is in ask (released here), leaves the answer's cursor in c. */
static int asked(struct session *s, struct buf *ask, struct buf *answer, struct etf *c,
                 struct err *e)
{
    int rc = session_ask(s, ask, answer, TIMEOUT_MS, e);

    buf_release(ask);
    etf_init(c, answer->data, answer->len);
    return rc;
}

static int odd_answer(const char *what, struct err *e)
{
    return err_set(e,
                   "the agent's answer to %s cannot be read: the node runs another agent than this "
                   "kprof-top brought; detach and attach again",
                   what);
}

static void text_of(struct etf *c, char *out, size_t cap)
{
    const uint8_t *b;
    size_t n;

    out[0] = 0;
    if (!etf_string(c, &b, &n))
        return;
    n = n < cap - 1 ? n : cap - 1;
    memcpy(out, b, n);
    out[n] = 0;
}

static void enc_wish(struct buf *b, const struct wish *w)
{
    enc_tuple(b, 2);
    enc_atom(b, "config");
    enc_map(b, 5);
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
        text_of(c, t.note, sizeof t.note);
        t.ix = (uint16_t)ix;
        if (out->n < EVENT_TIERS && ix < EVENT_TIERS)
            out->tier[out->n++] = t;
    }
    return !c->bad;
}

int ask_config(struct session *s, const struct wish *w, struct ask_config *out, struct err *e)
{
    struct buf ask, answer;
    struct etf c;
    uint32_t arity;
    int rc;

    memset(out, 0, sizeof *out);
    buf_init(&ask, 0);
    buf_init(&answer, ANSWER_BYTES);
    enc_wish(&ask, w);
    rc = asked(s, &ask, &answer, &c, e);
    if (rc < 0)
        goto out;
    rc = 0;
    if (!etf_tuple(&c, &arity))
        rc = odd_answer("config", e);
    else if (arity == 2 && etf_is_atom(&c, "ok"))
        rc = read_matched(&c, out) ? 0 : odd_answer("config", e);
    else if (arity == 3 && etf_is_atom(&c, "error")) {
        out->rule_refused = true;
        etf_skip(&c);
        text_of(&c, out->rule_error, sizeof out->rule_error);
    } else
        rc = odd_answer("config", e);
out:
    buf_release(&answer);
    return rc;
}

/* A request whose answer only has to come. */
static int plain(struct session *s, struct buf *ask, struct err *e)
{
    struct buf answer;
    struct etf c;
    int rc;

    buf_init(&answer, ANSWER_BYTES);
    rc = asked(s, ask, &answer, &c, e);
    buf_release(&answer);
    return rc;
}

int ask_tracing(struct session *s, bool on, struct err *e)
{
    struct buf ask;

    buf_init(&ask, 0);
    enc_tuple(&ask, 2);
    enc_atom(&ask, "tracing");
    enc_atom(&ask, on ? "true" : "false");
    return plain(s, &ask, e);
}

int ask_sample(struct session *s, uint32_t n, struct err *e)
{
    struct buf ask;

    buf_init(&ask, 0);
    enc_tuple(&ask, 2);
    enc_atom(&ask, "sample");
    enc_u64(&ask, n ? n : 1);
    return plain(s, &ask, e);
}

int ask_limits(struct session *s, const struct wish *w, struct err *e)
{
    struct buf ask;

    buf_init(&ask, 0);
    enc_tuple(&ask, 2);
    enc_atom(&ask, "limits");
    enc_map(&ask, 3);
    enc_atom(&ask, "max_age_ms");
    enc_u64(&ask, w->max_age_ms);
    enc_atom(&ask, "max_rate");
    enc_u64(&ask, w->max_rate);
    enc_atom(&ask, "cooldown_ms");
    enc_u64(&ask, w->cooldown_ms);
    return plain(s, &ask, e);
}

static int atom_request(struct session *s, const char *what, struct err *e)
{
    struct buf ask;

    buf_init(&ask, 0);
    enc_atom(&ask, what);
    return plain(s, &ask, e);
}

int ask_ping(struct session *s, struct err *e)
{
    return atom_request(s, "ping", e);
}

int ask_flush(struct session *s, struct err *e)
{
    return atom_request(s, "flush", e);
}

int ask_why(struct session *s, uint16_t ix, struct ask_called *out, struct err *e)
{
    struct buf ask, answer;
    struct etf c;
    uint32_t arity;
    int rc;

    memset(out, 0, sizeof *out);
    buf_init(&ask, 0);
    buf_init(&answer, ANSWER_BYTES);
    enc_tuple(&ask, 2);
    enc_atom(&ask, "why");
    enc_u64(&ask, ix);
    rc = asked(s, &ask, &answer, &c, e);
    if (rc == 0) {
        if (etf_is_atom(&c, "nofunction"))
            out->no_function = true;
        else if (!etf_tuple(&c, &arity) || arity != 4 || !etf_is_atom(&c, "called") ||
                 !etf_u64(&c, &out->called) || !etf_u64(&c, &out->in_request) ||
                 !etf_u64(&c, &out->outside))
            rc = odd_answer("why", e);
    }
    buf_release(&answer);
    return rc;
}

/* Pids go as two numbers: node and creation are the target's own. */
static void enc_pids(struct buf *ask, const char *what, const uint64_t *pids, size_t n)
{
    buf_init(ask, 0);
    enc_tuple(ask, 2);
    enc_atom(ask, what);
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
    struct buf ask, answer;
    struct etf c;
    uint32_t got;
    int rc;

    *n_dead = 0;
    if (n > ASK_PIDS)
        n = ASK_PIDS;
    buf_init(&answer, ANSWER_BYTES);
    enc_pids(&ask, "alive", pids, n);
    rc = asked(s, &ask, &answer, &c, e);
    if (rc == 0) {
        if (!etf_list(&c, &got) || got > n)
            rc = odd_answer("alive", e);
        for (uint32_t i = 0; rc == 0 && i < got; i++) {
            uint64_t id, serial;
            uint32_t arity;
            if (!etf_tuple(&c, &arity) || arity != 2 || !etf_u64(&c, &id) || !etf_u64(&c, &serial))
                rc = odd_answer("alive", e);
            else
                dead[(*n_dead)++] = serial << 32 | (id & UINT32_MAX);
        }
    }
    buf_release(&answer);
    return rc;
}

int ask_who(struct session *s, const uint64_t *pids, size_t n, struct buf *lines, struct err *e)
{
    struct buf ask, answer;
    struct etf c;
    uint32_t got, arity;
    int rc;

    if (n > ASK_PIDS)
        n = ASK_PIDS;
    buf_init(&answer, ANSWER_BYTES);
    enc_pids(&ask, "who", pids, n);
    rc = asked(s, &ask, &answer, &c, e);
    if (rc == 0 && (!etf_list(&c, &got) || got != n))
        rc = odd_answer("who", e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char who[ASK_WHO_BYTES];
        if (!etf_tuple(&c, &arity) || arity != 3 || !etf_skip(&c) || !etf_skip(&c))
            rc = odd_answer("who", e);
        text_of(&c, who, sizeof who);
        for (char *at = who; (at = strchr(at, '\n'));)
            *at = ' '; /* a name may hold anything; a line is a line */
        buf_addf(lines, "%s\n", who);
    }
    buf_release(&answer);
    return rc;
}
