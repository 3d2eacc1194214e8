#include "fake_processes.h"

#include <stdio.h>
#include <string.h>

static const char *text(struct process_table *t, const char *s)
{
    return process_table_text(t, s, strlen(s));
}

static const struct kind {
    const char *name, *call, *application, *current;
    struct process_raw raw;
} kinds[] = {
    {"shop_stock",
     "shop_stock:init/1",
     "shop",
     "shop_stock:count/2",
     {1840000, 12, -40, 46368, 800, 12, 0111}},
    {"", "shop_worker:init/1", "shop", "gen_server:loop/7", {91000, 0, 0, 2586, 16, 3, 0331}},
    {"shop_mailbox",
     "shop_mailbox:init/1",
     "shop",
     "prim_file:write_nif/2",
     {44000, 81234, 2412, 987654, 0, 0, 0131}},
    {"",
     "cowboy_clear:connection_process/4",
     "ranch",
     "cowboy_http:loop/1",
     {7300, 1, 1, 17711, 52000000, 1, 0333}},
    {"", "", "", "", {0, -1, 0, 233, -1, -1, 03333333333333333333}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind bad[] = {
    {"\x1b[31mred\n",
     "=cmd()",
     "\xff\xfe",
     "a \"quoted\", one",
     {1, 1, 1, 1, 1, 1, 0777777777777777777777}},
    {"\xe2\x80\xaemirrored",
     "'odd mod':f/1",
     "+1",
     "\xe4\xb8\xad\xe6\x96\x87",
     {2, 2, 2, 2, 2, 2, 0}},
};

static void add_process(struct process_table *t, const struct kind *k, size_t i)
{
    struct process_raw raw = k->raw;
    struct process_row *r;

    raw.reductions = raw.reductions / (int64_t)(1 + i / KINDS);
    raw.words += (int64_t)i;
    r = process_table_add(t, PROCESS_UNGROUPED, &raw);
    if (!r)
        return;
    r->pid = 100 + i;
    r->name = i < KINDS ? text(t, k->name) : "";
    r->initial_call = text(t, k->call);
    r->application = text(t, k->application);
    r->current = text(t, k->current);
}

static void add_group(struct process_table *t, enum process_group kind, const char *name,
                      uint64_t processes, int64_t scale, bool rest)
{
    struct process_raw raw = {1000 * scale, 10 * scale, scale, 5000 * scale, 70 * scale, scale, 0};
    struct process_row *r = process_table_add(t, kind, &raw);

    r->name = text(t, name);
    r->processes = processes;
    r->rest = rest;
}

struct process_table *fake_processes(size_t n, bool hostile)
{
    struct process_table *t = process_table_new();

    t->head = (struct process_head){.seq = 5,
                                    .by = PROCESS_REDUCTIONS,
                                    .processes = n > 10 ? 12345 : n,
                                    .between_s = 2,
                                    .born_per_s = n > 10 ? 118.5 : 0,
                                    .died_per_s = n > 10 ? 120 : 0,
                                    .period_s = 2,
                                    .asked_s = 2,
                                    .next_s = 1.9,
                                    .cost_percent = 0.4};
    for (size_t i = 0; i < n; i++)
        add_process(t, hostile && i < 2 ? &bad[i] : &kinds[i % KINDS], i);
    add_group(t, PROCESS_BY_CALL, "shop_worker:init/1", 2000, 900, false);
    add_group(t, PROCESS_BY_CALL, "shop_stock:init/1", 1, 1840, false);
    add_group(t, PROCESS_BY_CALL, "proc_lib:init_p/5", 24, 3, false);
    add_group(t, PROCESS_BY_CALL, "", 320, 4, true);
    add_group(t, PROCESS_BY_APPLICATION, hostile ? bad[0].name : "shop", 2001, 2740, false);
    add_group(t, PROCESS_BY_APPLICATION, "kernel", 42, 2, false);
    add_group(t, PROCESS_BY_APPLICATION, "", 302, 5, false);
    return t;
}
