#include <kprof/trace/query.h>

#include <kprof/erl/enc.h>
#include <string.h>

static void init(struct query *q)
{
    buf_init(&q->ask, 0);
    buf_init(&q->answer, QUERY_BYTES);
}

void query_begin(struct query *q, const char *what)
{
    init(q);
    enc_tuple(&q->ask, 2);
    enc_atom(&q->ask, what);
}

void query_word(struct query *q, const char *what)
{
    init(q);
    enc_atom(&q->ask, what);
}

int query_send(struct query *q, struct session *s, struct err *e)
{
    int rc = session_ask(s, &q->ask, &q->answer, QUERY_TIMEOUT_MS, e);
    etf_init(&q->c, q->answer.data, q->answer.len);
    return rc;
}

int query_done(struct query *q, struct session *s, struct err *e)
{
    int rc = query_send(q, s, e);
    query_end(q);
    return rc;
}

void query_end(struct query *q)
{
    buf_release(&q->ask);
    buf_release(&q->answer);
}

int query_odd(const char *what, struct err *e)
{
    return err_set(e,
                   "the agent's answer about %s cannot be read: the node runs another agent than "
                   "this kprof-top brought; detach and attach again",
                   what);
}

void query_text(struct etf *c, char *out, size_t cap)
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
