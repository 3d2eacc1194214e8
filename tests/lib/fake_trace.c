#include "fake_trace.h"

#include <stdio.h>
#include <string.h>

struct maker {
    struct stack_profile *p;
    struct call_tree *t;
    uint64_t now_ns;
};

static uint32_t frame(struct maker *m, const char *module, const char *function, unsigned arity)
{
    struct stack_frame f = {.module = stack_profile_text(m->p, module, strlen(module)),
                            .function = stack_profile_text(m->p, function, strlen(function)),
                            .arity = arity};
    return stack_profile_frame(m->p, &f);
}

/* One event, then time passes. */
static void add(struct maker *m, uint32_t process, enum call_event_kind kind, uint32_t function,
                uint32_t caller, uint64_t then_us)
{
    call_tree_add(m->t, &(struct call_event){m->now_ns, process, kind, function, caller});
    m->now_ns += then_us * 1000;
}

static void request(struct maker *m, bool hostile)
{
    uint32_t loop = frame(m, "shop_conn", "loop", 2), handle = frame(m, "shop_web", "handle", 1),
             parse =
                 hostile ? frame(m, "evil\x1b[31m", "a\nb\xff", 0) : frame(m, "json", "decode", 2),
             get = frame(m, "shop_cache", "get", 1), ask = frame(m, "shop_db", "ask", 2),
             render = frame(m, "Elixir.Shop.Page", "render", 2),
             tag = frame(m, "shop_html", "tag", 2), serve = frame(m, "shop_db", "loop", 1),
             query = frame(m, "shop_db", "query", 2);
    add(m, 0, CALL_EVENT_BEGIN, handle, loop, 20);
    add(m, 0, CALL_EVENT_CALL, parse, handle, 300);
    add(m, 0, CALL_EVENT_RETURN_TO, handle, 0, 5);
    for (int i = 0; i < 3; i++) {
        add(m, 0, CALL_EVENT_CALL, get, handle, 10);
        add(m, 0, CALL_EVENT_RETURN_TO, handle, 0, 2);
    }
    add(m, 0, CALL_EVENT_CALL, ask, handle, 30);
    add(m, 0, CALL_EVENT_OUT, ask, 0, 40);
    add(m, 1, CALL_EVENT_BEGIN, query, serve, 2400);
    add(m, 1, CALL_EVENT_GC, 0, 0, 350);
    add(m, 1, CALL_EVENT_GC_END, 0, 0, 200);
    add(m, 1, CALL_EVENT_END_EXCEPTION, query, 0, 60);
    add(m, 0, CALL_EVENT_IN, ask, 0, 15);
    add(m, 0, CALL_EVENT_RETURN_TO, handle, 0, 10);
    add(m, 0, CALL_EVENT_CALL, render, handle, 100);
    for (int i = 0; i < 4; i++) {
        add(m, 0, CALL_EVENT_CALL, tag, i ? tag : render, 50);
    }
    for (int i = 4; i-- > 0;) {
        add(m, 0, CALL_EVENT_RETURN_TO, i ? tag : render, 0, 20);
    }
    add(m, 0, CALL_EVENT_RETURN_TO, handle, 0, 25);
    add(m, 0, CALL_EVENT_END, handle, 0, 0);
}

static void more(struct maker *m)
{
    char name[32];
    for (uint32_t p = 2; p < 12; p++) {
        uint32_t up = frame(m, "worker", "loop", 1);
        call_tree_process(m->t, p, 0x200 + p, 0, 0);
        for (unsigned i = 0; i < 60; i++) {
            snprintf(name, sizeof name, "step_%u", i);
            uint32_t f = frame(m, "worker", name, i % 4);
            add(m, p, i ? CALL_EVENT_CALL : CALL_EVENT_BEGIN, f, up, 7 * (i % 9) + 1);
            up = f;
        }
        add(m, p, CALL_EVENT_END, frame(m, "worker", "step_0", 0), 0, 1);
    }
}

struct call_tree *fake_trace(bool many, bool hostile, struct stack_profile **profile)
{
    struct maker m = {.p = stack_profile_new(NULL), .now_ns = UINT64_C(7000000000)};
    m.t = call_tree_new(m.p);
    call_tree_process(m.t, 0, 0x101, 0, 0);
    call_tree_process(m.t, 1, 0x102, stack_profile_text(m.p, "shop_db", 7), 0);
    request(&m, hostile);
    if (many) {
        more(&m);
    }
    *profile = m.p;
    return m.t;
}
