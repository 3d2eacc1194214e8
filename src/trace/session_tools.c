/* Requests to the agent. Some need its second module, which is loaded before the first of them:
 * session_impl.h. */
#include "session_impl.h"

#include <kprof/erl/enc.h>

/* While this thread waits, it cannot switch tracing off, or detach. */
#define LOAD_MS 4000

/* {tools, Beam} -> ok | {error, load, Text}. The node's code server loads it, and may hang. */
static int load_tools(struct session *s, int timeout_ms, struct err *e)
{
    struct agent_module tools;
    struct buf request, answer;
    struct etf c;
    uint32_t arity;
    char why[300] = "";
    int rc;

    if (session_has_room(s, e) < 0)
        return -1;
    timeout_ms = timeout_ms < LOAD_MS ? timeout_ms : LOAD_MS;
    agent_module_make(AGENT_TOOLS, s->slot, &tools);
    buf_init(&request, 0);
    buf_init(&answer, SESSION_ANSWER_BYTES);
    enc_tuple(&request, 2);
    enc_atom(&request, "tools");
    enc_binary(&request, tools.bytes, tools.len);
    rc = session_ask(s, &request, &answer, timeout_ms, e);
    if (rc < 0 && !session_lost(s))
        err_set(e,
                "cannot load %s on %s: its code server did not answer within %d ms: it hangs, or "
                "is busy loading; try again",
                tools.name, s->o.to.node, timeout_ms);
    etf_init(&c, answer.data, answer.len);
    if (rc == 0 && !etf_is_atom(&c, "ok")) {
        if (etf_tuple(&c, &arity) && arity == 3 && etf_skip(&c) && etf_skip(&c))
            etf_text(&c, why, sizeof why);
        rc = err_set(e, "cannot load %s on %s: %s", tools.name, s->o.to.node, why);
    }
    buf_release(&request);
    buf_release(&answer);
    agent_module_release(&tools);
    return rc;
}

int session_request(struct session *s, const struct buf *request, struct buf *answer,
                    int timeout_ms, struct err *e)
{
    struct etf c;

    session_takes_urgent(s, true);
    int rc = session_ask(s, request, answer, timeout_ms, e);
    if (rc < 0)
        goto out;
    etf_init(&c, answer->data, answer->len);
    if (!etf_is_atom(&c, "tools"))
        goto out;
    rc = load_tools(s, timeout_ms, e);
    if (rc == 0)
        rc = session_ask(s, request, answer, timeout_ms, e);
out:
    session_takes_urgent(s, false);
    return rc;
}
