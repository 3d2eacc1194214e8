#include "agent_stacks.h"

#include "agent_terms.h"

#include <kprof/erl/enc.h>

static void frame(struct buf *b, const char *f, int line)
{
    enc_tuple(b, 5);
    enc_atom(b, "mod");
    enc_atom(b, f);
    enc_i64(b, 1);
    enc_i64(b, line);
    enc_str(b, "src/mod.erl");
}

static void figure(struct buf *b, const char *name, uint64_t value)
{
    enc_atom(b, name);
    enc_u64(b, value);
}

void agent_stacks_head(struct buf *b, uint64_t seq, uint64_t weight_us, enum stack_gate gate)
{
    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 9);
    enc_atom(b, "ks");
    enc_u64(b, seq);
    enc_i64(b, AGENT_STACKS_START + 5000);
    enc_map(b, 12);
    figure(b, "cut", 12);
    figure(b, "born", 1000);
    figure(b, "born_ms", 2500);
    figure(b, "weight_us", weight_us);
    figure(b, "gate", gate);
    enc_atom(b, "something_new");
    agent_mfa(b, "of", "later", 0);
    figure(b, "cost", 1234);
    figure(b, "interval_us", 18000);
    figure(b, "asked_us", 9000);
    figure(b, "groups", 11);
    figure(b, "chosen", 2);
    figure(b, "matched", 5);
}

void agent_stacks_process(struct buf *b, uint64_t number, uint8_t id, bool named)
{
    enc_tuple(b, 5);
    enc_u64(b, number);
    agent_pid(b, "app@host", id, 3);
    if (named)
        enc_atom(b, "the_name");
    else
        enc_u64(b, 0);
    agent_mfa(b, "gen", "init_it", 6);
    enc_str(b, "my_app");
}

void agent_stacks_stack(struct buf *b, uint64_t number, bool cut, const char *leaf)
{
    enc_tuple(b, 3);
    enc_u64(b, number);
    enc_u64(b, cut);
    enc_list(b, 2);
    frame(b, leaf, 10);
    frame(b, "outer", 20);
    enc_nil(b);
}

void agent_stacks_sample(struct buf *b, uint64_t number, int64_t ns, uint64_t of_stack,
                         const int64_t *values, uint32_t n)
{
    enc_tuple(b, 5);
    enc_u64(b, number);
    enc_i64(b, AGENT_STACKS_START + ns);
    enc_u64(b, of_stack);
    enc_u64(b, STACK_RUNNABLE);
    enc_tuple(b, n);
    for (uint32_t i = 0; i < n; i++)
        enc_i64(b, values[i]);
}

void agent_stacks_message(struct buf *b, uint64_t seq)
{
    static const int64_t first[14] = {1000, 5, 10, 20, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int64_t second[14] = {1500, 4, 10, 30, 3, 4, 5, 6, 7, 80, 9, 10, 11, 13};
    static const int64_t few[2] = {77, -1};

    agent_stacks_head(b, seq, 99000, STACK_GATE_RUN_QUEUE);
    enc_list(b, 2);
    agent_stacks_process(b, 0, 42, true);
    agent_stacks_process(b, 1, 43, false);
    enc_nil(b);
    enc_nil(b); /* no process has left */
    enc_list(b, 2);
    agent_stacks_stack(b, 0, false, "f");
    agent_stacks_stack(b, 300, true, "g");
    enc_nil(b);
    enc_nil(b); /* none is forgotten */
    enc_list(b, 3);
    agent_stacks_sample(b, 0, 3000, 300, second, 14);
    agent_stacks_sample(b, 1, 2000, 0, few, 2);
    agent_stacks_sample(b, 0, 1000, 0, first, 14);
    enc_nil(b);
}
