#include <kprof/trace/stack_request.h>

#include "agent_call.h"

#include <kprof/erl/enc.h>
#include <string.h>

static void enc_pids(struct buf *b, const struct stack_request *r)
{
    if (r->n)
        enc_list(b, (uint32_t)r->n);
    for (size_t i = 0; i < r->n; i++) {
        enc_tuple(b, 2);
        enc_u64(b, r->pids[i] & UINT32_MAX);
        enc_u64(b, r->pids[i] >> 32);
    }
    enc_nil(b);
}

static void enc_names(struct buf *b, const char *lines)
{
    const char *end;

    for (; *lines; lines = *end ? end + 1 : end) {
        end = strchrnul(lines, '\n');
        enc_list(b, 1); /* [A | [B | ...]] */
        enc_binary(b, lines, (size_t)(end - lines));
    }
    enc_nil(b);
}

static void enc_who(struct buf *b, const struct stack_request *r)
{
    static const char *const by[] = {[STACK_TOP_REDUCTIONS] = "reductions",
                                     [STACK_TOP_MEMORY] = "memory",
                                     [STACK_TOP_QUEUE] = "queue",
                                     [STACK_TOP_BINARY] = "binary"};
    static const char *const tag[] = {[STACK_WHO_TOP] = "top",
                                      [STACK_WHO_PIDS] = "pids",
                                      [STACK_WHO_NAMES] = "names",
                                      [STACK_WHO_INITIAL_CALL] = "initial_call",
                                      [STACK_WHO_APPLICATION] = "application"};

    enc_tuple(b, r->who == STACK_WHO_TOP ? 3 : 2);
    enc_atom(b, tag[r->who]);
    switch (r->who) {
    case STACK_WHO_TOP:
        enc_u64(b, r->n);
        enc_atom(b, by[r->by]);
        break;
    case STACK_WHO_PIDS:
        enc_pids(b, r);
        break;
    case STACK_WHO_NAMES:
        enc_names(b, r->text);
        break;
    case STACK_WHO_INITIAL_CALL:
        enc_tuple(b, 3);
        enc_str(b, r->text);
        enc_str(b, r->function);
        enc_u64(b, r->n);
        break;
    case STACK_WHO_APPLICATION:
        enc_str(b, r->text);
        break;
    }
}

/* ok | {error, Tag, Text} */
static int read_answer(struct etf *c, struct err *e)
{
    char why[300];
    uint32_t arity;

    if (etf_is_atom(c, "ok"))
        return 0;
    if (!etf_tuple(c, &arity) || arity != 3 || !etf_is_atom(c, "error") || !etf_skip(c))
        return agent_call_unreadable("stacks", e);
    etf_text(c, why, sizeof why);
    return err_set(e, "the node cannot sample stacks: %s", why);
}

int stack_request_begin(struct session *s, const struct stack_request *r, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "stacks");
    enc_map(&q.request, 4);
    enc_atom(&q.request, "who");
    enc_who(&q.request, r);
    enc_atom(&q.request, "interval_us");
    enc_u64(&q.request, r->interval_us);
    enc_atom(&q.request, "period_ms");
    enc_u64(&q.request, r->period_ms);
    enc_atom(&q.request, "statuses");
    enc_u64(&q.request, r->statuses);
    int rc = agent_call_send(&q, s, e);
    if (rc == 0)
        rc = read_answer(&q.c, e);
    agent_call_end(&q);
    return rc;
}

int stack_request_end(struct session *s, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "stacks");
    enc_atom(&q.request, "off");
    int rc = agent_call_send(&q, s, e);
    if (rc == 0)
        rc = read_answer(&q.c, e);
    agent_call_end(&q);
    return rc;
}
