#include <kprof/trace/stack_request.h>

#include "agent_call.h"

#include <kprof/erl/enc.h>
#include <string.h>

static void enc_pid(struct buf *b, uint64_t pid)
{
    enc_tuple(b, 2);
    enc_u64(b, pid & UINT32_MAX);
    enc_u64(b, pid >> 32);
}

static void enc_pids(struct buf *b, const struct process_choice *c)
{
    enc_list(b, c->n);
    for (uint32_t i = 0; i < c->n; i++)
        enc_pid(b, c->pid[i]);
    enc_nil(b);
}

static void enc_names(struct buf *b, const struct process_choice *c)
{
    const char *name = c->name;

    enc_list(b, c->n);
    for (uint32_t i = 0; i < c->n; i++, name += strlen(name) + 1)
        enc_str(b, name);
    enc_nil(b);
}

static void enc_who(struct buf *b, const struct process_choice *c)
{
    static const char *const by[] = {[STACK_TOP_REDUCTIONS] = "reductions",
                                     [STACK_TOP_MEMORY] = "memory",
                                     [STACK_TOP_QUEUE] = "queue",
                                     [STACK_TOP_BINARY] = "binary"};
    static const char *const tag[] = {
        [PROCESSES_TOP] = "top",
        [PROCESSES_PIDS] = "pids",
        [PROCESSES_NAMES] = "names",
        [PROCESSES_INITIAL_CALL] = "initial_call",
        [PROCESSES_APPLICATION] = "application",
        [PROCESSES_CHILDREN] = "children",
        [PROCESSES_INSIDE] = "inside",
        [PROCESSES_ALL] = "all",
    };

    if (c->kind < PROCESSES_INSIDE)
        enc_tuple(b, c->kind == PROCESSES_TOP ? 3 : 2);
    enc_atom(b, tag[c->kind]);
    switch (c->kind) {
    case PROCESSES_TOP:
        enc_u64(b, c->n);
        enc_atom(b, by[c->by]);
        break;
    case PROCESSES_PIDS:
        enc_pids(b, c);
        break;
    case PROCESSES_NAMES:
        enc_names(b, c);
        break;
    case PROCESSES_INITIAL_CALL:
        enc_tuple(b, 3);
        enc_str(b, c->name);
        enc_str(b, c->name + strlen(c->name) + 1);
        enc_u64(b, c->n);
        break;
    case PROCESSES_APPLICATION:
        enc_str(b, c->name);
        break;
    case PROCESSES_CHILDREN:
        if (c->n)
            enc_pid(b, c->pid[0]);
        else
            enc_str(b, c->name);
        break;
    case PROCESSES_INSIDE:
    case PROCESSES_ALL:
        break;
    }
}

int stack_request_begin(struct session *s, const struct stack_request *r, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "stacks");
    enc_map(&q.request, 4);
    enc_atom(&q.request, "who");
    enc_who(&q.request, &r->processes);
    enc_atom(&q.request, "interval_us");
    enc_u64(&q.request, r->interval_us);
    enc_atom(&q.request, "period_ms");
    enc_u64(&q.request, r->period_ms);
    enc_atom(&q.request, "statuses");
    enc_u64(&q.request, r->statuses);
    return agent_call_ok(&q, s, "the node cannot sample stacks: ", e);
}

int stack_request_end(struct session *s, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "stacks");
    enc_atom(&q.request, "off");
    return agent_call_ok(&q, s, "", e);
}
