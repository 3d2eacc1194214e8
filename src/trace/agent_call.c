#include "agent_call.h"

#include <kprof/erl/enc.h>

static void init(struct agent_call *q)
{
    buf_init(&q->request, 0);
    buf_init(&q->answer, AGENT_CALL_BYTES);
}

void agent_call_begin(struct agent_call *q, const char *what)
{
    init(q);
    enc_tuple(&q->request, 2);
    enc_atom(&q->request, what);
}

void agent_call_word(struct agent_call *q, const char *what)
{
    init(q);
    enc_atom(&q->request, what);
}

int agent_call_send(struct agent_call *q, struct session *s, struct err *e)
{
    int rc = session_request(s, &q->request, &q->answer, AGENT_CALL_TIMEOUT_MS, e);
    etf_init(&q->c, q->answer.data, q->answer.len);
    return rc;
}

int agent_call_done(struct agent_call *q, struct session *s, struct err *e)
{
    int rc = agent_call_send(q, s, e);
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
