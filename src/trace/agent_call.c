#include "agent_call.h"

#include <kprof/erl/enc.h>
#include <stdio.h>

static void init(struct agent_call *q, const char *what)
{
    q->what = what;
    buf_init(&q->request, 0);
    buf_init(&q->answer, AGENT_CALL_BYTES);
}

void agent_call_begin(struct agent_call *q, const char *what)
{
    init(q, what);
    enc_tuple(&q->request, 2);
    enc_atom(&q->request, what);
}

void agent_call_word(struct agent_call *q, const char *what)
{
    init(q, what);
    enc_atom(&q->request, what);
}

int agent_call_send(struct agent_call *q, struct session *s, struct err *e)
{
    int rc = session_request(s, &q->request, &q->answer, AGENT_CALL_TIMEOUT_MS, e);
    etf_init(&q->c, q->answer.data, q->answer.len);
    return rc;
}

bool agent_call_reason(const struct agent_call *q, char *why, size_t cap)
{
    struct etf c = q->c;
    uint32_t arity;

    if (!etf_tuple(&c, &arity) || arity != 3 || !etf_is_atom(&c, "error") || !etf_skip(&c))
        return false;
    etf_text(&c, why, cap);
    return true;
}

/* {error, Tag, Text}: -1 with err: before, and the text */
static int read_error(const struct agent_call *q, const char *before, struct err *e)
{
    char why[300];

    if (!agent_call_reason(q, why, sizeof why))
        return 0;
    return err_set(e, "%s%s", before, why);
}

int agent_call_ok(struct agent_call *q, struct session *s, const char *before, struct err *e)
{
    int rc = agent_call_send(q, s, e);

    if (rc == 0 && !etf_is_atom(&q->c, "ok"))
        rc = read_error(q, before, e) < 0 ? -1 : agent_call_unreadable(q->what, e);
    agent_call_end(q);
    return rc;
}

int agent_call_done(struct agent_call *q, struct session *s, struct err *e)
{
    char before[100];
    int rc = agent_call_send(q, s, e);

    snprintf(before, sizeof before, "the agent could not do the request '%s': ", q->what);
    if (rc == 0)
        rc = read_error(q, before, e);
    agent_call_end(q);
    return rc;
}

void agent_call_end(struct agent_call *q)
{
    buf_release(&q->request);
    buf_release(&q->answer);
}

int agent_call_unreadable(const char *what, struct err *e)
{
    return err_set(e,
                   "cannot read the agent's answer to the request '%s': the agent has another "
                   "version; attach again",
                   what);
}
