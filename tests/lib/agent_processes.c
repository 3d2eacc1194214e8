#include "agent_processes.h"

#include "agent_terms.h"

#include <kprof/erl/enc.h>
#include <string.h>

static void figure(struct buf *b, const char *name, uint64_t v)
{
    enc_atom(b, name);
    enc_u64(b, v);
}

static void figures(struct buf *b, uint64_t between_us, uint64_t gate)
{
    enc_map(b, 12);
    figure(b, "processes", 1234);
    figure(b, "born", 30);
    figure(b, "died", 10);
    figure(b, "between_us", between_us);
    figure(b, "round_us", 1500);
    figure(b, "late", 1);
    figure(b, "unnamed", 7);
    figure(b, "gate", gate);
    figure(b, "period_us", 2000000);
    figure(b, "asked_us", 2000000);
    enc_atom(b, "something_new");
    agent_mfa(b, "of", "later", 0);
    figure(b, "cost", 1250);
}

void agent_processes_head(struct buf *b, uint64_t seq, const char *by, uint64_t between_us)
{
    enc_tuple(b, 7);
    enc_atom(b, "processes");
    enc_u64(b, seq);
    enc_atom(b, by);
    figures(b, between_us, 0);
}

void agent_processes_row(struct buf *b, uint8_t id, const char *name, const int64_t values[7],
                         uint64_t statuses)
{
    enc_tuple(b, 6);
    agent_pid(b, "app@host", id, 3);
    if (name)
        enc_atom(b, name);
    else
        enc_u64(b, 0);
    agent_mfa(b, "my_server", "init", 1);
    enc_str(b, "my_app");
    if (name)
        agent_mfa(b, "gen_server", "loop", 7);
    else
        enc_u64(b, 0);
    enc_tuple(b, 8);
    for (int i = 0; i < 7; i++)
        enc_i64(b, values[i]);
    enc_u64(b, statuses);
}

void agent_processes_group(struct buf *b, const char *name, bool call, const int64_t sums[7])
{
    enc_tuple(b, 2);
    if (!name)
        enc_atom(b, "other");
    else if (call)
        agent_mfa(b, "my_server", name, 1);
    else
        enc_str(b, name);
    enc_tuple(b, 7);
    for (int i = 0; i < 7; i++)
        enc_i64(b, sums[i]);
}

void agent_processes_round(struct buf *b, uint64_t seq)
{
    static const int64_t busy[7] = {90000, 6000, 5, -4, 300, 40, 8};
    static const int64_t idle[7] = {100, 0, -1, 0, 200, -1, -1};
    static const int64_t sums[7] = {2, 6000, 5, -4, 500, 40, 8}, others[7] = {9, 1, 2, 3, 4, 5, 6};

    agent_processes_head(b, seq, "memory", 2000000);
    enc_list(b, 2);
    agent_processes_row(b, 42, "the_name", busy, 0331); /* waited twice, then ran */
    agent_processes_row(b, 43, NULL, idle, 0);
    enc_nil(b);
    enc_list(b, 2);
    agent_processes_group(b, "init", true, sums);
    agent_processes_group(b, NULL, true, others);
    enc_nil(b);
    enc_list(b, 1);
    agent_processes_group(b, "my_app", false, sums);
    enc_nil(b);
}

void agent_processes_wait(struct buf *b, uint64_t gate)
{
    enc_tuple(b, 2);
    enc_atom(b, "wait");
    figures(b, 0, gate);
}
