/* A session from connecting to the receipt: opens the link, loads the agent, and removes both. */
#include "session_impl.h"

#include <kprof/base/clock.h>
#include <kprof/erl/conn.h>
#include <kprof/erl/enc.h>
#include <stdio.h>
#include <string.h>

struct session *session_open(const struct session_opts *o, struct session_info *info, struct err *e)
{
    struct session *s = session_new(o);
    struct conn_opts co = {.to = o->to,
                           .self_name = o->self_name,
                           .returning = o->reconnected,
                           .timeout_ms = o->timeout_ms};

    memset(info, 0, sizeof *info);
    co.port = &info->port;
    enum conn_fail fail = conn_open(&s->conn, &co, e);
    info->unreached = fail == CONN_HOST_UNKNOWN || fail == CONN_NO_EPMD || fail == CONN_REFUSED ||
                      fail == CONN_TIMEOUT;
    if (fail != CONN_OK)
        goto fail;
    snprintf(info->node, sizeof info->node, "%s", conn_node(s->conn));
    info->local = conn_is_local(s->conn);
    stream_clock(o->stream, 0, 0);
    recorder_connect(o->recorder, clock_mono_ns(), 0, 0);
    if (session_listen(s, e) < 0 || session_load(s, info, e) < 0)
        goto fail;
    stream_clock(o->stream, info->start_native, info->units_per_s);
    recorder_connect(o->recorder, clock_mono_ns(), info->start_native, info->units_per_s);
    atomic_store(&s->beating, true);
    return s;
fail:
    session_free(s);
    return NULL;
}

static void read_detach(struct buf *answer, struct session_receipt *r)
{
    struct etf c;
    uint32_t pairs;

    etf_init(&c, answer->data, answer->len);
    if (!etf_map(&c, &pairs))
        return;
    for (uint32_t i = 0; i < pairs && !c.bad; i++) {
        const char *k, *v;
        size_t n, vn;
        if (!etf_atom(&c, &k, &n))
            return;
        struct etf value = c;
        if (n == 8 && memcmp(k, "patterns", n) == 0)
            etf_u64(&value, &r->patterns);
        else if (n == 5 && memcmp(k, "flags", n) == 0)
            etf_u64(&value, &r->flags);
        else if (n == 7 && memcmp(k, "holders", n) == 0)
            etf_u64(&value, &r->holders);
        else if (n == 6 && memcmp(k, "tokens", n) == 0 && etf_atom(&value, &v, &vn))
            memcpy(r->tokens, v, vn < sizeof r->tokens - 1 ? vn : sizeof r->tokens - 1);
        etf_skip(&c);
    }
}

void session_close(struct session *s, struct session_receipt *receipt)
{
    struct session_receipt mine = {.asked = false};
    struct session_receipt *r = receipt ? receipt : &mine;
    struct buf request, answer;
    struct err ignored;

    if (!s)
        return;
    memset(r, 0, sizeof *r);
    buf_init(&request, 64);
    buf_init(&answer, SESSION_ANSWER_BYTES);
    enc_atom(&request, "detach");
    if (!session_lost(s) && session_request(s, &request, &answer, s->o.timeout_ms, &ignored) == 0) {
        read_detach(&answer, r);
        session_left(s, r);
    }
    buf_release(&request);
    buf_release(&answer);
    session_free(s);
}
