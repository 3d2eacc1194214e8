#include "fake_stacks.h"

#include <string.h>

static uint32_t text(struct stack_profile *p, const char *s)
{
    return stack_profile_text(p, s, strlen(s));
}

static uint32_t frame(struct stack_profile *p, const char *m, const char *f, unsigned arity,
                      unsigned line)
{
    struct stack_frame k = {
        .module = text(p, m), .function = text(p, f), .line = line, .arity = arity};
    char file[64] = "src/";
    if (line && strlen(m) + 9 < sizeof file) {
        strcat(file, m);
        strcat(file, ".erl");
        k.file = text(p, file);
    }
    return stack_profile_frame(p, &k);
}

struct process {
    uint32_t stack[2]; /* two of three samples have the one caller, one of three the other */
    uint32_t initial_call, name, application, tier, identity;
    enum stack_status status;
    enum stack_metric grows;
    int64_t by;
};

static void add_samples(struct stack_profile *p, const struct process *k, unsigned id)
{
    struct stack_metrics m = {.known = (1u << STACK_METRICS) - 1};
    for (int i = 0; i < STACK_METRICS; i++)
        m.value[i] = 100 * (i + 1);
    m.value[STACK_MEMORY] = id % 2 ? 25000 : 4000000;
    for (unsigned i = 0; i < 60; i++) {
        for (int c = 0; c < STACK_METRICS; c++)
            m.delta[c] = i == 0 ? 0 : c == STACK_REDUCTIONS ? 1000 : 0;
        m.delta[k->grows] += i == 0 ? 0 : k->by;
        m.value[STACK_REDUCTIONS] += i == 0 ? 0 : 1000;
        m.value[k->grows] += i == 0 ? 0 : k->by;
        struct stack_sample s = {.time_ns = UINT64_C(5000000000) + i * UINT64_C(10000000) + id,
                                 .weight = 1,
                                 .process = 80 + id,
                                 .request = k->tier ? 1 + i / 10 : 0,
                                 .stack = k->stack[i % 3 == 2],
                                 .initial_call = k->initial_call,
                                 .name = k->name,
                                 .application = k->application,
                                 .tier = k->tier,
                                 .identity = k->identity,
                                 .status = k->status};
        stack_profile_add(p, &s, &m);
    }
}

struct stack_profile *fake_stacks(bool hostile)
{
    struct stack_profile *p = stack_profile_new(NULL);
    stack_profile_set_meta(p,
                           &(struct stack_profile_meta){.interval_ns = 10000000,
                                                        .wall_ns = INT64_C(1700000000000000000)});
    uint32_t loop = stack_profile_push(p, 0, frame(p, "proc_lib", "init_p_do_apply", 3, 241));
    loop = stack_profile_push(p, loop, frame(p, "burner", "loop", 1, 10));
    uint32_t f = frame(p, "burner", "f", 1, 33);
    uint32_t by_g =
        stack_profile_push(p, stack_profile_push(p, loop, frame(p, "burner", "g", 1, 20)), f);
    uint32_t by_h =
        stack_profile_push(p, stack_profile_push(p, loop, frame(p, "burner", "h", 1, 25)), f);
    uint32_t server = stack_profile_push(p, 0, frame(p, "gen_server", "loop", 7, 900));
    uint32_t deep = stack_profile_push(p, 0, frame(p, "Elixir.MyApp.Walker", "walk", 2, 5));
    for (int i = 0; i < 4; i++)
        deep = stack_profile_push(p, deep, frame(p, "Elixir.MyApp.Walker", "walk", 2, 9));
    uint32_t odd = stack_profile_push(
        p, server,
        hostile ? frame(p, "evil'<script>alert(1)</script>",
                        "a\"b&c;d\n\x1b[31m \xe2\x82\xac\xff]]>--> \xf0\x9f\x94\xa5", 0, 7)
                : frame(p, "hoarder", "keep", 1, 7));
    uint32_t init = frame(p, "burner", "init", 0, 0), app = text(p, "shop");
    const struct process all[] = {
        {{by_g, by_h}, init, text(p, "burner"), app, 0, 0, STACK_RUNNING, STACK_REDUCTIONS, 5},
        {{odd, odd},
         frame(p, "hoarder", "init", 1, 0),
         hostile ? text(p, "<img src=x onerror=alert(2)>") : text(p, "hoarder"),
         app,
         0,
         0,
         STACK_RUNNABLE,
         STACK_BIN_VHEAP_SIZE,
         4096},
        {{server, server},
         frame(p, "slow_server", "init", 1, 0),
         0,
         app,
         0,
         0,
         STACK_WAITING,
         STACK_MESSAGE_QUEUE_LEN,
         3},
        {{deep, server},
         0,
         0,
         0,
         text(p, "db"),
         text(p, hostile ? "GET /<b>&\"" : "update"),
         STACK_GARBAGE_COLLECTING,
         STACK_MEMORY,
         -50},
        {{0, 0}, 0, 0, 0, 0, 0, STACK_STATUS_NONE, STACK_REDUCTIONS, 0}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        add_samples(p, &all[i], i);
    return p;
}
